"""muP as it stands in code that is not run here, rebuilt from what was read: its initial values,
factors, rates and decay by kind of layer, on a small model."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn

from benchmarks._checkouts import ADAMW_RATE, BASE, Line, Made, Recipe, cross_entropy, text
from benchmarks._speed_runs import nanochat_644
from benchmarks._standard import adamw, hugging_face, matrices, scaled, slowed
from benchmarks.zoo.by_hand import Hand, by_hand, kind_of, walks
from benchmarks.zoo.networks import GPT2, Llama

DECAY = 0.1
# A readout that starts alike at every width, with a factor on its logits and a constant rate.
MUP = Hand(readout=-1.0, readout_std=0.5, readout_lr=0.0)


def rule(
    build: Callable[..., nn.Module], hand: Hand, decayed: tuple[str, ...], mended: Hand = MUP
) -> Callable[[Path], Made]:
    """A rule of powers of the width with AdamW; decayed: kinds of layers that weight decay is on.
    Its mend leaves initial values as they are."""

    def groups(model: Any, hand: Hand) -> list[dict]:
        found = hand.groups(model, model.width / BASE, ADAMW_RATE, DECAY)
        for group, (name, p) in zip(found, model.named_parameters(), strict=True):
            group["weight_decay"] *= kind_of(name, p) in decayed
        return found

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups(model, hand))

    def mend(model: Any, optimizer: torch.optim.Optimizer) -> None:
        model.factor = (model.width / BASE) ** mended.readout
        for group, right in zip(optimizer.param_groups, groups(model, mended), strict=True):
            group |= {"lr": right["lr"], "weight_decay": right["weight_decay"]}

    return lambda checkout: Made(by_hand(build, hand), optimizer, build, walks, cross_entropy, mend)


def hugging_face_mup(kind: str) -> Callable[[Path], Made]:
    """transformers' pull request 45848 on an installed model: as each module is drawn, its hidden
    matrix is divided by sqrt(m); the readout reads x / m; a matrix has a rate / m and a decay m."""

    def build(checkout: Path) -> Made:
        from transformers import PreTrainedModel
        from transformers.pytorch_utils import Conv1D

        plain = hugging_face(kind)(checkout)
        drawn = PreTrainedModel._initialize_weights

        def make(width: int) -> nn.Module:
            wider = width / BASE

            def initialize(model: Any, module: nn.Module, *more: Any) -> None:
                first = not getattr(module, "_is_hf_initialized", False)
                drawn(model, module, *more)
                hidden = isinstance(module, nn.Linear | Conv1D)
                if first and hidden and module is not model.get_output_embeddings():
                    module.weight.data *= wider**-0.5

            with mock.patch.object(PreTrainedModel, "_initialize_weights", initialize):
                model: Any = plain.make(width)
            model.lm_head.register_forward_pre_hook(lambda _, given: (given[0] / wider,))
            for module in model.modules():
                if hasattr(module, "scaling") and hasattr(module, "head_dim"):
                    module.scaling /= module.head_dim**0.5
            return model

        def optimizer(model: Any) -> torch.optim.Optimizer:
            found = adamw(DECAY)(model)
            within = matrices(model, "transformer.h." if kind == "GPT2" else "model.layers.")
            slowed(found, within, model.config.hidden_size / BASE)
            return found

        def mend(model: Any, optimizer: torch.optim.Optimizer) -> None:
            late = [p for n, p in model.named_parameters() if n.endswith("c_proj.weight")]
            scaled(late, (model.config.hidden_size / BASE) ** -0.5)

        wrong = mend if kind == "GPT2" else None
        return Made(make, optimizer, plain.make, text, cross_entropy, wrong)

    return build


TRANSFORMERS = "https://github.com/huggingface/transformers"
READ = "6fde9cbd3b2f9710cab3d99149893338416f14d0"
IN_REVIEW = (
    f"muP in review, [#45848]({TRANSFORMERS}/pull/45848) as of "
    f"[{READ[:7]}]({TRANSFORMERS}/tree/{READ}), rebuilt on this version"
)
OTHERS = {
    "transformers #45848, Llama": Recipe(
        "huggingface/transformers", "", IN_REVIEW, hugging_face_mup("Llama")
    ),
    "transformers #45848, GPT-2": Recipe(
        "huggingface/transformers",
        "",
        IN_REVIEW,
        hugging_face_mup("GPT2"),
        (
            Line(
                "src/transformers/models/gpt2/modeling_gpt2.py",
                (445, 448),
                "attention and MLP draw their `c_proj` when their turn comes, which is after its "
                "own, so that the division by sqrt(m) that the request puts into "
                "`_initialize_weights` is lost. The request alone is right: GPT-2 draws `c_proj` "
                f"so since [#47459]({TRANSFORMERS}/pull/47459), merged after it was opened",
                "at four times the width, what a block adds at the start is twice as large",
                "the division once all modules are drawn",
            ),
        ),
    ),
    "Megatron-LM": Recipe(
        "NVIDIA/Megatron-LM",
        "d98e8a64ddf34856e74b24714e3bedb2f5a39553",
        "muP for widths ([#3058](https://github.com/NVIDIA/Megatron-LM/pull/3058)), rebuilt",
        rule(GPT2, replace(MUP, decay=0.0), ("embedding", "hidden", "readout")),
        (
            Line(
                "megatron/core/optimizer/__init__.py",
                (198, 268),
                "hidden layers' rate falls as 1/width, and what a step's decay takes away is rate "
                "times decay, so that it fades as 1/width. Whether it should is an open question. "
                "Forward pass, initial values and rates are muP's",
                "at four times the width, a step's decay takes away a quarter as much",
                "`wd_mult`, the width over the base's, in the same override",
            ),
        ),
        rebuilt=True,
    ),
    "levanter #1231": Recipe(
        "marin-community/levanter",
        "2f8a58a16f862fd998d03a1a130c2a0e0fe3e084",
        "muP in review ([#1231](https://github.com/marin-community/levanter/pull/1231)), its Llama "
        "rebuilt",
        rule(Llama, replace(MUP, readout=0.0, hidden_lr=0.0), ("hidden", "readout")),
        (
            Line(
                "src/levanter/optim/mup.py",
                (37,),
                "`is_leaf` is true of the module itself, so that JAX does not go into it, and no "
                "update is scaled: all layers have one rate",
                "at four times the width, a step moves what a matrix returns four times as much",
                "go into the module; a weight decay times the width then, since the same scale is "
                "put on it",
            ),
            Line(
                "src/levanter/models/llama.py",
                (634,),
                "the loss of training (`compute_next_token_loss`, read in main at 9263f81) takes "
                "the readout's weight from here, without the factor of 1/width that `__call__` has",
                "at four times the width, logits are twice as large at the start, and a step moves "
                "them four times as much; samples come from other logits than were trained",
                "the weight times `reparam.active_scale`",
            ),
        ),
        rebuilt=True,
    ),
    "nanochat #644": Recipe(
        "karpathy/nanochat",
        "5c92dd02cb7d5da3d9d95086a979523c6b7c9d4c",
        "muP in review ([#644](https://github.com/karpathy/nanochat/pull/644))",
        nanochat_644,
        (
            Line(
                "nanochat/gpt.py",
                (228, 254),
                "value embeddings start as width^-1/2. Their rate is constant, and the first step "
                "outweighs the start",
                "at four times the width, they add half as much to attention's values at the start",
                "a constant start",
                trained=False,
            ),
        ),
    ),
}
