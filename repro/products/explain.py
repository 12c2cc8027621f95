"""From a paper, a figure or one test to what was stated, measured and found, and to its runs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from repro.core import catalog, discovery
from repro.core.papers import is_a_paper, slugs
from repro.core.papers import paper as paper_of
from repro.core.suite import Suite
from repro.errors import UserError, nearest_few
from repro.files import sha256_file
from repro.lineage import arithmetic
from repro.lineage.checkout import of_papers
from repro.lineage.provenance import code_versions, listed, standing, unclean
from repro.products import built, design, records, status
from repro.products.claims_json import FiledTest, builds, filed_tests, verifies
from repro.products.known import Known, find, of_record
from repro.products.records import read_record, recorded_at
from repro.products.run_table import cell_paths, departures
from repro.verdicts import badge as badges
from repro.verdicts import preregistration, printed, statements, words
from repro.verdicts.answers import Answer, Reading, Test
from repro.verdicts.figure import figure_named
from repro.verdicts.results import Judged, Taken

NONE_REGISTERED = "no test is registered: the files studies/<paper>/registered.csv hold no row"


@dataclass(frozen=True)
class Asked:
    """A test or a reading: its figure, its id, and a test's rows on record, the strongest first."""

    figure: str
    id: str
    rows: Sequence[FiledTest]

    @property
    def paper(self) -> str:
        """The slug of its paper."""
        return self.figure.split("/")[0]


def find_test(word: str) -> tuple[str, str, Test]:
    """A test's `<paper>/<id>`, its figure, and the test.

    word: its id, perhaps after `<paper>/`; raises UserError unless it names exactly one.
    """
    name, figure_name, found = find_answer(word)
    if not isinstance(found, Test):
        raise UserError(f"{name}: is a reading, which is held against no bound")
    return name, figure_name, found


def find_answer(word: str) -> tuple[str, str, Answer]:
    """`<paper>/<id>` of a test or a reading, its figure, and itself; as of `find_test`."""
    found = [
        (f"{name.split('/')[0]}/{each.id}", name, each)
        for name in discovery.loadable_figures(_figures(word))
        for each in figure_named(name).answers
        if each.id == word.rpartition("/")[2]
    ]
    if len(found) != 1:
        raise UserError(f"test {word!r}: {_hint(word, [key for key, *_ in found])}")
    return found[0]


def _figures(word: str) -> list[str]:
    """The figures that a test's id may be of."""
    paper, slash, rest = word.rpartition("/")
    figure, dot, _ = rest.partition(".")
    return [
        name
        for name in catalog.figure_names()
        if dot and name.split("/")[1] == figure and (not slash or name.split("/")[0] == paper)
    ]


def asked(word: str) -> Asked:
    """The test or reading that a word names, as of `find_answer`. Where one figure alone has it on
    record, no figure's file is read for it."""
    id = word.rpartition("/")[2]
    having = [name for name in _figures(word) if id in _ids(name)]
    figure = having[0] if len(having) == 1 else find_answer(word)[1]
    every = status.by_test(_filed([figure], id))
    return Asked(figure, id, every.get((figure.split("/")[0], id), ()))


def _ids(figure_name: str) -> Iterator[str]:
    """The tests and readings of a figure that are on record; a damaged record is passed over here,
    for whoever reads its rows to be told."""
    for base in records.bases(figure_name):
        with suppress(UserError):
            saved = read_record(base)
            yield from (row["test"] for row in saved["tests"])
            yield from (row["reading"] for row in saved["readings"])


def counts(suite: Suite, of: Asked) -> tuple[str, str] | None:
    """Scale and data of the record that gives a test its status; None of what is no test on record,
    or where its figure is built under this configuration."""
    if not of.rows or built.is_drawn(suite, of.figure):
        return None
    return of.rows[0]["scale"], of.rows[0]["data"]


