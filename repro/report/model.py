"""What the pages show, as plain data: papers, figures and tests at every scale and data known."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar
from urllib.parse import quote

from repro.core import catalog, discovery
from repro.core.names import SMALL
from repro.core.papers import Paper
from repro.core.study import SCALES
from repro.core.suite import Suite
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.products.claims_json import FiledFigure, FiledTest, Part, filed
from repro.products.forecast import promise
from repro.products.known import Known, find
from repro.products.records import describe
from repro.products.run_table import chosen_after_seeing
from repro.report import settings
from repro.report.places import others
from repro.report.plot import Plot, plot
from repro.report.strip import Strip, strip
from repro.verdicts import badge as badges
from repro.verdicts import statements, words
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import outcome, table_of
from repro.verdicts.results import Judged, in_family, of_a_paper, paper_of, survivors
from repro.verdicts.statements import Statement
from repro.verdicts.typeset import Table


@dataclass(frozen=True)
class TestView:
    """A test where it binds. row: as in claims.json. page: of its figure. figure: what claims.json
    has of that."""

    __test__: ClassVar[bool] = False  # for pytest: it is no test of the suite

    row: FiledTest
    page: str
    figure: FiledFigure

    @property
    def name(self) -> str:
        """`<paper>/<test>`."""
        return f"{paper_of(self.row)}/{self.row['test']}"

    @property
    def stated(self) -> Statement:
        """The statement that it is of."""
        return statements.of_paper(paper_of(self.row))[self.row["statement"]]

    @property
    def href(self) -> str:
        """Its card, from the site's root."""
        return f"{self.page}#{self.row['test']}"

    @property
    def address(self) -> str:
        """Its own page, the same at every scale and on all data, from the site's root."""
        return address_of(self.name)

    @property
    def place(self) -> str:
        """`reduced scale`, and other data than synthetic ones: `, wikitext2 of a folder`."""
        data, *others = self.row["data"].split("+")
        words = [f"{data} data"] if data != "embedded" else []
        for name, _, kind in (each.partition("=") for each in others):
            words.append(f"{name} of a folder" if kind.startswith("folder") else f"{name} {kind}")
        return ", ".join([f"{self.row['scale']} scale", *words])

    @property
    def before(self) -> bool:
        """Whether it was registered before its runs."""
        return self.row["registered"] == badges.BEFORE

    @property
    def strip(self) -> Strip | None:
        """Its bound and interval on one axis."""
        return strip(self.row)


def address_of(name: str) -> str:
    """A test's own page, or what was one, from the site's root. name: `<paper>/<test>`."""
    return quote(f"claims/{name}.html")


@dataclass(frozen=True)
class FigureView:
    """A figure at one scale on one data source. elsewhere: other scales and data -> its page."""

    suite: Suite
    known: Known
    elsewhere: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`<paper>/<figure>`."""
        return self.known.figure

    @property
    def paper(self) -> str:
        """Its paper's slug."""
        return self.name.split("/")[0]

    @property
    def place(self) -> str:
        """`<scale>/<data>`."""
        return f"{self.suite.config.scale}/{self.suite.label}"

    @property
    def path(self) -> str:
        """Its page and files, from the site's root, without their suffix."""
        return f"figures/{self.place}/{self.name}"

    @property
    def picture(self) -> str:
        """Its picture's address, from the site's root."""
        return quote(f"{self.path}.png")

    @property
    def small(self) -> str:
        """That of the picture for where there is little room: its own small one, if it has one."""
        return quote(f"{self.path}{SMALL}") if self.known.small else self.picture

    @property
    def page(self) -> str:
        """Its page's address, from the site's root."""
        return quote(f"{self.path}.html")

    @property
    def title(self) -> str:
        """Its title."""
        return figure_named(self.name).title

    @property
    def short(self) -> str:
        """`Figure 3` of `Figure 3. Optimal ...`; the title where there is no number."""
        return self.title.split(". ")[0]

    @property
    def caption(self) -> str:
        """What every mark of its picture means."""
        return figure_named(self.name).caption

    @cached_property
    def part(self) -> Part:
        """What claims.json has of it."""
        found = self.known
        provenance = found.provenance | {"chosen_after_seeing": self.chosen_after_seeing}
        return filed(self.name, found.results, provenance, found.data, found.picture)

    @cached_property
    def tests(self) -> list[TestView]:
        """Its tests that bind, the worst first."""
        rows = sorted(self.part.tests, key=words.worst)
        return [TestView(row, self.page, self.part.figure) for row in rows]

    @property
    def uncounted(self) -> int:
        """How many of its tests its picture does not count: ours, beside a paper's."""
        ours = [test for test in self.tests if not of_a_paper(test.row)]
        return 0 if self.table or len(ours) == len(self.tests) else len(ours)

    @property
    def readings(self) -> list[list[str]]:
        """What it measures besides, as lines under `words.READ`."""
        return [words.reading(row) for row in self.known.results["readings"]]

    @property
    def larger(self) -> str:
        """What is tested at other scales alone."""
        tests, config = figure_named(self.name).tests, self.suite.config
        return words.larger(tests, config.scale, self.suite.is_embedded(self.name))

    @cached_property
    def table(self) -> Table | None:
        """What it shows if that is a table; None where it is a plot."""
        return table_of(self.name, self.known.data, self.suite.config.scale)

    @property
    def outcome(self) -> str:
        """What came out of it, as its picture's title says."""
        return outcome(self.name, self.known.results)

    @property
    def tally(self) -> dict[str, int]:
        """Status -> how many of its tests have it."""
        return words.tally(self.known.results["tests"])

    @property
    def chosen_after_seeing(self) -> str:
        """Settings of its runs that were chosen after seeing what its tests measure."""
        return chosen_after_seeing(self.name, self.suite.config.scale)

    @property
    def promise(self) -> str:
        """How long building it takes, in the words of the call that does."""
        return promise(self.suite, self.name)

    @cached_property
    def settings(self) -> list[settings.Setting]:
        """Settings of its runs, here and in the paper."""
        return settings.side_by_side(self.suite, self.name)

    @cached_property
    def plot(self) -> Plot | None:
        """What the plot of its data is made of; None if there is nothing to plot."""
        view = figure_named(self.name).view
        return plot(self.known.data, settings.axes(self.name), view)


