"""The papers' questions with their answers: README's table, and the site's cards. No torch.

`studies/<paper>/paper.toml` has the words; numbers and statuses are the records'.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from repro.core import discovery
from repro.core.papers import Answer, Paper
from repro.core.suite import load
from repro.errors import UserError, did_you_mean
from repro.products import forecast, records, status
from repro.products.claims_json import FiledReading, FiledTest, Part
from repro.verdicts import badge, words
from repro.verdicts.settings import SHARE
from repro.verdicts.typeset import markdown

HEAD = (
    *("question", "found", "in how many settings", "the paper's conditions"),
    *("what speaks against it", "call", "minutes"),
)
# `{fig3.slope}`, `{growth/ways.limit!interval}`, `{fig2.order@overnight:.1f}`: a test or reading,
# perhaps another paper's, what of it, at which scale if not at the answer's, in which form.
NUMBER = re.compile(r"\{(?:(\w+)/)?([\w.-]+)(?:!(interval|predicted))?(?:@(\w+))?(?::([^{}]+))?\}")
DEFAULT = "reduced"


@dataclass(frozen=True)
class Answered:
    """A question and its answer on record. paper: whose. figure: `<paper>/<figure>` of the tests
    that decide, at `scale`. tests: their rows. found, against: the words, with the numbers in.
    whose: `Hayou & Liu, Figure 3`. drawn: the test of the same statement over drawn settings."""

    paper: Paper
    question: str
    whose: str
    figure: str
    scale: str
    tests: list[FiledTest]
    found: str
    against: str
    drawn: FiledTest | FiledReading | None

    @property
    def settings(self) -> str:
        """In how many drawn settings it is so; "" where none were drawn."""
        return self.drawn["detail"].partition(";")[0] if self.drawn else ""

    @property
    def status(self) -> str:
        """`reproduced, registered`."""
        registered = all(row["registered"] == badge.BEFORE for row in self.tests)
        (fate, *others) = words.tally(self.tests)
        return (words.counts(self.tests) if others else fate) + ", registered" * registered

    @property
    def outside(self) -> str:
        """How the design breaks the paper's conditions; "" where it keeps them."""
        outside = dict.fromkeys(row["bound"]["outside"] for row in self.tests)
        return "; ".join(filter(None, outside))

    @property
    def page(self) -> str:
        """The record that says so, a file of the checkout."""
        return _page(self.tests[0])

    @property
    def call(self) -> str:
        """What builds the figure."""
        scale = f" --config scale={self.scale}" if self.scale != DEFAULT else ""
        return f"uv run snakemake figures/{self.figure}.pdf{scale}"


def _page(row: FiledTest | FiledReading) -> str:
    return f"records/{row['scale']}/{row['data']}/{row['device']}/{row['figure']}.md"


def answered(parts: Iterable[Part]) -> list[Answered]:
    """Every question whose tests, and the figures of whose numbers, are among what is on record on
    synthetic data, in the order of the papers. Raises UserError, naming the file, where an answer
    names no test or reading of a figure."""
    rows: dict[tuple[str, str, str], FiledTest | FiledReading] = {}
    figures = set()
    for part in parts:
        if part.figure["data"] == "embedded":
            figures.add((part.figure["figure"], part.figure["scale"]))
            slug, scale = part.figure["figure"].partition("/")[0], part.figure["scale"]
            rows |= {(slug, scale, row["test"]): row for row in part.tests}
            rows |= {(slug, scale, row["reading"]): row for row in part.readings}
    found: list[Answered] = []
    for paper in discovery.papers().values():
        for each in paper.answers:
            tests = [rows.get((paper.slug, each.scale, name)) for name in each.tests]
            judged = [row for row in tests if row and "test" in row]
            if len(judged) == len(each.tests) and {*_named(paper, each)} <= figures:
                before = {of.tests[0]["statement"] for of in found if of.paper == paper}
                found.append(_answered(paper, each, judged, rows, before))
    return found


def _named(paper: Paper, each: Answer) -> Iterator[tuple[str, str]]:
    """The figures, and scales, whose numbers stand in an answer."""
    for slug, name, _, scale, _ in NUMBER.findall(each.found + each.against):
        yield f"{slug or paper.slug}/{name.partition('.')[0]}", scale or each.scale