def explain(suite: Suite, word: str, configured: bool = True) -> str:
    """Text about a paper, its statements; about a figure, of one or of every paper, its tests; or
    about one test or reading: statement, printed numbers, verdict, data, how its runs were made,
    studies, seeds, files.

    word: a paper's slug, a figure's name (`fig3`, `embedding_lr/fig3`), a study's
        (`upscaling/gpt2`), of which it is what it runs, as of `find_answer`, or an author, or words
        of statements, networks and quantities.
    configured: whether a test is shown at the suite's scale and on its data, and not by the record
        that counts (`counts`).
    """
    if word in of_papers("studies"):
        return "\n".join(design.lines(suite, word))
    if word in slugs():
        return "\n".join(_paper(word))
    figures = [name for name in catalog.figure_names() if word in (name, name.split("/")[1])]
    if figures:
        return "\n".join(line for name in figures for line in _figure(name))
    try:
        of = asked(word)
    except UserError:
        if by_words := [*_by_words(word)]:
            return "\n".join(by_words)
        raise
    place = None if configured else counts(suite, of)
    known = of_record(suite, *place, of.figure) if place else find(suite, of.figure)
    return "\n".join(_answer(suite, of, known))


def _by_words(words: str) -> Iterator[str]:
    """The papers of an author; else the statements whose text, or a test of
    which, says such words, with these tests below."""
    asked = rf"(?<!\w){re.escape(words)}"
    whose = re.compile(rf"{asked}(?!\w)", re.IGNORECASE)
    named = [
        slug
        for slug, its in discovery.papers().items()
        if whose.search("; ".join([its.heading, *(n.split(", ")[0] for n in its.authors)]))
    ]
    says = re.compile(asked, re.IGNORECASE)
    for slug in named:
        yield from _paper(slug)
    for slug in () if named else discovery.papers():
        stated = statements.of_paper(slug)
        rows = [
            row
            for row in _filed(n for n in catalog.figure_names() if n.startswith(f"{slug}/"))
            if says.search(f"{stated[row['statement']].text}; {row['column']}; {row['quantity']}")
        ]
        yield from lines(slug, rows)


def _paper(slug: str) -> Iterator[str]:
    """How a paper's statements fared, each a line, and its tests below it."""
    its = paper_of(slug)
    yield f"{its.heading}, {its.title}"
    yield from lines(slug, _filed(n for n in catalog.figure_names() if n.startswith(f"{slug}/")))


def _figure(name: str) -> Iterator[str]:
    """The tests of a figure on record, each by its strongest record."""
    figure = figure_named(name)
    yield f"{name}: {figure.title}"
    filed = _filed([name])
    yield from lines(name.split("/")[0], filed)
    yield f"  studies, each with its settings by `show`: {', '.join(figure.studies)}"
    if elsewhere := {test.id for test in figure.tests} - {row["test"] for row in filed}:
        yield f"  no record: {', '.join(sorted(elsewhere))}"


def lines(paper: str, rows: Iterable[FiledTest]) -> Iterator[str]:
    """Tests of one paper below their statements, by their strongest records."""
    found = status.strongest(rows)
    for fared in statements.fared(paper, found):
        if fared.cells:
            yield f"{fared.of.text} [{fared.of.source}]"
            for cell in fared.cells:
                for row in cell.tests:
                    data = "" if row["data"] == status.SYNTHETIC else f", {row['data']}"
                    yield f"  {words.line(row)}  ({row['test']}, {row['scale']}{data})"


def _filed(figures: Iterable[str], id: str = "") -> list[FiledTest]:
    """The tests of all records of some figures; of one id alone where it is given."""
    saved = (read_record(base) for name in figures for base in records.bases(name))
    return [
        row
        for each in saved
        for row in filed_tests(
            (row for row in each["tests"] if id in ("", row["test"])), each["provenance"]
        )
    ]


