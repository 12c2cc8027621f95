"""From a paper, a figure or one test to what was stated, measured and found, and to its runs."""

from collections.abc import Iterable, Iterator, Sequence

from repro.core import catalog, discovery
from repro.core.papers import is_a_paper
from repro.core.suite import Suite
from repro.errors import UserError, nearest_few
from repro.files import sha256_file
from repro.lineage import arithmetic
from repro.lineage.provenance import code_versions, listed, standing
from repro.products import records, status
from repro.products.claims_json import FiledTest, verifies
from repro.products.known import Known, find
from repro.products.picture import unclean
from repro.products.records import not_committed, read_record, recorded_at
from repro.products.run_table import departures
from repro.verdicts import badge as badges
from repro.verdicts import preregistration, printed, statements, words
from repro.verdicts.answers import Answer, Reading, Test
from repro.verdicts.figure import figure_named

NONE_REGISTERED = "no test is registered: the files studies/<paper>/registered.csv hold no row"


def find_test(word: str) -> tuple[str, str, Test]:
    """A test's `<paper>/<id>`, its figure, and the test.

    word: its id, perhaps after `<paper>/`; raises UserError unless it names exactly one.
    """
    name, figure_name, found = find_answer(word)
    if not isinstance(found, Test):
        raise UserError(f"{name}: is a reading, which is held against no bound")
    return name, figure_name, found


def find_answer(word: str) -> tuple[str, str, Answer]:
    """The same of a test or a reading."""
    paper, slash, rest = word.rpartition("/")
    figure, dot, _ = rest.partition(".")
    its = [
        name
        for name in catalog.figure_names()
        if dot and name.split("/")[1] == figure and (not slash or name.split("/")[0] == paper)
    ]
    found = [
        (f"{name.split('/')[0]}/{each.id}", name, each)
        for name in discovery.loadable_figures(its)
        for each in figure_named(name).answers
        if each.id == rest
    ]
    if len(found) != 1:
        raise UserError(f"test {word!r}: {_meant(word, [key for key, *_ in found])}")
    return found[0]


def explain(suite: Suite, word: str) -> str:
    """Text about a paper, its statements; about a figure, of one or of every paper, its tests; or
    about one test or reading: statement, printed numbers, verdict, data, how its runs were made,
    studies, seeds, files.

    word: a paper's slug, a figure's name (`fig3`, `embedding_lr/fig3`) or as of `find_answer`.
    """
    if word in discovery.papers():
        return "\n".join(_paper(word))
    figures = [name for name in catalog.figure_names() if word in (name, name.split("/")[1])]
    if figures:
        return "\n".join(line for name in figures for line in _figure(name))
    return "\n".join(_answer(suite, *find_answer(word)))


def _paper(slug: str) -> Iterator[str]:
    """How a paper's statements fared, each a line, and its tests below it."""
    its = discovery.papers()[slug]
    yield f"{its.heading}, {its.title}"
    yield from lines(slug, _filed(n for n in catalog.figure_names() if n.startswith(f"{slug}/")))


def _figure(name: str) -> Iterator[str]:
    """The tests of a figure on record, each by its strongest record."""
    figure = figure_named(name)
    yield f"{name}: {figure.title}"
    filed = _filed([name])
    yield from lines(name.split("/")[0], filed)
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


def _filed(figures: Iterable[str]) -> list[FiledTest]:
    """The tests of all records of some figures."""
    return [row for name in figures for base in records.bases(name) for row in _rows(base)]


def _rows(base) -> list[FiledTest]:
    return records.part(base).tests


