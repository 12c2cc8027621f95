"""What is on record, and the list of what can be built."""

import re

import pytest

from repro.__main__ import main
from repro.core.suite import load
from repro.lineage.checkout import ROOT
from repro.report import model, pages

README = (ROOT / "README.md").read_text()
BUILT = (ROOT / "docs" / "first-figure.md").read_text()
RECORDED = ROOT / "records" / "reduced" / "embedded" / "cpu"


def listed() -> dict[str, str]:
    """Every figure that the table of what can be built says is on record -> the line that lists
    it."""
    return _named(2)


def not_run() -> dict[str, str]:
    """The figures of the same table that are not run yet."""
    return _named(3)


def _named(column: int) -> dict[str, str]:
    rows = [line for line in BUILT.splitlines() if re.match(r"\| .* \| `\w+` \|", line)]
    found = {}
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        names = filter(None, cells[column].split(", "))
        found |= {f"{cells[1].strip('`')}/{name}": row for name in names}
    return found


def a_site(folder, figures):
    """The results in the site of some figures, as a fresh clone has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["report", "--config", f"figures={figures}"]) == 0
    return folder / "report" / "results"


def its_pages(folder, figures, *asked):
    """The pages of the results of some figures as they are written, for Sphinx to render. asked:
    other settings, as `scale=smoke`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        pages.write(model.site(load([f"figures={figures}", *asked])), folder)
    return folder
