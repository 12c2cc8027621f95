"""The references of a spec are looked for where they may be, and found wherever they are."""

import pytest
from suites import suite_of

from repro.core import discovery
from repro.core.runs import Upstream
from repro.core.schedule import _places
from repro.core.spec import settings
from repro.core.study import REFERENCES, Best

BEST = Best("tune", "lr")


def test_every_reference_of_the_studies_is_bound_in_the_order_of_the_settings():
    suite = suite_of(scale="smoke")
    bound = 0
    for name in discovery.study_names():
        for run in (run for cell in suite.cells(name) for run in cell.runs):
            found = [*settings(run.spec)]
            assert [*run.upstream] == [key for key, v in found if isinstance(v, Upstream)]
            assert not any(isinstance(value, REFERENCES) for _, value in found)
            bound += len(run.upstream)
    assert bound


@pytest.mark.parametrize(
    "base, grid, expected",
    [
        ({"lr": BEST, "model": {"width": 1}}, {"model.width": [1, 2]}, ["lr"]),
        ({"model": {"lr": 1, "width": 1}, "a": BEST}, {"model.lr": [BEST]}, ["model.lr", "a"]),
        (
            {"model": {"lr": BEST, "width": 1}},
            {"both": [{"model": {"width": 1, "lr": 2}}]},
            ["model"],
        ),
        ({"a": 1, "b": 2}, {"both": [{"b": BEST, "a": BEST}]}, ["a", "b"]),
        ({"a": 1, "b": {}}, {"b": [{"c": BEST}], "a": [1, 2]}, ["a", "b"]),
    ],
)
def test_places_are_those_that_the_base_or_an_axis_names(base, grid, expected):
    assert _places(base, grid) == expected
