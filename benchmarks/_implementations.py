"""Twenty right and twenty wrong implementations of muP, written by hand or by the library.

Each is what a user would have: `make(width)`, an optimizer for it, data. The wrong ones are slips
as they are made, some in public code. By turns half of each family were looked at while the check's
laws and thresholds were set, and half were held apart. Those showed two laws that were missing: ten
more were written then, and not looked at before the laws stood.
"""

# mypy: disable-error-code="union-attr,operator,arg-type"
# torch types an attribute of a module as Tensor | Module.

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import nn

import widthwise
from benchmarks.zoo.by_hand import (
    BASE,
    WIDTHS,
    Hand,
    by_hand,
    images,
    kind_of,
    optimizer_by_hand,
    rows,
    vectors,
    walks,
)
from benchmarks.zoo.networks import GPT2, GRU, MLP, Cell, Encoder, Llama, ResNet, hf_gpt2, hf_llama


@dataclass(frozen=True)
class Implementation:
    """What is checked, and what is wrong with it.

    recipe: (parametrization, optimizer), or None where `optimizer` is a function of the model.
    slip: what was done wrong, "" for a right one. options: of `widthwise.coordinate_check`.
    part: "developed" on, "held" apart until thresholds were set, "fresh": written when what held
    showed was mended, "public": a slip that public code had, and the thread about it.
    """

    family: str
    name: str
    make: Callable[[int], nn.Module]
    batches: Callable[[int], list]
    recipe: tuple[str, str] | None = None
    slip: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    part: str = "developed"

    def check(self, **more: Any) -> widthwise.CoordinateCheck:
        """The coordinate check of it, with the settings that all share."""
        options = {"widths": WIDTHS} | self.options | more
        recipe = None if self.recipe is None else widthwise.recipe(*self.recipe)
        return widthwise.coordinate_check(self.make, recipe, self.batches, **options)


