"""What is on record, and the list of what can be built."""

import re

import pytest

from repro.__main__ import main
from repro.suite.checkout import ROOT

README = (ROOT / "README.md").read_text()
BUILT = (ROOT / "docs" / "first-figure.md").read_text()
RECORDED = ROOT / "records" / "reduced" / "embedded" / "cpu"


def listed() -> dict[str, str]:
    """Every figure in the table of what can be built -> the line that lists it."""
    rows = re.findall(r"^(\| .* \| `(\w+)` \| (.*) \|)$", BUILT, re.M)
    return {f"{paper}/{name}": row for row, paper, names in rows for name in names.split(", ")}


def a_report(folder, figures):
    """The folder of the report of some figures, as a fresh clone has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["report", "--config", f"figures={figures}"]) == 0
    return folder / "report"
