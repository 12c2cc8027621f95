"""One status a test."""

import pytest

from repro.products import status

ROW = {
    "figure": "p/fig1",
    "test": "fig1.one",
    "kind": "training",
    "scale": "reduced",
    "data": "embedded",
    "registered": "not registered",
    "status": "reproduced",
}
REGISTERED = {"registered": "registered before"}
NIGHT = {"scale": "overnight"}
REAL = {"data": "embedded+covtype=real"}


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([{}], "reproduced"),
        ([{}, NIGHT | {"status": "inconclusive"}], "inconclusive"),
        ([REGISTERED, NIGHT | {"status": "inconclusive"}], "reproduced"),
        ([REGISTERED, REGISTERED | NIGHT | {"status": "inconclusive"}], "inconclusive"),
        ([{}, REAL | {"status": "inconclusive"}], "reproduced"),
        ([{}, REAL | {"status": "not reproduced"}], "not reproduced"),
    ],
)
def test_the_strongest_record_gives_a_test_its_status(rows, word):
    for order in (rows, rows[::-1]):
        (found,) = status.strongest([ROW | row for row in order])
        assert found["status"] == word


def test_tests_that_were_tried_again_are_counted():
    other = {"test": "fig1.b"}
    rows = [ROW, ROW | NIGHT, ROW | other, ROW | NIGHT | other | {"status": "not reproduced"}]
    assert status.tried_again([*rows, ROW | {"test": "fig1.c"}]) == (2, 1)