def _answered(
    paper: Paper, each: Answer, judged: list, rows: dict, before: Collection[str]
) -> Answered:
    def number(asked: re.Match[str]) -> str:
        slug, name, what, scale, form = asked.groups()
        place = slug or paper.slug, scale or each.scale
        row = rows.get((*place, name))
        if row is None:
            known = [key[2] for key in rows if key[:2] == place]
            raise UserError(
                f"studies/{paper.slug}/paper.toml: {asked[0]} is no test or reading on record at "
                f"scale {place[1]}: {did_you_mean(name, known) if known else 'none is'}"
            )
        if what == "interval":
            return words.interval(row)
        if what == "predicted":
            assert row["bound"]
            return " to ".join(dict.fromkeys(f"{end:.2g}" for end in row["bound"]["predicted"]))
        assert row["measured"] is not None
        return f"{row['measured']:{form or '.2g'}}"

    found, against = (NUMBER.sub(number, text) for text in (each.found, each.against))
    # Of a paper's questions on one statement settings are drawn for the first.
    statement = judged[0]["statement"]
    shares = (
        (row, _test_of(row, rows[slug, scale, name.removesuffix("share") + "mean"]))
        for (slug, scale, name), row in rows.items()
        if slug == paper.slug and name.endswith(SHARE) and statement not in before
    )
    drawn = [(row, its) for row, its in shares if its and its["statement"] == statement]
    strongest = max(drawn, key=lambda pair: status.strength(pair[1]))[0] if drawn else None
    heading = paper.heading if paper.authors else "our benchmark"
    whose = ", ".join(filter(None, [heading, each.place]))
    figure = judged[0]["figure"]
    return Answered(
        paper, each.question, whose, figure, each.scale, judged, found, against, strongest
    )


def _test_of(*found: FiledTest | FiledReading) -> FiledTest | None:
    """Of the share and the mean of drawn settings that which is a test, the share first."""
    return next((cast("FiledTest", row) for row in found if "test" in row), None)


def lines() -> list[str]:
    """README's table; lines of Markdown."""
    rows = [row(each) for each in answered(records.every())]
    return markdown([[*HEAD], *rows])


def drawn(slug: str) -> list[str]:
    """What drawn settings say of a paper's effects, a point each: in how many, their mean, how far
    they scatter, by the strongest record; lines of Markdown for the paper's own page."""
    found: dict[str, list[tuple[FiledTest, FiledTest | FiledReading, str]]] = {}
    for part in records.every():
        of = part.figure
        tested = {row["test"].rpartition(".")[2]: row for row in part.tests}
        read = {row["reading"].rpartition(".")[2]: row for row in part.readings}
        told = [tested[name] for name in ("share", "mean") if name in tested]
        its = of["figure"].startswith(f"{slug}/") and of["data"] == "embedded"
        if not its or not told or "hangs-on" not in read:
            continue
        every: dict[str, FiledTest | FiledReading] = {**read, **tested}
        share, mean = every["share"], every["mean"]
        number, _, detail = share["detail"].partition(", ")
        median, _, lacking = detail.partition("; ")
        says = share["quantity"].partition(" in which ")[2]
        before = all(row["registered"] == badge.BEFORE for row in told)
        of_one = f"the {told[0]['test'].rpartition('.')[2]} {told[0]['status']}"
        fate = (words.counts(told) if len(told) > 1 else of_one) + ", registered" * before
        line = (
            f"- In **{number}** drawn settings {says} ([{fate}](../../{_page(share)})): {median}, "
            f"mean {words.interval(mean)}{f'; {lacking}' * bool(lacking)}. Between settings the "
            f"standard deviation is {words.interval(read['deviation'])}, "
            f"{read['deviation']['detail']}."
        )
        found.setdefault(of["figure"], []).append((told[0], share, line))
    lines = []
    for rows in found.values():
        *others, (*_, line) = sorted(rows, key=lambda row: status.strength(row[0]))
        also = (
            f" At {share['scale']} scale, on other seeds, [{share['detail'].partition(',')[0]}]"
            f"(../../{_page(share)})."
            for _, share, _ in others
        )
        lines.append(line + "".join(also))
    return lines


def row(each: Answered) -> Sequence[str]:
    """A question's line of the table under HEAD."""
    minutes = forecast.promise(load([f"scale={each.scale}"]), each.figure)
    return [
        f"{each.question} ({each.whose})",
        f"{each.found} ([{each.status}]({each.page}))",
        f"[{each.settings}]({_page(each.drawn)})" if each.drawn else "none drawn",
        f"outside: {each.outside}" if each.outside else "ours" if each.paper.ours else "inside",
        each.against,
        f"`{each.call}`",
        minutes.removesuffix(" minutes"),
    ]
