"""Scripts of examples/ run as they stand and show what they say."""

import re
import runpy

import pytest

from repro.suite.registry import ROOT


def printed(name, capsys):
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.slow  # seconds of training
def test_the_mlp_s_best_rate_transfers_under_mup_alone(capsys):
    out = printed("mlp", capsys)
    best = re.findall(r"^(\w+) +width +(\d+) .* best ([0-9.]+)$", out, re.M)
    rates = {(name, width): float(rate) for name, width, rate in best}
    assert rates["muP", "64"] == rates["muP", "512"]
    assert rates["SP", "512"] < rates["SP", "64"]


@pytest.mark.slow  # imports transformers
def test_gpt2_has_a_tied_readout_groups_by_width_and_learns(capsys):
    out = printed("gpt2", capsys)
    assert "embedding, tied" in out and "is a readout too" in out
    rates = {float(rate) for rate in re.findall(r"tensors +lr (\S+)", out)}
    assert rates == {0.003, 0.00075}
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)$", out, re.M)]
    assert losses[-1] < losses[0] - 0.5


@pytest.mark.slow  # imports torchvision
def test_the_resnet_widens_as_it_trains_until_noise_sets_it_free(capsys):
    out = printed("resnet", capsys)
    found = {
        name.strip(): [float(x) for x in rest.split()]
        for name, rest in re.findall(r"^((?:narrow|wide), [a-z ]*[a-z]) +([0-9. ]+)$", out, re.M)
    }
    assert found["wide, the same steps"] == pytest.approx(found["narrow, as it was"], abs=2e-3)
    assert len(found["wide, set free"]) == 4


def test_examples_are_all_run():
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert scripts == {"mlp", "gpt2", "resnet"}
