"""From one claim to what the paper prints, its verdict, and the runs behind it."""

from collections.abc import Iterable, Iterator, Sequence

from repro.core import catalog, discovery
from repro.core.papers import is_a_paper
from repro.core.suite import Suite
from repro.errors import UserError, nearest_few
from repro.files import sha256_file
from repro.lineage import arithmetic
from repro.lineage.provenance import code_versions, listed, standing
from repro.products import status
from repro.products.claims_json import verifies
from repro.products.known import Known, find
from repro.products.picture import unclean
from repro.products.records import every_claim, not_committed, read_record, recorded_at
from repro.products.run_table import departures
from repro.verdicts import badge as badges
from repro.verdicts import preregistration
from repro.verdicts.claims import Claim
from repro.verdicts.figure import figure_named
from repro.verdicts.judged_claims import in_words, interval, paper_scale
from repro.verdicts.printed import printed

NONE_REGISTERED = "no claim is registered: the files studies/<paper>/registered.csv hold no row"


def find_claim(word: str) -> tuple[str, str, Claim]:
    """A claim's `<paper>/<id>`, its figure, and the claim.

    word: its id, perhaps after `<paper>/`; raises UserError unless it names exactly one.
    """
    begin = word.partition(".")[0]  # of a claim's id, the figure that has it
    named = [n for n in catalog.figure_names() if begin in (n, n.split("/")[1])]
    known = _claims(discovery.loadable_figures(named))
    matches = [key for key in known if word in (key, key.split("/", 1)[1])]
    if len(matches) != 1:
        every = _claims(discovery.loadable_figures())
        raise UserError(f"claim {word!r}: {_meant(word, matches, [*every])}")
    return matches[0], *known[matches[0]]


def _claims(figures: Iterable[str]) -> dict[str, tuple[str, Claim]]:
    """`<paper>/<id>` -> its figure, and the claim, of all claims of figures."""
    return {
        f"{name.split('/')[0]}/{claim.id}": (name, claim)
        for name in figures
        for claim in figure_named(name).claims
    }


def explain(suite: Suite, word: str) -> str:
    """Text about a claim: statement, printed numbers, verdict, data, how its runs were made,
    studies, seeds, files.

    word, errors: as of `find_claim`.
    """
    name, figure_name, claim = find_claim(word)
    paper = figure_name.split("/")[0]
    lines = [name, f"  paper: {claim.statement} ({claim.source})"]
    lines.append(f"  quantity: {claim.quantity}")
    lines += [f"  printed: {row}" for row in printed(paper) if row.claim == claim.id]
    if is_a_paper(paper):
        its = discovery.papers()[paper]
        lines.append(f"  of: {its.heading}, {its.title} ({its.url})")
    known = find(suite, figure_name)
    rows = known.claims if known else []
    row = next((row for row in rows if row["claim"] == claim.id), None)
    if known is None or row is None:
        lines.append(f"  not measured yet: {suite.command(f'figures/{figure_name}.pdf')}")
        return "\n".join(lines)
    lines.append(f"  from: {_origin(suite, known)}")
    provenance = known.provenance
    lines += [
        f"  kind: {row['kind']}; expected {row['expected']}{paper_scale(row)}",
        f"  measured {interval(row)}, n = {row['n']}",
        f"  verdict: {in_words(row)}",
        f"  register: {badges.badge(row, provenance)}",
    ]
    records = status.by_claim(every_claim(figure_name)).get((paper, claim.id), [])
    lines += [f"  status: {records[0]['verdict']}, by its strongest record"] if records else []
    lines += [f"    {line}" for line in status.in_words(records)]
    if row["detail"]:
        lines.append(f"  detail: {row['detail']}")
    if row["power"]:
        lines.append(f"  of simulated tables: {row['power']}")
    if row["never"]:
        lines.append(f"  design: it can hardly come out as {row['never']}")
    if row["p"] is not None:
        lines.append(f"  p: {row['p']:.2g}, with the truth at the edge of the bound")
    if row["second"]:
        lines.append(f"  under another arithmetic, {row['second']}")
    if row["chosen_after_seeing"]:
        fixed = badges.badge(row, provenance).word == badges.BEFORE
        before = "fixed before its runs: seeds, widths, grid, estimator, bound; " if fixed else ""
        why = "chosen because it showed the effect" if fixed else "chosen after seeing results"
        lines.append(f"  {before}{why}: {row['chosen_after_seeing']}")
    lines += [f"  departs: {line}" for line in departures([figure_name], provenance["scale"])]
    lines.append(f"  scale: {provenance['scale']}; data: {provenance['data']}")
    lines.append(f"  data: {known.data} sha256 {sha256_file(known.data)}")
    for entry in provenance["made"]:
        versions = ", ".join(f"{k} {v}" for k, v in entry["versions"].items())
        lines.append(
            f"  made by: {entry['runs']} runs, {entry['seconds']:.0f} s on {entry['device']}, "
            f"arithmetic {arithmetic.of(entry)}, {versions}, commit {entry['commit']}"
        )
    if made := provenance["made"]:
        lines.append(f"  code of the runs: {listed(code_versions(made))}")
        lines.append(f"  in git: {standing(made)}")
    if mark := unclean(provenance):
        lines.append(f"  {mark}")
    if suite.cpu_dependent(figure_name):
        cpus = ", ".join(sorted({entry["host_cpu"] for entry in provenance["made"]}))
        lines.append(f"  convolutions: digits are promised for one kind of CPU only, here {cpus}")
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        runs = [run for cell in study_cells for run in cell.runs]
        seeds = sorted({run.spec["seed"] for run in runs if "seed" in run.spec})
        lines.append(f"  study {study_name}: {len(runs)} runs, seeds {seeds or 'none'}")
        if not known.recorded:
            lines += [f"    {suite.paths.cell(cell)}" for cell in study_cells]
    if records:
        lines.append(f"  run it again, and hold it against that record: {verifies(records[0])}")
    return "\n".join(lines)


