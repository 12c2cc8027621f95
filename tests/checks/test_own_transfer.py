"""Tuned narrow, trained wide: the comparison on a model of one's own."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refused
from torch import nn

import widthwise
from benchmarks.zoo import users
from benchmarks.zoo.users import RATES, batches, make
from widthwise.__main__ import main
from widthwise.checks.regret import Comparison
from widthwise.checks.sweep import Sweep
from widthwise.checks.transfer import Transfer


def compare(*recipes, rates=RATES, **options):
    settings = {"widths": [8, 32], "tune": {"lr": rates}, "seeds": 2} | options
    return widthwise.transfer(make, recipes, batches, **settings)


def test_the_narrow_model_is_trained_once_and_the_wide_ones_as_their_table_says():
    told = []
    found = compare("SP", "muP", progress=told.append)
    assert isinstance(found, Comparison)
    runs = "the narrow model, width 8", "SP, width 32", "muP, width 32"
    assert told == [f"transfer: {each}" for each in runs]
    assert (found.curves["SP", 8].losses == found.curves["muP", 8].losses).all()
    assert (found.curves["SP", 32].losses != found.curves["muP", 32].losses).any()
    again = compare("muP")
    assert (again.curves["muP", 32].losses == found.curves["muP", 32].losses).all(), "seeded"
    lines = str(found).splitlines()
    assert lines[0].startswith(f"tuned at width 8: best rate {found.proxy_rate():.3g}")
    assert [line.split()[0] for line in lines[3:5]] == ["SP", "muP"]


def test_seeds_that_have_the_same_data_are_said():
    same = widthwise.transfer(
        make, ["muP"], lambda seed: batches(0), [8, 16], tune={"lr": RATES}, seeds=2
    )
    assert "batches gives every seed the same data" in str(same)
    assert "the same data" not in str(compare("muP"))


def test_its_losses_are_those_of_a_plain_loop():
    """Without the library: torch's AdamW, the same schedule, the mean over the last fifth."""
    found = compare("SP")
    torch.manual_seed(1)
    model = make(8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATES[1], weight_decay=0.0)
    losses = []
    for step, (x, y) in enumerate(batches(1)):
        optimizer.param_groups[0]["lr"] = RATES[1] * (1.0 if step < 1 else (10 - step) / 9)
        optimizer.zero_grad()
        value = nn.functional.mse_loss(model(x), y)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    expected = sum(losses[-2:]) / 2
    assert found.curves["SP", 8].losses[1, 1] == pytest.approx(expected, rel=1e-5)


def test_a_run_that_diverges_is_infinitely_bad():
    found = compare("SP", rates=[*RATES[:2], 1e30])
    assert math.isinf(found.curves["SP", 32].losses[0, -1])
    assert "SP, width 32: 1e+30 (seed 1000), 1e+30 (seed 1001)" in str(found)


def test_a_rate_at_which_one_seed_diverged_is_none_to_choose(tmp_path):
    """Found in review: a regret of -inf, beside "nothing to lose"."""
    rates, inf = np.array(RATES), math.inf
    narrow = Sweep(rates, (0, 1), np.array([[-1.0, -1.2, -1.1], [-1.1, inf, inf]]))
    wide = Sweep(rates, (1000, 1001), np.array([[-1.3, -1.6, inf], [-1.2, -1.5, -1.7]]))
    found = Transfer({("SP", 8): narrow, ("SP", 32): wide})
    assert found.regret("SP", 32) == pytest.approx([0.3, 0.3])
    said = str(found)
    assert "SP, width 32: 0.125 (seed 1000)" in said and "of one difference" in said
    found.plot(str(tmp_path / "found.png"))
    assert (tmp_path / "found.png").stat().st_size


def test_a_schedule_of_one_s_own_multiplies_rates():
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR
    found, plain = compare("muP", schedule=cosine), compare("muP")
    assert (found.curves["muP", 32].losses != plain.curves["muP", 32].losses).all()
    with refused("schedule sets rates of groups apart"):
        compare("muP", schedule=lambda optimizer, steps: cosine(optimizer, steps, eta_min=0.01))


@pytest.mark.parametrize(
    ("batches", "loss", "said"),
    [
        (lambda seed: (each for each in batches(seed)), None, "batches: is a generator: give a l"),
        (torch.utils.data.DataLoader(batches(0)), None, "batches: is a DataLoader: give a list"),
        (batches(0)[0], None, "and holds a Tensor"),
        (batches, nn.functional.mse_loss, r"loss takes \(model, batch\): lambda model, batch: mi"),
    ],
)
def test_what_is_given_in_another_form_is_told_in_which(batches, loss, said):
    with refused(said):
        widthwise.transfer(make, ["muP"], batches, [8, 16], loss=loss)