def _answer(suite: Suite, name: str, figure_name: str, asked: Answer) -> Iterator[str]:
    paper = figure_name.split("/")[0]
    yield name
    if isinstance(asked, Test):
        stated = statements.of_paper(paper)[asked.statement]
        yield f"  statement: {stated.text} ({stated.source})"
        yield f"  column: {asked.column}; rests on {asked.kind}"
        yield f"  quantity: {asked.quantity}"
    if isinstance(asked, Reading):
        yield f"  a reading: {asked.words}"
    for number in printed.targets_of(paper, asked.id):
        yield f"  printed: {words.printed(printed.as_json(number))}"
    if is_a_paper(paper):
        its = discovery.papers()[paper]
        yield f"  of: {its.heading}, {its.title} ({its.url})"
    known = find(suite, figure_name)
    if known is None:
        yield f"  not measured yet: {suite.command(f'figures/{figure_name}.pdf')}"
        return
    yield f"  from: {_origin(suite, known)}"
    provenance = known.provenance
    for taken in known.results["readings"]:
        if taken["reading"] == asked.id:
            yield f"  measured {words.interval(taken)}, n = {taken['n']}"
            yield from (f"  {w}" for w in (taken["beside"], taken["problem"], taken["detail"]) if w)
    judged = [row for row in known.results["tests"] if row["test"] == asked.id]
    for row in judged:
        yield f"  {words.sentence(row)}"
        yield f"  register: {badges.badge(row, provenance)}"
        if row["detail"]:
            yield f"  detail: {row['detail']}"
        if row["laws"]:
            yield f"  of simulated tables: {words.laws(row['laws'])}"
        if row["p"] is not None:
            yield f"  p: {row['p']:.2g}, with the truth at the edge of the bound"
    own = [row for row in _filed([figure_name]) if row["test"] == asked.id]
    every = status.by_test(own).get((paper, asked.id), [])
    if every:
        yield f"  status: {every[0]['status']}, by its strongest record"
        yield from (f"    {line}" for line in status.in_words(every))
    if chosen := provenance.get("chosen_after_seeing"):
        yield f"  settings chosen after seeing results: {chosen}"
    yield from _behind(suite, known, figure_name)
    if every:
        yield f"  run it again, and hold it against that record: {verifies(every[0])}"


def _behind(suite: Suite, known: Known, figure_name: str) -> Iterator[str]:
    """The runs behind what is known of a figure."""
    provenance = known.provenance
    for line in departures([figure_name], provenance["scale"]):
        yield f"  departs: {line}"
    yield f"  scale: {provenance['scale']}; data: {provenance['data']}"
    yield f"  data: {known.data} sha256 {sha256_file(known.data)}"
    for entry in provenance["made"]:
        versions = ", ".join(f"{k} {v}" for k, v in entry["versions"].items())
        yield (
            f"  made by: {entry['runs']} runs, {entry['seconds']:.0f} s on {entry['device']}, "
            f"arithmetic {arithmetic.of(entry)}, {versions}, commit {entry['commit']}"
        )
    if made := provenance["made"]:
        yield f"  code of the runs: {listed(code_versions(made))}"
        yield f"  in git: {standing(made)}"
    if mark := unclean(provenance):
        yield f"  {mark}"
    if suite.cpu_dependent(figure_name):
        cpus = ", ".join(sorted({entry["host_cpu"] for entry in provenance["made"]}))
        yield f"  convolutions: digits are promised for one kind of CPU only, here {cpus}"
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        runs = [run for cell in study_cells for run in cell.runs]
        seeds = sorted({run.spec["seed"] for run in runs if "seed" in run.spec})
        yield f"  study {study_name}: {len(runs)} runs, seeds {seeds or 'none'}"
        if not known.recorded:
            yield from (f"    {suite.paths.cell(cell)}" for cell in study_cells)


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
            yield f"  in {preregistration.path(paper)}: {commit or 'not committed'}"
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


def _origin(suite: Suite, known: Known) -> str:
    """The folder a verdict is of; of a record, that nothing of it was computed here."""
    if not known.recorded:
        return known.place
    again = suite.command(f"figures/{known.figure}.pdf")
    other = "" if known.current else "; the record is of other settings than the present ones"
    other += "; it is not as committed" if not_committed([known.data.with_suffix("")]) else ""
    return f"{known.place}, the record, for nothing was built here ({again}){other}"


def _meant(word: str, matches: Sequence[str]) -> str:
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
    return "is unknown; `repro show PAPER` lists a paper's"