def registered(words: Sequence[str]) -> str:
    """Text about claims' tests: what was registered of each, and whether before its runs.

    words: claims, as of `find_claim`; none for all that are registered.
    """
    if not words:
        papers = dict.fromkeys(name.split("/")[0] for name in discovery.loadable_figures())
        found = {paper: preregistration.registered(paper) for paper in papers}
        words = [*dict.fromkeys(f"{p}/{row.claim}" for p, rows in found.items() for row in rows)]
    claims = [find_claim(word) for word in words]
    return "\n".join(line for each in claims for line in _registered(*each)) or NONE_REGISTERED


def _registered(name: str, figure_name: str, claim: Claim) -> Iterator[str]:
    """The lines of one claim: of each scale and data that it is registered at, badge and rows."""
    paper = figure_name.split("/")[0]
    commits = preregistration.introduced(paper)
    rows = [pair for pair in zip(preregistration.registered(paper), commits, strict=True)]
    tests: dict[tuple, list] = {}
    for row, commit in rows:
        if row.claim == claim.id:
            tests.setdefault(row.key, []).append((row, commit))
    if not tests:
        yield f"{name}: {badges.NOT}"
    for (_, scale, data), having in tests.items():
        yield f"{name}, {scale} scale, {data} data"
        yield from (f"  {badge}" for badge in _badges(figure_name, claim, having[-1][0]))
        for row, commit in having:
            yield f"  in {preregistration.path(paper)}: {commit or 'not committed'}"
            yield from (f"    {line}" for line in row.lines)


def _badges(figure_name: str, claim: Claim, row: preregistration.Registered) -> Iterator[str]:
    """The badge of a claim on each record of its figure, or that there are no runs."""
    bases = recorded_at(row.scale, row.data, figure_name)
    for base in bases:
        saved = read_record(base)
        judged = (each for each in saved["claims"] if each["claim"] == claim.id)
        yield from (str(badges.badge(each, saved["provenance"])) for each in judged)
    if not bases:
        yield str(badges.waiting(figure_name.split("/")[0], row, str(claim.at(row.scale))))


def _origin(suite: Suite, known: Known) -> str:
    """The folder a claim's verdict is of; of a record, that nothing of it was computed here."""
    if not known.recorded:
        return known.place
    again = suite.command(f"figures/{known.figure}.pdf")
    other = "" if known.current else "; the record is of other settings than the present ones"
    other += "; it is not as committed" if not_committed([known.data.with_suffix("")]) else ""
    return f"{known.place}, the record, for nothing was built here ({again}){other}"


def _meant(word: str, matches: Sequence[str], known: Sequence[str]) -> str:
    """Which claim a word may mean that names none, or several (`matches`), for an error."""
    if matches:
        return f"is of several papers: {', '.join(matches)}"
    ids = known if "/" in word else sorted({key.split("/", 1)[1] for key in known})
    near = nearest_few(word, ids)
    if near:
        return f"is unknown; did you mean {', '.join(map(repr, near))}?"
    return "is unknown; `repro scoreboard` lists them all"