@dataclass(frozen=True)
class PaperView:
    """A paper. known: who it is, None if nobody says. text: its page in studies/, as Markdown.
    figures: at the main place."""

    slug: str
    known: Paper | None
    text: str
    figures: list[FigureView]

    @property
    def heading(self) -> str:
        """Its authors, by which pages name it."""
        return self.known.heading if self.known else self.slug

    @property
    def page(self) -> str:
        """Its page, from the site's root."""
        return f"papers/{self.slug}.html"

    @property
    def title(self) -> str:
        """The paper's title."""
        return self.known.title if self.known else self.slug

    @property
    def arxiv(self) -> str:
        """Its number on arXiv with the version that is judged, "" if it has none."""
        return f"{self.known.arxiv}v{self.known.version}" if self.is_a_paper and self.known else ""

    @property
    def year(self) -> str:
        """The year it is cited by."""
        return str(self.known.year) if self.is_a_paper and self.known else ""

    @property
    def is_a_paper(self) -> bool:
        """Whether it is one, and not the suite's own studies."""
        return self.known is not None and not self.known.ours


@dataclass(frozen=True)
class Site:
    """Everything the pages show. suite: the configuration they open with. figures: of every scale
    and data, those of that configuration first. missing: figures it has nothing of."""

    suite: Suite
    papers: list[PaperView]
    figures: list[FigureView]
    missing: list[str]

    @property
    def main(self) -> list[FigureView]:
        """The figures at the configured scale and data."""
        return [figure for figure in self.figures if figure.suite is self.suite]

    @property
    def tests(self) -> list[TestView]:
        """The tests of all figures."""
        return [test for figure in self.figures for test in figure.tests]

    @property
    def main_rows(self) -> list[Judged]:
        """The tests at the configured scale and data."""
        return [row for figure in self.main for row in figure.known.results["tests"]]

    @cached_property
    def _surviving(self) -> dict[tuple[str, str], set[tuple[str, str]]]:
        places: dict[tuple[str, str], list[FiledTest]] = {}
        for test in self.tests:
            places.setdefault((test.row["scale"], test.row["data"]), []).append(test.row)
        return {place: survivors(rows) for place, rows in places.items()}

    def stands(self, row: FiledTest) -> bool:
        """Whether a test stands when all random ones of its paper, scale and data are taken
        together."""
        own = paper_of(row), row["test"]
        return not in_family(row) or own in self._surviving[row["scale"], row["data"]]

    @property
    def real_papers(self) -> list[PaperView]:
        """The papers, without the suite's own studies."""
        return [paper for paper in self.papers if paper.is_a_paper]

    @property
    def never_run(self) -> str:
        """What none of it is: of paper scale, of real data, of a GPU; in words."""
        made = [entry for f in self.figures for entry in f.known.provenance["made"]]
        gpu = any(entry["device"] != "cpu" for entry in made)
        paper = any(figure.suite.config.scale == SCALES[-1] for figure in self.figures)
        real = any(figure.suite.label != "embedded" for figure in self.figures)
        never = [
            words
            for words, was in (("at paper scale", paper), ("on real data", real), ("on a GPU", gpu))
            if not was
        ]
        return f"Nothing of it was run {' or '.join(never)}." if never else ""


def site(suite: Suite) -> Site:
    """What is known of the configured figures, in results/ or in records/.

    Raises UserError where nothing is known of any at the configured scale and data, or where a file
    was changed after it was written.
    """
    names = [n for n in catalog.matching_figures(suite.config.figures) if not suite.fault(n)]
    main = views(suite, names)
    if not main:
        raise UserError(f"no results and no records for {describe(suite)}")
    figures = main + [figure for other in others(suite) for figure in views(other, names)]
    for figure in figures:
        figure.elsewhere.update(
            {f.place: f.page for f in figures if f.name == figure.name and f is not figure}
        )
    slugs = dict.fromkeys(name.split("/")[0] for name in names)
    papers = [paper(slug, [f for f in main if f.paper == slug]) for slug in slugs]
    shown = {figure.name for figure in main}
    return Site(suite, papers, figures, [name for name in names if name not in shown])


def views(suite: Suite, names: Iterable[str]) -> list[FigureView]:
    """Those of some figures of which there are results or records under a configuration."""
    found = (find(suite, name) for name in names if suite.offers(name))
    return [FigureView(suite, known) for known in found if known]


def paper(slug: str, figures: list[FigureView]) -> PaperView:
    """A paper, from its page in studies/ and who it says it is."""
    page = ROOT / "studies" / slug / "README.md"
    text = page.read_text("utf-8") if page.exists() else ""
    return PaperView(slug, discovery.papers().get(slug), text, figures)
