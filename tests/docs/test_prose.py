"""The numbers in prose are on record: an interval in README, docs and the studies' pages is one of
a test or reading, or of a table beside it, to the digit."""

import re
from functools import cache

import pytest

from repro.core import catalog
from repro.files import read_json
from repro.lineage.checkout import ROOT
from repro.products import records
from repro.report import marks
from repro.verdicts import preregistration

PAGES = ["README.md", "CHANGELOG.md"]
PAGES += sorted(
    path.relative_to(ROOT).as_posix()
    for pages in ("docs/*.md", "studies/*/README.md")
    for path in ROOT.glob(pages)
)
NUMBER = r"-?\d+(?:\.\d+)?"
INTERVAL = re.compile(rf"({NUMBER})(?:\s*%|\s+points|\s+nats)?\s*\[({NUMBER}),\s+({NUMBER})\]")


@cache
def rows():
    every = read_json(records.RECORDS / records.CLAIMS)
    return every["tests"] + every["readings"]


@cache
def texts() -> set[tuple[str, ...]]:
    """Intervals that figures' pages and details on record print."""
    pages = [path.read_text() for path in ROOT.glob("records/*/*/*/*/*.md")]
    details = [row["detail"] for row in rows()]
    found = (found for text in [*pages, *details] for found in INTERVAL.finditer(text))
    return {plain(each.groups()) for each in found}


def plain(interval: tuple[str, ...]) -> tuple[str, ...]:
    """Its numbers, a zero without its digits."""
    return tuple("0" if float(number) == 0 else number for number in interval)


@cache
def measured() -> list[tuple[float, ...]]:
    """Value and interval of every test and reading, and of what a registered row says was known."""
    papers = {name.split("/")[0] for name in catalog.figure_names()}
    known = [row.known for p in papers for row in preregistration.registered(p)]  # written once
    kept = [found.groups() for text in known for found in INTERVAL.finditer(text)]
    judged = [(row["measured"], row["low"], row["high"]) for row in rows()]
    return [tuple(map(float, each)) for each in [*judged, *kept] if not {None, ""} & {*each}]


def reads(text: str, value: float) -> bool:
    """Whether a number in prose is this one rounded: as it is, with its sign turned, in percent."""
    digits = len(text.partition(".")[2])
    return any(float(text) == round(by * value, digits) for by in (1, -1, 100, -100))


def on_record(interval: tuple[str, ...]) -> bool:
    value, low, high = interval
    return plain(interval) in texts() or any(
        reads(value, v) and any(reads(low, a) and reads(high, b) for a, b in (ends, ends[::-1]))
        for v, *ends in measured()
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_interval_in_prose_is_on_record(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.S)  # what calls print
    text = re.sub(r"<!-- table -->.*?<!-- end -->", "", text, flags=re.S)  # of a benchmark
    # What tests/figures/test_transfer.py and tests/report/test_laws.py hold.
    for part in ("board", "laws"):
        made = re.escape(marks.begin(part)) + ".*?" + re.escape(marks.END)
        text = re.sub(made, "", text, flags=re.S)
    lost = [found.group() for found in INTERVAL.finditer(text) if not on_record(found.groups())]
    assert lost == []


def test_an_interval_that_is_not_on_record_is_found():
    assert on_record(("-0.36", "-0.42", "-0.33"))
    assert not on_record(("-0.36", "-0.41", "-0.33"))
    assert sum(len(INTERVAL.findall((ROOT / page).read_text())) for page in PAGES) > 100
