"""A network that the paper does not have is added in a study alone: the kernel figures show it."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from golden import VISION
from refusals import refused
from test_transformer_kernels import CONTEXT

from repro.lineage.checkout import ROOT
from repro.models import ARCHITECTURES
from repro.tasks import TASKS, named_network, tangent_kernels, transformer_kernels
from widthwise import parametrization

pytestmark = pytest.mark.usefixtures("measured_alone")
WORDS = {"samples": 2, "vocab_size": 16, "sequence_length": 3, "base_width": 8}
GPT2 = {"name": "gpt2", **WORDS, "depth": 1, "heads": 2}
GPT2 |= {"attention_constant": 4.0, "embedding_std": 0.5}
DECODER = {"name": "decoder", **WORDS, "depth": 1, "head_dim": 4, "expansion": 2, "norm": "pre"}
DECODER |= {"positional_rms": {"factor": 1.0, "power": 0.0}}
LLM = {"name": "llm", **WORDS, "depth": 1, "heads": 2, "kv_heads": 1, "head_dim": 4}
LLM |= {"rotary_dim": 2, "window": 2, "inner": 16}
MLP = {"name": "mlp", "samples": 2, "inputs": 6, "classes": 4, "hidden_layers": 2, "base_width": 8}
VIT = {key: value for key, value in VISION.items() if key != "kind"}
VIT |= {"name": "vit", "depth": 1, "base_width": 1}
SIZES = {"input_seed": 0, "points": 16, "scrambles": 2, "seed": 0, **CONTEXT}


def measured(model, strategy):
    kernels = transformer_kernels.run(model=model, width=16, draws=20, **SIZES)
    tangents = tangent_kernels.run(
        model=model,
        width=16,
        draws=2,
        channels=2,
        every_block=True,
        parametrization=strategy,
        **SIZES,
    )
    return kernels, tangents


@pytest.mark.parametrize("model", [GPT2, DECODER, LLM, MLP, VIT], ids=lambda model: model["name"])
@pytest.mark.parametrize("strategy", ["neural-tangent", "muP"])
def test_kernels_of_any_model_of_one_output_are_measured(model, strategy):
    kernels, tangents = measured(model, strategy)
    for record in kernels:
        assert record["expected"] == [] and record["accuracy"] is None
        assert np.isfinite(record["mean"]).all()
    blocks = {record["block"] for record in tangents}
    norms = 0 if model["name"] == "mlp" else 3
    assert blocks == set(range(1, norms + 2)) if norms else {1}
    setting = transformer_kernels.build(model, 16, 0, strategy)
    held = {part for parts in setting.groups.values() for part in parts}
    extra = {"stem", "head"} if ARCHITECTURES[model["name"]].tied else set()
    assert {record["part"] for record in tangents} <= held | extra
    assert TASKS["tangent_kernels"].cost({"model": model}).flops == 0
    json.dumps([kernels, tangents], allow_nan=False)


def test_a_vit_by_its_name_has_the_kernels_that_theory_is_held_against():
    known = transformer_kernels.build(VISION | {"depth": 1}, 16, 0)
    named = replace(transformer_kernels.build(VIT, 16, 0), inputs=known.inputs)
    found = []
    for setting in (known, named):
        stack = transformer_kernels.Draws(setting.network, 3)
        generator = torch.Generator().manual_seed(0)
        parametrization.plan(stack, None, transformer_kernels.PLAIN).init_(generator)
        found.append(transformer_kernels.kernels(setting, stack.forward(setting.inputs))[0])
    assert list(found[0]) == list(found[1])
    assert all(torch.equal(found[0][key], found[1][key]) for key in found[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "gpt3"}, "name 'gpt3': did you mean 'gpt2'"),
        ({"depht": 1}, "model gpt2: .*unexpected keyword argument 'depht'"),
        ({"base_width": None}, "model gpt2: "),
        ({"name": "bart"}, "model bart: "),
    ],
)
def test_a_model_that_cannot_be_measured_is_named(change, message):
    with refused(message):
        transformer_kernels.build(GPT2 | change, 8, 0)
    with refused("'hybrid, M' needs fan_out, which the role of attention.0"):
        transformer_kernels.build(GPT2, 8, 0, "hybrid, M")
    missing = {key: value for key, value in GPT2.items() if key != "base_width"}
    with refused("model gpt2: its settings have no 'base_width'"):
        transformer_kernels.build(missing, 8, 0)


def test_parts_are_named_after_parameters():
    assert named_network.part("attention.1.qkv.weight") == "attention qkv.1"
    assert named_network.part("output.bias") == "output bias"
    assert named_network.part("final_norm.weight") == "final_norm"


PLAIN = {"parametrization": "neural-tangent"}
PAGE = (ROOT / "studies/effective_theory/notes.md").read_text()
FURTHER = re.search(r"```\n(FURTHER = .*?)```", PAGE, re.S)[1]  # the page's, and two more
FURTHER += f"FURTHER += [{{'model': {MLP | PLAIN}}}, {{'model': {LLM | PLAIN}}}]\n"
FIGURES = ("kernels", "tangent_kernels")


@pytest.mark.slow
def test_further_networks_of_a_study_are_built_and_drawn(clone):
    """From the study alone, in a copy, with the commands that Snakemake calls."""
    study = clone / "studies/effective_theory/_encoders.py"
    text = study.read_text()
    assert "FURTHER: list[dict] = []" in text
    study.write_text(text.replace("FURTHER: list[dict] = []\n", FURTHER))
    words = [
        "--config",
        "scale=smoke",
        "figures=effective_theory/kernels,effective_theory/tangent_kernels",
    ]
    for name in FIGURES:
        given = [f"effective_theory/{name}", *words]
        for command in ("run", "make", "publish"):
            done = subprocess.run(
                [sys.executable, "-P", "-m", "repro", command, *given],
                cwd=clone,
                env={"PYTHONPATH": str(clone), "PATH": "/usr/bin:/bin", "HOME": str(clone)},
                text=True,
                capture_output=True,
            )
            assert done.returncode == 0, done.stderr
            if command == "make":  # it says where
                given = done.stdout.splitlines()[-1:]
        assert (clone / f"figures/effective_theory/{name}.pdf").exists()
