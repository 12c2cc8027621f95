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
    "laws": [],
}
REGISTERED = {"registered": "registered before"}
NIGHT = {"scale": "overnight"}
TRIED = {"laws": ["a rival's"]}
REAL = {"data": "embedded+covtype=real"}


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([{}], "reproduced"),
        ([{}, NIGHT | {"status": "inconclusive"}], "inconclusive"),
        ([REGISTERED, NIGHT | {"status": "inconclusive"}], "reproduced"),
        ([REGISTERED, REGISTERED | NIGHT | {"status": "inconclusive"}], "inconclusive"),
        ([TRIED, NIGHT | {"status": "inconclusive"}], "reproduced"),
        ([TRIED, REGISTERED | {"status": "inconclusive"}], "inconclusive"),
        ([{}, REAL], "reproduced"),
    ],
)
def test_the_strongest_record_gives_a_test_its_status(rows, word):
    for order in (rows, rows[::-1]):
        (found,) = status.strongest([ROW | row for row in order])
        assert found["status"] == word


@pytest.mark.parametrize("word", ["inconclusive", "not reproduced"])
def test_where_kinds_of_data_differ_both_are_said(word):
    rows = [ROW, ROW | NIGHT | REAL | REGISTERED | {"status": word}, ROW | REAL]
    for order in (rows, rows[::-1]):
        found = status.strongest(order)
        assert [(row["data"], row["status"]) for row in found] == [
            ("embedded", "reproduced"),
            (REAL["data"], word),
        ], "neither displaces the other"


def test_tests_that_were_tried_again_are_counted():
    other = {"test": "fig1.b"}
    rows = [ROW, ROW | NIGHT, ROW | other, ROW | NIGHT | other | {"status": "not reproduced"}]
    assert status.tried_again([*rows, ROW | {"test": "fig1.c"}]) == (2, 1)
