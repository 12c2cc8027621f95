import math

import numpy as np
import pytest
from parameters import kept
from tiny import MODELS, model_sizes, tiny_run

from widthwise.checks.coordinates import over_widths
from widthwise.checks.slopes import Measured, fit_slopes

pytestmark = pytest.mark.long

WIDTHS = [64, 128, 256, 512]


def checked(parametrization, model, widths=None, steps=4, seeds=4):
    """The check of a model of the suite over widths, None for its own."""
    task, spec, its_widths = tiny_run(model, parametrization)
    return over_widths(model_sizes(task, spec, steps=steps), widths or its_widths, seeds)


def test_mup_does_the_same_at_every_width_and_the_standard_one_blows_up():
    """Of SP the last block changes the more, the wider; what goes into the first does not."""
    assert checked("muP", "decoder").passed
    found = checked("SP", "decoder")
    changes = {s.layer: s.verdict for s in found.slopes if s.quantity == "stream change"}
    assert found.verdict == "wrong"
    assert changes["embedding"] == "right" and changes["mlp.1"] == "grows"


def known(laws, extents=None):
    """measure: of sizes that are width^power, with a little noise."""

    def measure(width, seed):
        noise = 1 + 0.01 * seed
        sizes = {key: noise * width**power for key, power in laws.items()}
        return Measured(sizes, {key: int(width**p) for key, p in (extents or {}).items()})

    return measure


def test_slopes_and_verdicts_of_known_laws():
    laws = {("flat", "effect"): 0, ("grows", "effect"): 1, ("vanishes", "effect"): -0.5}
    slopes, measured = fit_slopes(known(laws), [1, 2, 4, 8], range(3))
    found = {s.layer: s for s in slopes}
    assert {name: s.verdict for name, s in found.items()} == {
        "flat": "right",
        "grows": "grows",
        "vanishes": "vanishes",
    }
    assert found["grows"].slope == pytest.approx(1)
    assert found["vanishes"].slope == pytest.approx(-0.5)
    assert len(measured) == 12
    wide, _ = fit_slopes(known(laws), [1, 2, 4, 8], range(3), tolerance=0.6)
    assert {s.layer: s.verdict for s in wide}["vanishes"] == "right"


@pytest.mark.parametrize(
    ("quantity", "grows", "power", "verdict"),
    [
        ("stream change", ("stream", 1), -0.5, "vanishes"),
        ("stream change", ("stream", 0), 1, None),  # a readout's layer is not judged
        ("logits start", ("logits", 0), 0, "right"),  # heads grow
        ("logits start", ("logits", 1), 0, "grows"),  # 1/sqrt(head_dim), head_dim grows
        ("logits start", ("logits", 1), -0.5, "right"),
        ("logits change", ("logits", 1), -0.8, "right"),  # noise
        ("logits change", ("logits", 1), 0.5, "grows"),
        ("output change", ("output", 0), -0.9, "vanishes"),
        ("output size", ("output", 0), -0.5, "right"),
    ],
)
def test_every_quantity_has_its_law(quantity, grows, power, verdict):
    what, extent = grows
    measure = known({("a", quantity): power}, {("a", what): extent})
    slopes, _ = fit_slopes(measure, [1, 2, 4, 8], range(3))
    assert [s.verdict for s in slopes] == ([] if verdict is None else [verdict])


def test_an_interval_that_reaches_a_wrong_law_is_unclear():
    def measure(width, seed):
        return Measured({("a", "effect"): width ** (0.6 * (seed - 1))})

    slopes, _ = fit_slopes(measure, [1, 2, 4], range(3))
    assert slopes[0].slope == pytest.approx(0) and slopes[0].verdict == "unclear"
    few, _ = fit_slopes(known({("a", "effect"): 0}), [1, 2, 4], range(1))
    assert few[0].verdict == "unclear"  # one seed has no interval


def test_of_many_noisy_slopes_hardly_a_check_in_twenty_calls_one_wrong():
    rng, names = np.random.default_rng(0), [(f"{i}", "effect") for i in range(40)]

    def measure(width, seed):
        return Measured({name: math.exp(rng.normal()) for name in names})

    checks = [fit_slopes(measure, [1, 2, 4, 8], range(3))[0] for _ in range(20)]
    assert sum(any(s.verdict in ("grows", "vanishes") for s in each) for each in checks) <= 3


@pytest.mark.parametrize(("wide", "verdict"), [(0.0, "unclear"), (-0.3, "vanishes")])
def test_what_bends_to_its_law_over_the_wider_half_is_not_called_wrong(wide, verdict):
    """It falls as the width to 4, then by `wide`."""

    def measure(width, seed):
        bent = min(width, 4) ** -1.0 * max(width / 4, 1) ** wide
        return Measured({("a", "effect"): bent * (1 + 0.001 * seed * width**0.1)})

    (found,), _ = fit_slopes(measure, [1, 2, 4, 8], range(3))
    assert found.slope < -0.25 and found.wider == pytest.approx(wide, abs=0.01)
    assert found.verdict == verdict


SGD = {"name": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 0.0, "clip": None}


TRAINED_SO = {
    "mlp, SGD": ("mlp", SGD, 0.2),
    "mlp, Adam": ("mlp", None, 0.02),
    "resnet, SGD": ("resnet", SGD, 0.02),
    "gpt2, SGD": ("gpt2", SGD, 0.1),
    "gpt2, Adam": ("gpt2", None, 0.02),
}


@pytest.mark.parametrize("name", kept(TRAINED_SO, first=2))
def test_upscaling_s_models_do_the_same_at_every_width(name):
    model, optimizer, lr = TRAINED_SO[name]

    def found(parametrization):
        task, spec, widths = tiny_run(model, parametrization)
        spec = spec | {"lr": lr} | ({"optimizer": optimizer} if optimizer else {})
        return over_widths(model_sizes(task, spec, steps=4), widths, 6)

    assert found("muP-multiplier").verdict == "right"
    assert found("SP").verdict == "wrong"


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_checked(model):
    """Two widths, two steps: layers of the model itself, none of which stays where it was."""
    found = checked("SP", model, tiny_run(model, "SP")[2][:2], steps=2, seeds=2)
    assert len(found.slopes) > 5 and found.reason in str(found)
    assert not any("-inf" in line or "nan" in line for line in str(found).splitlines())
