"""What is on record, as the README lists it."""

import re

from repro.suite.registry import ROOT

README = (ROOT / "README.md").read_text()
RECORDED = ROOT / "records" / "reduced" / "embedded" / "cpu"


def listed() -> dict[str, str]:
    """Every figure in the README's table of papers -> the line that lists it."""
    rows = re.findall(r"^(\| .* \| `(\w+)` \| (.*) \|)$", README, re.M)
    return {f"{paper}/{name}": row for row, paper, names in rows for name in names.split(", ")}