def _answer(suite: Suite, of: Asked, known: Known | None) -> Iterator[str]:
    yield f"{of.paper}/{of.id}"
    judged, taken = [], []
    if known:
        judged = [row for row in known.results["tests"] if row["test"] == of.id]
        taken = [row for row in known.results["readings"] if row["reading"] == of.id]
    yield from _stated(of, [*judged, *of.rows], taken)
    for number in printed.targets_of(of.paper, of.id):
        yield f"  printed: {words.printed(printed.as_json(number))}"
    if is_a_paper(of.paper):
        its = paper_of(of.paper)
        yield f"  of: {its.heading}, {its.title} ({its.url})"
    if known is None:
        yield f"  not measured yet: {suite.command(f'figures/{of.figure}.pdf')}"
        return
    provenance = known.provenance
    at = of.figure, provenance["scale"], provenance["label"]
    built_here = f", the record, for nothing was built here ({builds(*at)})"
    yield f"  from: {known.place}{built_here * known.recorded}"
    for read in taken:
        yield f"  measured {words.interval(read)}, n = {read['n']}"
        yield from (f"  {w}" for w in (read["beside"], read["problem"], read["detail"]) if w)
    for row in judged:
        yield f"  {words.sentence(row)}"
        yield f"  register: {badges.badge(row, provenance)}"
        if row["detail"]:
            yield f"  detail: {row['detail']}"
        if row["laws"]:
            yield f"  of simulated tables: {words.laws(row['laws'])}"
        if row["p"] is not None:
            yield f"  p: {row['p']:.2g}, with the truth at the edge of the bound"
    if of.rows:
        if not judged:
            yield f"  no test at {provenance['scale']} scale on {provenance['label']} data"
        yield f"  status: {of.rows[0]['status']}, by its strongest record"
        yield from (f"    {line}" for line in status.in_words(of.rows))
    if chosen := _chosen(known):
        yield f"  settings chosen after seeing results: {chosen}"
    yield from _how_made(suite, known)
    if of.rows:
        call = f"uv run python -m repro try {of.paper}/{of.id} --dry-run"
        yield f"  its own runs and seeds, or yours: {call}"
    if recorded_at(*at[1:], of.figure):
        yield f"  run it again, and hold it against that record: {verifies(*at)}"


def _stated(of: Asked, judged: Sequence[Judged], taken: Sequence[Taken]) -> Iterator[str]:
    """What a test states, or what a reading is, as whoever measured it has it; of what nobody has
    measured, and of what is a test elsewhere alone, as the figure's file has it."""
    of_test: Mapping = judged[0] if judged else {}
    read = taken[0]["quantity"] if taken else ""
    if not judged and (not taken or taken[0]["bound"]):
        found = find_answer(f"{of.paper}/{of.id}")[2]
        of_test = vars(found) if isinstance(found, Test) else {}
        read = found.words if isinstance(found, Reading) else ""
    if of_test:
        stated = statements.of_paper(of.paper)[of_test["statement"]]
        yield f"  statement: {stated.text} ({stated.source})"
        yield f"  column: {of_test['column']}; rests on {of_test['kind']}"
        yield f"  quantity: {of_test['quantity']}"
    else:
        yield f"  a reading: {read}"


def _chosen(known: Known) -> str:
    """Which settings were chosen after seeing results; of a record, as claims.json says it."""
    if not known.recorded:
        return known.provenance["chosen_after_seeing"]
    return records.filed_figure(known.data.with_suffix("")).get("chosen_after_seeing", "")


