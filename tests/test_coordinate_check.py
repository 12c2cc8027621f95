import pytest
import torch

from repro.checks.coordinate_check import coordinate_check, decoder_sizes, model_sizes

WIDTHS = [64, 128, 256, 512]


@pytest.fixture(scope="module")
def slopes():
    return {
        name: coordinate_check(decoder_sizes(name, steps=4, lr=0.5), WIDTHS, range(3))
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

    found = {s.layer: s for s in coordinate_check(sizes, WIDTHS, range(3))}
    assert {name: s.verdict for name, s in found.items()} == {
        "flat": "stable",
        "grows": "grows",
        "vanishes": "vanishes",
    }
    assert found["grows"].slope == pytest.approx(1)
    assert found["vanishes"].slope == pytest.approx(-0.5)


def rows(generator):
    labels = torch.randint(4, (64,), generator=generator)
    return torch.randn(64, 6, generator=generator), labels


def images(generator):
    labels = torch.randint(4, (32,), generator=generator)
    return torch.randn(32, 3, 8, 8, generator=generator), labels


def tokens(generator):
    drawn = torch.randint(64, (8, 17), generator=generator)
    return drawn[:, :-1], drawn[:, 1:]


SGD = {"name": "sgd", "momentum": 0.9, "nesterov": False}
ADAMW = {"name": "adamw", "betas": (0.9, 0.95), "eps": 1e-12}
MODELS = {
    "mlp": (
        {"inputs": 6, "classes": 4, "hidden_layers": 3, "base_width": 64},
        rows,
        WIDTHS,
    ),
    "resnet": ({"classes": 4, "base_width": 1 / 16}, images, [1 / 16, 1 / 8, 1 / 4]),
    "gpt2": (
        {
            "depth": 2,
            "heads": 2,
            "base_width": 32,
            "attention_constant": 4.0,
            "embedding_std": 0.5,
            "vocab_size": 64,
            "sequence_length": 16,
        },
        tokens,
        [32, 64, 128, 256],
    ),
}


@pytest.mark.parametrize(
    ("model", "optimizer", "lr"),
    [
        ("mlp", SGD, 0.2),
        ("mlp", ADAMW, 0.02),
        ("resnet", SGD, 0.02),
        ("gpt2", SGD, 0.1),
        ("gpt2", ADAMW, 0.02),
    ],
)
def test_upscaling_s_models_change_equally_at_every_width(model, optimizer, lr):
    """Slopes of every layer's change: near 0 under muP, up to 1 and more in the standard one.

    0.35: GPT-2's first logits, of a tied embedding, fall as n^-1/2 to nothing.
    """
    settings, batch, widths = MODELS[model]
    settings = {"name": model, **settings}

    def slopes(name):
        sizes = model_sizes(settings, name, optimizer, batch, steps=4, lr=lr)
        found = coordinate_check(sizes, widths, range(3))
        return [layer.slope for layer in found if layer.quantity == "change"]

    assert max(map(abs, slopes("muP-multiplier"))) < 0.35
    assert max(slopes("SP")) > 0.6
