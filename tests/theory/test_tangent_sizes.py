"""What Part I says of kernels beside their power of n: components, M, n_out and n_patch."""

import numpy as np
import pytest
import torch
from golden import LANGUAGE, VISION
from test_transformer_kernels import CONTEXT

from repro.tasks import tangent_kernels, transformer_kernels
from widthwise import parametrization

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("measured_alone")]


IMAGES, WORDS = VISION | {"classes": 16}, LANGUAGE | {"vocab_size": 32}


@pytest.mark.parametrize(
    "model", [IMAGES, pytest.param(WORDS, marks=pytest.mark.slow), WORDS | {"causal": True}]
)
def test_kernels_are_diagonal_in_the_embedding_index(model):
    """Equations 1.35 and 1.117: two components have no kernel between them, in the mean.

    Of components in pairs, what their sum's kernel is above their difference's is twice that.
    """
    setting, draws, pairs = transformer_kernels.build(model, 32, 0), 60, 8
    generator = torch.Generator().manual_seed(1)
    found = {}
    for _ in range(draws):
        parametrization.plan(setting.network, None, transformer_kernels.PLAIN).init_(generator)
        for block, z in tangent_kernels.blocks(setting, setting.inputs, 2 * pairs, True):
            between = z[:, ::2] * z[:, 1::2]
            own = (z[:, ::2].square() + z[:, 1::2].square()) / 2
            of = [("forward", between.mean().item(), own.mean().item())]
            both = [
                tangent_kernels.parts(setting, (z[:, ::2] + sign * z[:, 1::2]) / 2**0.5)
                for sign in (1, -1)
            ]
            for part in both[0]:
                plus, minus = (np.diagonal(each[part][0]).mean() for each in both)
                of.append((part, (plus - minus) / 2, (plus + minus) / 2))
            for part, *values in of:
                found.setdefault((block, part), []).append(values)
    for key, values in found.items():
        between, own = np.mean(values, axis=0)
        noise = np.std([value[0] for value in values], ddof=1) / draws**0.5
        assert abs(between) < 4 * noise + 1e-6 * own, key
        assert 4 * noise < 0.3 * own, key


def output_parts(model, family, width=48, draws=24):
    """Part -> its size in the output's kernel with one rate, and with the factors."""
    rows = tangent_kernels.run(
        model=model,
        width=width,
        input_seed=0,
        draws=draws,
        channels=4,
        every_block=False,
        parametrization="neural-tangent, M",
        points=256,
        scrambles=2,
        seed=2,
        **CONTEXT,
    )
    value = {"sgd": "diagonal", "adam": "normalized"}[family]
    return {r["part"]: np.array([r[value], r[value] * r[family]]) for r in rows}


# Factor on a part of M times 4, and of n_out times 4, with one rate for all.
SIZES = {
    "M": ("expansion", 2, {"X": {"sgd": 4, "adam": 4}, "W": {"sgd": 1, "adam": 2}}),
    "n_out": ("classes", 4, {"head": {"sgd": 1, "adam": 2}, "bias": {"sgd": 1, "adam": 2}}),
}


@pytest.mark.parametrize("family", ["sgd", "adam"])
@pytest.mark.parametrize("size", SIZES)
def test_factors_undo_what_m_and_n_out_do(size, family):
    """Equations 1.99 to 1.116: a part has the stated power of M and n_out with one rate for all,
    and is free of them with the factors."""
    name, least, stated = SIZES[size]
    small, large = (output_parts(VISION | {name: n}, family) for n in (least, 4 * least))
    assert set(small) == set(large)
    for part in small:
        group = part.split(".")[0]
        ratios = large[part] / small[part]
        power = stated.get(group, {family: 1})[family]
        assert ratios == pytest.approx([power, 1], rel=0.3), part