def _how_made(suite: Suite, known: Known) -> Iterator[str]:
    """The runs behind what is known of a figure."""
    provenance = known.provenance
    for line in departures([known.figure], provenance["scale"]):
        yield f"  departs: {line}"
    yield f"  scale: {provenance['scale']}; data: {provenance['data']}"
    yield f"  data: {known.data} sha256 {sha256_file(known.data)}"
    for entry in provenance["made"]:
        versions = ", ".join(f"{k} {v}" for k, v in entry["versions"].items())
        yield (
            f"  made by: {entry['runs']} runs, {entry['seconds']:.0f} s on {entry['device']} "
            f"({entry['host_cpu']}), arithmetic {arithmetic.of(entry)}, {versions}, commit "
            f"{entry['commit']}"
        )
    if made := provenance["made"]:
        yield f"  code of the runs: {listed(code_versions(made))}"
        yield f"  in git: {standing(made)}"
    if mark := unclean(provenance):
        yield f"  {mark}"
    yield f"  seeds of its figure: {provenance.get('seeds') or 'none'}"
    figure = f"uv run python -m repro show {known.figure}"
    yield f"  figure: {known.figure}, whose studies are named by {figure}"
    if not known.recorded:
        yield from (f"    {path}" for path in cell_paths(suite, known.figure))


def registered(asked: Sequence[str]) -> str:
    """Text about tests: what was registered of each, and whether before its runs.

    asked: tests, as of `find_test`; none for all that are registered, of which some are none now.
    """
    if asked:
        return "\n".join(line for word in asked for line in _registered(*find_test(word)))
    known = {
        (name.split("/")[0], each.id): (name, each)
        for name in discovery.loadable_figures()
        for each in figure_named(name).answers
        if isinstance(each, Test)
    }
    lines: list[str] = []
    for paper in dict.fromkeys(paper for paper, _ in known):
        for claim in dict.fromkeys(row.claim for row in preregistration.registered(paper)):
            if its := known.get((paper, claim)):
                lines += _registered(f"{paper}/{claim}", *its)
            else:
                lines.append(f"{paper}/{claim}: has a row, and is no test now")
    return "\n".join(lines) or NONE_REGISTERED


def _registered(name: str, figure_name: str, test: Test) -> Iterator[str]:
    """The lines of one test: of each scale and data that it is registered at, badge and rows."""
    paper = figure_name.split("/")[0]
    commits = preregistration.introduced(paper)
    rows = [pair for pair in zip(preregistration.registered(paper), commits, strict=True)]
    tests: dict[tuple, list] = {}
    for row, commit in rows:
        if row.claim == test.id:
            tests.setdefault(row.key, []).append((row, commit))
    if not tests:
        yield f"{name}: {badges.NOT}"
    for (_, scale, data), having in tests.items():
        yield f"{name}, {scale} scale, {data} data"
        yield from (f"  {badge}" for badge in _badges(figure_name, test, having[-1][0]))
        for row, commit in having:
            brought = commit or preregistration.unknown() or "not committed"
            yield f"  in {preregistration.path(paper)}: {brought}"
            yield from (f"    {line}" for line in row.lines)


def _badges(figure_name: str, test: Test, row: preregistration.Registered) -> Iterator[str]:
    """The badge of a test on each record of its figure, or that there are no runs."""
    bases = recorded_at(row.scale, row.data, figure_name)
    for base in bases:
        saved = read_record(base)
        judged = (each for each in saved["tests"] if each["test"] == test.id)
        yield from (str(badges.badge(each, saved["provenance"])) for each in judged)
    if not bases:
        yield str(badges.waiting(figure_name.split("/")[0], row, str(test.at(row.scale))))


def _hint(word: str, matches: Sequence[str]) -> str:
    """Which test a word may mean that names none, or several (`matches`), for an error."""
    if matches:
        return f"is of several papers: {', '.join(matches)}"
    known = [
        f"{name.split('/')[0]}/{each.id}"
        for name in discovery.loadable_figures()
        for each in figure_named(name).answers
    ]
    ids = known if "/" in word else sorted({key.split("/", 1)[1] for key in known})
    near = nearest_few(word, ids)
    if near:
        return f"is unknown; did you mean {', '.join(map(repr, near))}?"
    return "is unknown; `uv run python -m repro show PAPER` lists a paper's"
