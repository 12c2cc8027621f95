import pytest

from repro.checks.coordinate_check import check, model_sizes
from repro.checks.tiny import MODELS, tiny_run
from widthwise.checks.slopes import fit_slopes

pytestmark = pytest.mark.long

WIDTHS = [64, 128, 256, 512]


@pytest.fixture(scope="module")
def slopes():
    return {
        name: fit_slopes(model_sizes(*tiny_run("decoder", name)[:2], steps=4), WIDTHS, range(3))
        for name in ("muP", "SP")
    }


def test_mup_changes_every_layer_equally_at_every_width(slopes):
    changes = [s for s in slopes["muP"] if s.quantity == "change"]
    assert len(changes) == 10
    assert {s.verdict for s in changes} == {"stable"}


def test_standard_parametrization_blows_up(slopes):
    changes = {s.layer: s for s in slopes["SP"] if s.quantity == "change"}
    assert changes.pop("embedding").verdict == "stable"
    assert {s.verdict for s in changes.values()} == {"grows"}


def test_slopes_and_verdicts_of_known_laws():
    def sizes(width, seed):
        noise = 1 + 0.01 * seed
        return {
            ("flat", "change"): noise,
            ("grows", "change"): noise * width,
            ("vanishes", "change"): noise / width**0.5,
        }

    found = {s.layer: s for s in fit_slopes(sizes, WIDTHS, range(3))}
    assert {name: s.verdict for name, s in found.items()} == {
        "flat": "stable",
        "grows": "grows",
        "vanishes": "vanishes",
    }
    assert found["grows"].slope == pytest.approx(1)
    assert found["vanishes"].slope == pytest.approx(-0.5)


SGD = {"name": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 0.0, "clip": None}


@pytest.mark.parametrize(
    ("model", "optimizer", "lr"),
    [
        ("mlp", SGD, 0.2),
        ("mlp", None, 0.02),
        ("resnet", SGD, 0.02),
        ("gpt2", SGD, 0.1),
        ("gpt2", None, 0.02),
    ],
)
def test_upscaling_s_models_change_equally_at_every_width(model, optimizer, lr):
    """Slopes of every layer's change: near 0 under muP, up to 1 and more in the standard one.

    0.35: GPT-2's first logits, of a tied embedding, fall as n^-1/2 to nothing.
    """

    def slopes(name):
        task, spec, widths = tiny_run(model, name)
        spec = spec | {"lr": lr} | ({"optimizer": optimizer} if optimizer else {})
        found = fit_slopes(model_sizes(task, spec, steps=4), widths, range(3))
        return [layer.slope for layer in found if layer.quantity == "change"]

    assert max(map(abs, slopes("muP-multiplier"))) < 0.35
    assert max(slopes("SP")) > 0.6


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_checked(model):
    """Two widths, two steps: layers of the model itself, none of which stays where it was."""
    found = check("SP", model, tiny_run(model, "SP")[2][:2], steps=2, seeds=2)
    assert len(found.slopes) > 5 and found.reason in str(found)
    assert not any("-inf" in line or "nan" in line for line in str(found).splitlines())
