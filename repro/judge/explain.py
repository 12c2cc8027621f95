"""From one claim to what the paper prints, its verdict, and the runs behind it."""

from collections.abc import Sequence

from repro.errors import UserError, nearest_few
from repro.files import sha256_file
from repro.judge.beside import unclean
from repro.judge.board import in_words, paper_scale
from repro.judge.evidence import Evidence, find
from repro.judge.figure import figure_module
from repro.judge.judged import interval
from repro.judge.printed import printed
from repro.suite import arithmetic
from repro.suite.provenance import code_versions, listed, standing
from repro.suite.suite import Suite


def explain(suite: Suite, word: str) -> str:
    """Text about a claim: statement, printed numbers, verdict, data, how its runs were made,
    studies, seeds, files.

    word: the claim's id, perhaps after `<paper>/`; raises UserError unless it names exactly one.
    """
    known = {
        f"{figure_name.split('/')[0]}/{claim.id}": (figure_name, claim)
        for figure_name in suite.usable_figures()
        for claim in figure_module(figure_name).CLAIMS
    }
    matches = [key for key in known if word in (key, key.split("/", 1)[1])]
    if len(matches) != 1:
        raise UserError(f"claim {word!r}: {_meant(word, matches, [*known])}")
    figure_name, claim = known[matches[0]]
    lines = [matches[0], f"  paper: {claim.statement} ({claim.source})"]
    lines.append(f"  quantity: {claim.quantity}")
    paper = figure_name.split("/")[0]
    lines += [f"  printed: {row}" for row in printed(paper) if row.claim == claim.id]
    evidence = find(suite, figure_name)
    rows = evidence.claims if evidence else []
    row = next((row for row in rows if row["claim"] == claim.id), None)
    if evidence is None or row is None:
        lines.append(f"  not measured yet: {suite.command(f'figures/{figure_name}.pdf')}")
        return "\n".join(lines)
    lines.append(f"  from: {_origin(suite, evidence)}")
    provenance = evidence.provenance
    lines += [
        f"  kind: {row['kind']}; expected {row['expected']}{paper_scale(row)}",
        f"  measured {interval(row)}, n = {row['n']}",
        f"  verdict: {in_words(row)}",
    ]
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
        lines.append(f"  chosen after seeing: {row['chosen_after_seeing']}")
    lines.append(f"  scale: {provenance['scale']}; data: {provenance['data']}")
    lines.append(f"  data: {evidence.data} sha256 {sha256_file(evidence.data)}")
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
        if not evidence.recorded:
            lines += [f"    {suite.paths.cell(cell)}" for cell in study_cells]
    return "\n".join(lines)


def _origin(suite: Suite, evidence: Evidence) -> str:
    """The folder a claim's verdict is of; of a record, that nothing of it was computed here."""
    if not evidence.recorded:
        return evidence.place
    again = suite.command(f"figures/{evidence.figure}.pdf")
    other = "" if evidence.current else "; the record is of other settings than the present ones"
    return f"{evidence.place}, the record, for nothing was built here ({again}){other}"


def _meant(word: str, matches: Sequence[str], known: Sequence[str]) -> str:
    """Which claim a word may mean that names none, or several (`matches`), for an error."""
    if matches:
        return f"is of several papers: {', '.join(matches)}"
    ids = known if "/" in word else sorted({key.split("/", 1)[1] for key in known})
    near = nearest_few(word, ids)
    if near:
        return f"is unknown; did you mean {', '.join(map(repr, near))}?"
    return "is unknown; `repro scoreboard` lists them all"