def with_mup(width: int) -> nn.Module:
    """An MLP as the mup package has it."""
    import mup

    def build(n: int) -> nn.Module:
        return nn.Sequential(
            nn.Linear(6, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(), mup.MuReadout(n, 4)
        )

    model = build(width)
    mup.set_base_shapes(model, build(BASE), delta=build(2 * BASE))
    return model


def mup_adamw(model: nn.Module, lr: float = 0.01, kind: str = "MuAdamW", **more: Any):
    """The mup package's optimizer."""
    import mup

    return getattr(mup, kind)(model.parameters(), lr=lr, **more)


def muon_groups(model: nn.Module, twice: bool, adjust: str = "original"):
    """AdamW and Muon by hand; twice: Adam's 1/m is put on Muon's matrices too (Megatron-LM, pull
    request 3715)."""
    hand = replace(HAND, hidden_lr=-1.0 if twice else 0.0)
    groups = hand.groups(model, model.width / BASE, 0.01)
    for (name, p), group in zip(model.named_parameters(), groups, strict=True):
        if kind_of(name, p) == "hidden":
            group |= {"momentum": 0.95, "adjust_lr_fn": adjust}
    return widthwise.recipe("muP", "muon").optimizer.kind(groups)


HAND = Hand()
# The same function with the factor on the logits, and a readout's std and rate that make up for it.
MULTIPLIED = Hand(readout=-1.0, readout_std=0.5, readout_lr=0.0)
# SGD's: rates of what reads no width grow, matrices' are the base's, a readout's falls.
SGD = Hand(embedding_lr=1.0, vector_lr=1.0, hidden_lr=0.0, readout_lr=-1.0)
SP = Hand(attention=-0.5, readout_std=0.0, hidden_lr=0.0, readout_lr=0.0, vector_lr=0.0, decay=0.0)


def implementations() -> Iterator[Implementation]:
    """All of them; every second one of a family's right, and of its wrong ones, was held."""
    seen: dict[tuple[str, bool], int] = {}
    for each in _listed():
        key = each.family, bool(each.slip)
        seen[key] = seen.get(key, -1) + 1
        odd = sum(map(ord, each.family)) % 2  # families of one begin with either half
        yield replace(each, part="held" if (seen[key] + odd) % 2 else "developed")
    yield from (replace(each, part="fresh") for each in _fresh())
    yield from (replace(each, part="public") for each in public())


def _own(build: Callable, hand: Hand, lr: float, kind: type = torch.optim.AdamW, **more: Any):
    """make and options of a model by hand."""
    return {
        "make": by_hand(build, hand),
        "options": {"optimizer": optimizer_by_hand(hand, lr, kind, **more)},
    }


def _listed() -> Iterator[Implementation]:
    def lib(lr: float, optimizer: str = "adamw", **more: Any) -> dict:
        return {"recipe": ("muP", optimizer), "options": {"lr": lr} | more}

    mlp = partial(Implementation, "MLP", batches=vectors)
    yield mlp("library, AdamW", MLP, **lib(0.01, weight_decay=0.1))
    yield mlp("by hand, SGD", **_own(MLP, SGD, 0.1, torch.optim.SGD))
    yield mlp("the mup package, ReLU", with_mup, options={"optimizer": mup_adamw})
    yield mlp("SP, AdamW", **_own(MLP, SP, 0.01), slip="nothing is scaled")
    forgotten = replace(HAND, hidden_lr=0.0)
    yield mlp("by hand, AdamW", **_own(MLP, forgotten, 0.01), slip="hidden rate not divided")
    twice = replace(HAND, readout=-1.0)
    yield mlp(
        "by hand, AdamW", **_own(MLP, twice, 0.01), slip="readout scaled by init and by a factor"
    )
    plain = replace(HAND, decay=0.0)
    yield mlp(
        "by hand, AdamW with decay",
        **_own(MLP, plain, 0.01, weight_decay=0.1),
        slip="decay not scaled",
    )

    gpt2 = partial(Implementation, "own GPT-2", batches=walks)
    yield gpt2("library, heads grow", GPT2, **lib(0.004))
    yield gpt2("library, tied", partial(GPT2, tied=True), **lib(0.004))
    yield gpt2("by hand, head_dim grows", **_own(partial(GPT2, grows=True), HAND, 0.004))
    yield gpt2("by hand, factor on the logits", **_own(GPT2, MULTIPLIED, 0.004))
    yield gpt2("library, Muon", GPT2, **lib(0.004, optimizer="muon"))
    yield gpt2("SP, AdamW", **_own(GPT2, SP, 0.004), slip="nothing is scaled")
    usual = replace(HAND, attention=-0.5)
    yield gpt2(
        "by hand, head_dim grows",
        **_own(partial(GPT2, grows=True), usual, 0.004),
        slip="logits by 1/sqrt(head_dim)",
    )
    yield gpt2(
        "by hand, tied",
        **_own(partial(GPT2, tied=True), HAND, 0.004),
        slip="tied readout without a factor",
    )
    slow = replace(HAND, embedding_lr=-1.0)
    yield gpt2("by hand", **_own(GPT2, slow, 0.004), slip="embedding's rate divided")
    yield gpt2(
        "by hand, Muon",
        by_hand(GPT2),
        options={"optimizer": partial(muon_groups, twice=True)},
        slip="Adam's factor on Muon's matrices",
    )

    llama = partial(Implementation, "own Llama", batches=walks)
    yield llama("library, heads grow", Llama, **lib(0.004))
    yield llama("library, head_dim grows", partial(Llama, grows=True), **lib(0.004))
    yield llama("by hand, grouped queries", **_own(partial(Llama, kv=2), HAND, 0.004))
    yield llama("library, readout and queries zero", partial(Llama, zero=True), **lib(0.004))
    yield llama(
        "by hand, head_dim grows",
        **_own(partial(Llama, grows=True), usual, 0.004),
        slip="logits by 1/sqrt(head_dim)",
    )
    frozen = replace(HAND, frozen=True)
    yield llama(
        "by hand, head_dim grows",
        **_own(partial(Llama, grows=True), frozen, 0.004),
        slip="logits by the base's head_dim",
    )
    double = replace(HAND, queries=-0.5)
    yield llama(
        "by hand, head_dim grows",
        **_own(partial(Llama, grows=True), double, 0.004),
        slip="queries scaled, and logits again",
    )
    fast = replace(HAND, readout_lr=0.0)
    yield llama("by hand", **_own(Llama, fast, 0.004), slip="readout's rate not divided")

    hf = partial(Implementation, "Hugging Face", batches=walks)
    yield hf("Llama, library", hf_llama, **lib(0.004))
    yield hf("GPT-2, library, tied", hf_gpt2, **lib(0.004))
    yield hf("Llama, library, head_dim grows", partial(hf_llama, grows=True), **lib(0.004))

    def one_rate(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(model.parameters(), lr=0.004, weight_decay=0.0)

    yield hf("Llama, as made", hf_llama, options={"optimizer": one_rate}, slip="one std, one rate")

    for_gpt2 = partial(rates_only, make=hf_gpt2)
    yield hf("GPT-2, tied", hf_gpt2, options={"optimizer": for_gpt2}, slip="init_ was forgotten")
    yield hf(
        "Llama, muP from a flag",
        hf_llama,
        options={"optimizer": partial(rates_only, make=hf_llama)},
        slip="rates scaled, the model built without (gpt-neox, issue 956)",
    )

    resnet = partial(Implementation, "ResNet", batches=images)
    yield resnet("library, SGD", ResNet, **lib(0.1, optimizer="sgd"))
    yield resnet("library, AdamW", ResNet, **lib(0.004))
    yield resnet("by hand, AdamW", **_own(ResNet, MULTIPLIED, 0.004))
    yield resnet("SP, AdamW", **_own(ResNet, SP, 0.004), slip="nothing is scaled")
    yield resnet(
        "by hand, SGD",
        **_own(ResNet, HAND, 0.1, torch.optim.SGD),
        slip="Adam's rates for SGD",
    )

    gru = partial(Implementation, "GRU", batches=rows)
    yield gru("library, AdamW", GRU, **lib(0.01))
    yield gru("by hand, own cell", **_own(Cell, HAND, 0.01))
    yield gru("SP, own cell", **_own(Cell, SP, 0.01), slip="nothing is scaled")
    yield gru("by hand, own cell", **_own(Cell, forgotten, 0.01), slip="state's rate not divided")


def _fresh() -> Iterator[Implementation]:
    gpt2, llama = (
        partial(Implementation, f"own {name}", batches=walks) for name in ("GPT-2", "Llama")
    )
    stepwise = partial(GPT2, grows=True, eager=True)
    yield gpt2("by hand, attention step by step", **_own(stepwise, HAND, 0.004))
    usual = replace(HAND, attention=-0.5)
    yield gpt2(
        "by hand, attention step by step",
        **_own(stepwise, usual, 0.004),
        slip="logits by 1/sqrt(head_dim)",
    )
    tied = {"lr": 0.004, "weight_decay": 0.1}
    yield llama(
        "library, tied, factors",
        partial(Llama, tied=True),
        recipe=("muP-multiplier", "adamw"),
        options=tied,
    )
    wide = replace(HAND, readout_std=0.0)
    yield llama("by hand", **_own(Llama, wide, 0.004), slip="readout's spread not divided")
    grown = partial(hf_llama, grows=True)
    yield Implementation(
        "Hugging Face",
        "Llama, head_dim grows",
        grown,
        walks,
        options={"optimizer": partial(rates_only, make=grown)},
        slip="init_ was forgotten",
    )
    resnet = partial(Implementation, "ResNet", batches=images)
    yield resnet("by hand, SGD", **_own(ResNet, SGD, 0.1, torch.optim.SGD))
    forgotten = replace(HAND, hidden_lr=0.0)
    yield resnet("by hand, AdamW", **_own(ResNet, forgotten, 0.004), slip="hidden rate not divided")
    gru = partial(Implementation, "GRU", make=GRU, batches=rows)
    yield gru("library, SGD", recipe=("muP", "sgd"), options={"lr": 0.1})
    encoder = partial(Implementation, "torch's encoder", make=Encoder, batches=rows)
    options = {"lr": 0.004}
    yield encoder("library, AdamW", recipe=("muP", "adamw"), options=options)
    yield encoder("library, SP", recipe=("SP", "adamw"), options=options, slip="nothing is scaled")


def public() -> Iterator[Implementation]:
    """Slips of public code, each in the smallest model that has what it is about."""
    mlp = partial(Implementation, "public", batches=vectors)
    for adjust, twice, slip in (
        ("original", True, "muP's factor for Adam on Muon's matrices too"),
        ("match_rms_adamw", False, "Muon's step by sqrt(max(in, out)), which grows"),
    ):
        optimizer = partial(muon_groups, twice=twice, adjust=adjust)
        yield mlp(
            "NVIDIA/Megatron-LM#3715", by_hand(MLP), options={"optimizer": optimizer}, slip=slip
        )
    yield mlp(
        "microsoft/mup#73",
        with_mup,
        options={"optimizer": partial(mup_adamw, kind="MuAdam", weight_decay=0.1)},
        slip="Adam's decay in place of AdamW's",
    )
    decoder = partial(Implementation, "public", batches=walks)
    factor = replace(MULTIPLIED, readout_std=-0.5)

    def rescaled(width: int) -> nn.Module:
        model = by_hand(partial(GPT2, tied=True), factor)(width)
        with torch.no_grad():
            model.tokens.weight.mul_((width / BASE) ** 0.5)
        return model

    yield decoder(  # model.py, line 219
        "EleutherAI/nanoGPT-mup, in place",
        **_own(partial(GPT2, tied=True, in_place=True), MULTIPLIED, 0.004),
    )
    yield decoder(
        "microsoft/mup#55",
        rescaled,
        options={"optimizer": optimizer_by_hand(factor, 0.004)},
        slip="a tied embedding rescaled as a readout is",
    )
    flag = replace(HAND, attention=-0.5, hidden_std=0.5, readout_std=0.5)  # one std at every width
    yield decoder(
        "EleutherAI/gpt-neox#956",
        **_own(Llama, flag, 0.004),
        slip="the flag is set after the model is made: rates alone are scaled",
    )


def rates_only(model: nn.Module, make: Callable) -> torch.optim.Optimizer:
    """muP's rates on a model that was initialized without: 0.02 everywhere, readout included."""
    roles = widthwise.roles(make, BASE, walks(0)[0][0])
    plan = widthwise.plan(make(model.width), roles, "muP").init_()
    parameters = dict(model.named_parameters())
    return torch.optim.AdamW(
        [g | {"params": [parameters[name] for name in g["names"]]} for g in plan.groups(lr=0.004)]
    )
