"""What a user reads: every public object as a table, and that something long goes on."""

import pytest
import torch

import widthwise as ww
from benchmarks.zoo.small import mlp
from widthwise import printed
from widthwise.checks.coordinates import over_widths
from widthwise.checks.slopes import Measured
from widthwise.checks.sweep import Sweep

make = mlp(6, 4, hidden=0)


def _objects():
    """One of every class that is public."""
    import numpy as np

    model, inputs = make(8), torch.randn(2, 6)
    roles = ww.roles(make, 8, inputs)
    sizes = {("0", "output change"): 1.0}
    yield roles
    yield ww.plan(make(16), roles, "muP")
    yield ww.recipe("muP")
    yield ww.recipe("muP").optimizer
    yield over_widths(lambda width, seed: Measured(sizes), [8, 16], 2)
    yield ww.widen(model, None, 2, lambda k: make(8 * k), inputs)[2]
    losses = np.array([[2.0, 1.0, 2.0], [2.1, 1.1, 2.0]])
    sweep = Sweep(np.array([0.1, 0.2, 0.4]), (0, 1), losses)
    yield ww.Transfer({("SP", 8): sweep, ("SP", 16): sweep})


def test_every_public_object_is_printed_as_a_table():
    """Growths and Update were printed as Python writes them."""
    found = {type(each).__name__: str(each).splitlines() for each in _objects()}
    assert set(found) == {name for name in ww.PUBLIC if isinstance(getattr(ww, name), type)}
    for name, lines in found.items():
        assert len(lines) > 2 and max(map(len, lines)) < 120, name
        assert not any("object at" in line or "Growth(" in line for line in lines), name


def test_growth_says_what_became_of_a_tensor():
    growth = ww.widen(make(8), None, 2, lambda k: make(8 * k), torch.randn(2, 6))[2]
    rows = [line.split() for line in str(growth).splitlines()]
    assert ["2.weight", "1x2", "1", "0.5"] in rows and ["0.weight", "2x1", "-", "1"] in rows


def test_what_takes_more_than_two_seconds_says_so_on_stderr(capsys, monkeypatch):
    # The first is the time of the call; one that writes a line looks twice.
    times = iter([100.0, 101.9, 102.1, 102.1, 103.0, 104.2, 104.2])
    monkeypatch.setattr(printed.time, "monotonic", lambda: next(times))
    tell = printed.progress_printer(None)
    for line in ("early", "first", "soon", "second"):
        tell(line)
    assert capsys.readouterr() == ("", "first\nsecond\n")


@pytest.mark.parametrize("call", ["check", "transfer", "widen"])
def test_each_long_call_says_how_far_it_is(call, capsys, monkeypatch):
    monkeypatch.setattr(printed, "LATE", -1.0)
    inputs = torch.randn(2, 6)
    batches = [(inputs, inputs[:, :4])] * 5
    if call == "check":
        ww.coordinate_check(make, "muP", batches, [8, 16], seeds=1, steps=1)
    elif call == "widen":
        ww.widen(make(8), None, 2, lambda k: make(8 * k), inputs)
    else:
        ww.transfer(
            make, ["SP"], lambda seed: batches, [8, 16], tune={"lr": [0.05, 0.1, 0.2]}, seeds=2
        )
    out, err = capsys.readouterr()
    assert not out and len(err.splitlines()) >= 1


def test_a_function_of_ones_own_is_told_all_and_at_once():
    lines = []
    inputs = torch.randn(2, 6)
    batches = [(inputs, inputs[:, :4])]
    ww.coordinate_check(make, "muP", batches, [8, 16], seeds=2, steps=1, progress=lines.append)
    assert len(lines) == 4
