"""Runs keep their ids, and so their results, whatever is changed in what plans them."""

import ids
import pytest

from repro.suite.study import SCALES

SLOW = ("paper",)


@pytest.mark.parametrize(
    "scale", [pytest.param(s, marks=pytest.mark.long) if s in SLOW else s for s in SCALES]
)
def test_every_run_and_every_cell_keeps_its_name(scale):
    known, found = ids.recorded()[scale], ids.digests(scale)
    remedy = "if that is meant, `uv run python tests/ids.py` writes them anew"
    assert found["run_ids"] == known["run_ids"], f"other runs than on record: {remedy}"
    assert found["cell_names"] == known["cell_names"], f"cells have other names: {remedy}"
    assert found["runs"] == known["runs"]
