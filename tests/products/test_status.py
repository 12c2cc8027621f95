"""One status a claim."""

import pytest

from repro.products import status

ROW = {
    "paper": "p",
    "claim": "fig1.one",
    "kind": "training",
    "scale": "reduced",
    "data": "embedded",
    "binds": True,
    "registered": "not registered",
    "verdict": "reproduced",
}
REGISTERED = {"registered": "registered before"}
NIGHT = {"scale": "overnight"}


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([{}], "reproduced"),
        ([{}, NIGHT | {"verdict": "inconclusive"}], "inconclusive"),
        ([REGISTERED, NIGHT | {"verdict": "inconclusive"}], "reproduced"),
        ([REGISTERED, REGISTERED | NIGHT | {"verdict": "inconclusive"}], "inconclusive"),
        ([{}, NIGHT | {"binds": False, "verdict": "needs a larger scale"}], "reproduced"),
        ([{}, {"data": "embedded+covtype=real", "verdict": "inconclusive"}], "reproduced"),
        ([{}, {"data": "embedded+covtype=real", "verdict": "not reproduced"}], "not reproduced"),
    ],
)
def test_the_strongest_record_gives_a_claim_its_status(rows, word):
    (found,) = status.statuses([ROW | row for row in rows])
    assert found["verdict"] == word
    (backwards,) = status.statuses([ROW | row for row in reversed(rows)])
    assert backwards["verdict"] == word


def test_claims_that_were_tried_again_are_counted():
    rows = [ROW, ROW | NIGHT, ROW | {"claim": "b"}, ROW | NIGHT | {"claim": "b", "verdict": "x"}]
    assert status.tried_again([*rows, ROW | {"claim": "c"}]) == (2, 1)
