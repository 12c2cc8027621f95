"""A verdict that turns with the arithmetic is none."""

import pytest
from recorded import RECORDED

from repro.core import rows
from repro.core.suite import load
from repro.errors import UserError
from repro.files import read_json, write_json
from repro.products import records
from repro.verdicts import evidence
from repro.verdicts.claims import (
    TRAINING,
    Claim,
    Measurement,
    all_scales,
    below,
)
from repro.verdicts.verdict import (
    by_bound,
    doubted,
)

CLAIM = Claim("fig9.one", TRAINING, "It falls", "Figure 9", "slope", all_scales(below(0)))


def row(seen="agrees", **changes):
    measured = {"measured": -0.25, "low": -0.5, "high": -0.125, "n": 3}
    where = {"scale": "reduced", "data": "embedded", "claim": "fig9.one", "kind": "training"}
    return where | measured | {"seen": seen} | changes


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "ROOT", tmp_path)
    return tmp_path


def found(claim="fig9.one"):
    return evidence.of_claim("p", claim, "reduced", "embedded")


def test_what_a_claim_measured_is_read_back_and_kept_once():
    assert found() == []
    silent = row("", claim="fig9.reported")
    evidence.keep(
        "p", [row(), row(claim="fig9.two", low=None, high=None), silent], "nudged", "a" * 64
    )
    evidence.keep("p", [row("differs", measured=0.5, low=0.25, high=0.75)], "nudged", "b" * 64)
    evidence.keep("p", [row()], "portable", "c" * 64)
    assert [str(each) for each in found()] == [
        "nudged: differs, 0.5 [0.25, 0.75]",
        "portable: agrees, -0.25 [-0.5, -0.125]",
    ]
    assert [str(each) for each in found("fig9.two")] == ["nudged: agrees, -0.25"]
    assert found("fig9.reported") == []


def test_a_line_that_is_none_is_named(root):
    evidence.keep("p", [row()], "nudged", "a" * 64)
    file = root / evidence.second_path("p")
    file.write_text(file.read_text() + "reduced,embedded\n")
    with pytest.raises(UserError, match=r"second.csv, line 3: has 2 cells where 10 belong"):
        evidence.seconds("p")


@pytest.mark.parametrize("low", [-0.5, 0.5])
@pytest.mark.parametrize("seen", ["agrees", "differs", "inconclusive"])
def test_a_verdict_that_turns_cannot_be_told(low, seen):
    plain = by_bound(CLAIM, Measurement(low, low, low, 3), "reduced", embedded=False)
    evidence.keep("p", [row(seen)], "nudged (AMD)", "a" * 64)
    held = doubted(plain, evidence.turned(plain.seen, found()))
    assert doubted(plain, evidence.turned(plain.seen, [])) == plain
    if seen == plain.seen:
        assert held == plain
    else:
        assert (held.verdict, held.seen) == ("inconclusive", plain.seen)
        assert f"turns with the arithmetic, nudged (AMD): {seen}" in held.reason


def test_a_figure_of_another_arithmetic_is_kept_beside_the_records(root, monkeypatch):
    monkeypatch.setattr(records, "ROOT", root)
    monkeypatch.setattr(records, "RECORDS", root / "records")
    folder = root / "results" / "table" / "picture"
    (whole, *_) = read_json(RECORDED / "upscaling" / "fig9.json")["claims"]
    write_json(folder / "claims.json", [whole | row()])
    run = {"arithmetic": "nudged (AMD)", "device": "cpu", "commit": "0" * 40, "runs": 1}
    made = {"made": [run]}
    write_json(folder / "provenance.json", made)
    (folder / "data.csv").write_text("seed\n0\n")
    monkeypatch.setattr(records, "finished", lambda suite, name: folder)
    suite = load(["arithmetic=nudged", "figures=upscaling/fig9"])
    assert records.record(suite) == [root / "studies/upscaling/second.csv"]
    assert not (root / "records").exists()
    (kept,) = evidence.seconds("upscaling")
    assert (kept.arithmetic, kept.seen, kept.n) == ("nudged (AMD)", "agrees", "3")
