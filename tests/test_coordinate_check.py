import pytest

from repro.coordinate_check import coordinate_check, decoder_sizes

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