def test_a_picture_asks_for_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with refused(r"plot: needs matplotlib: .*widthwise\[plot\]"):
        compare("muP").plot("found.png")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"widths": [8]}, "1 widths: give 2 or more"),
        ({"seeds": 1}, "1 seeds: give 2 or more"),
        ({"rates": [0.1, 0.1, 0.2]}, "2 rates: give 3 or more"),
    ],
)
def test_too_few_of_anything_is_said(change, said):
    with refused(said):
        compare("SP", **change)
    with refused("0 recipes"):
        compare()


def test_settings_of_ones_own_are_counted_each():
    """Of two that are the same as the whole, one that learns nothing, and one by rates of its own:
    each as a call of its own finds it."""
    own = [2.0**k for k in (-9, -7, -5)]
    settings = [{}, {"tune": {"lr": [1e-9, 2e-9, 3e-9]}}, {"tune": {"lr": own}}]
    found = compare("SP", "muP", settings=settings)
    same, nothing, other = found.settings
    assert (same.curves["SP", 32].losses == found.curves["SP", 32].losses).all()
    assert "has learned nothing" in str(nothing)
    apart = compare("SP", "muP", rates=own)
    assert (other.curves["muP", 32].losses == apart.curves["muP", 32].losses).all()
    for name in ("SP", "muP"):
        number = found.transfers(name) + apart.transfers(name)
        assert f"{name}: the rate transfers in {number} of 3 settings" in str(found)
    assert "none to carry on: transfer: the narrow model" in str(found)
    assert "settings" not in str(compare("SP"))


@pytest.mark.parametrize(("place", "there"), [(1, True), (2, True), (3, False), (4, False)])
def test_a_rate_transfers_where_the_best_is_the_same_or_next_to_it(place, there):
    """Of five rates the narrow model's best is the second; the last is an edge."""
    rates = np.array([2.0**k for k in range(-5, 0)])

    def sweep(best):
        losses = np.abs(np.arange(5) - best)[None] + np.array([[0.0], [0.1]])
        return Sweep(rates, (0, 1), losses)

    found = Transfer({("SP", 8): sweep(1), ("SP", 32): sweep(place)})
    assert found.transfers("SP") is there
    assert not Transfer({("SP", 8): sweep(0), ("SP", 32): sweep(0)}).transfers("SP")


def test_settings_are_drawn_by_a_function_of_their_number():
    def drawn(number):
        return {"seeds": 2 + number} if number < 2 else None

    found = compare("muP", settings=drawn)
    assert [len(each.seeds) for each in found.settings] == [2, 3]
    for wrong, said in (({"steps": 3}, "takes no 'steps'"), ("deep", "is 'deep': give")):
        with refused(said):
            compare("muP", settings=[wrong])
    with refused("1 seeds: give 2 or more"):
        compare("muP", settings=[{"seeds": 1}])


FILE = Path(users.__file__).read_text()


def test_the_command_compares_what_a_file_defines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(FILE)
    assert main(["transfer", "model.py", "SP", "muP", "--seeds", "2"]) == 0
    assert "at width 16, losses and 95 % intervals:" in capsys.readouterr().out
    (tmp_path / "model.py").write_text(FILE + "\nSETTINGS = [{'seeds': 2}]\n")
    assert main(["transfer", "model.py", "SP", "--seeds", "2"]) == 0
    assert "of 1 settings" in capsys.readouterr().out
    (tmp_path / "model.py").write_text(FILE + "\nbatches = batches(0)\n")
    assert main(["transfer", "model.py", "SP", "muP"]) == 1
    assert "batches must be a function of the seed" in capsys.readouterr().err
    assert main(["transfer", "model.py", "SP", "muP", "--threads", "0"]) == 1
    assert "--threads 0: give 1 or more" in capsys.readouterr().err


def test_the_command_trains_with_one_thread_unless_more_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saw = """
def make(width, made=make):
    open("threads", "a").write(f"{torch.get_num_threads()} ")
    return made(width)
"""
    (tmp_path / "model.py").write_text(FILE + saw)
    before = torch.get_num_threads()
    try:
        for words, expected in (([], {"1"}), (["--threads", "2"], {"2"})):
            (tmp_path / "threads").unlink(missing_ok=True)
            assert main(["transfer", "model.py", "SP", "muP", "--seeds", "2", *words]) == 0
            assert set((tmp_path / "threads").read_text().split()) == expected
    finally:
        torch.set_num_threads(before)
