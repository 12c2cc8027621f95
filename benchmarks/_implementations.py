"""Twenty right and twenty wrong implementations of muP, written by hand or by the library.

Each is what a user would have: `make(width)`, an optimizer for it, data. The wrong ones are slips
as they are made, some in public code. By turns half of each family were looked at while the check's
laws and thresholds were set, and half were held apart. Those showed two laws that were missing: ten
more were written then, and not looked at before the laws stood.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import widthwise

BASE = 64  # the base width of all
VOCABULARY = 32
WIDTHS = (BASE, 2 * BASE, 4 * BASE)


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


# Data: little of it, so that a width is larger than the number of things it has to tell apart.


def vectors(seed: int) -> list:
    """32 rows of 6 numbers, in 4 classes."""
    generator = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(32, 6, generator=generator)
    return [(x, x[:, :4].argmax(1))]


def walks(seed: int) -> list:
    """4 sequences of 16 tokens and the next ones: random walks on a circle."""
    generator = torch.Generator().manual_seed(100 + seed)
    steps = torch.randint(1, 4, (4, 17), generator=generator)
    found = (steps.cumsum(1) + torch.arange(4)[:, None] * 8) % VOCABULARY
    return [(found[:, :-1], found[:, 1:])]


def images(seed: int) -> list:
    """16 pictures of 8 x 8 in 4 classes, each a pattern of its class and noise."""
    generator = torch.Generator().manual_seed(100 + seed)
    labels = torch.arange(16) % 4
    patterns = torch.randn(4, 3, 8, 8, generator=generator)
    return [(patterns[labels] + 0.5 * torch.randn(16, 3, 8, 8, generator=generator), labels)]


def rows(seed: int) -> list:
    """8 sequences of 8 rows of 6 numbers, in 4 classes."""
    generator = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(8, 8, 6, generator=generator)
    return [(x, x.sum(1)[:, :4].argmax(1))]


# muP by hand: what a careful user writes into their own code.


@dataclass(frozen=True)
class Hand:
    """The choices of an implementation by hand; as they stand here they are muP for Adam.

    Each is a power of m, the width over the base width (attention: of head_dim). readout: factor on
    the logits. readout_std, embedding_std: beside a standard init. *_lr: beside the base's rate.
    """

    attention: float = -1.0
    frozen: bool = False
    queries: float = 0.0
    readout: float = 0.0
    readout_std: float = -0.5
    hidden_std: float = 0.0
    embedding_std: float = 0.0
    embedding_lr: float = 0.0
    hidden_lr: float = -1.0
    readout_lr: float = -1.0
    vector_lr: float = 0.0
    decay: float = 1.0

    def init_(self, model: nn.Module, m: float) -> None:
        """Draw a model's matrices afresh; a tied readout has the embedding's row."""
        for name, p in model.named_parameters():
            kind = _kind(name, p)
            if kind == "embedding":
                fan_in = 1 if isinstance(_owner(model, name), nn.Embedding) else p[0].numel()
                nn.init.normal_(p, 0.0, fan_in**-0.5 * m**self.embedding_std)
            elif kind == "hidden":
                nn.init.normal_(p, 0.0, p[0].numel() ** -0.5 * m**self.hidden_std)
            elif kind == "readout":
                nn.init.normal_(p, 0.0, p.shape[1] ** -0.5 * m**self.readout_std)

    def groups(self, model: nn.Module, m: float, lr: float, weight_decay: float = 0.0) -> list:
        """A group a tensor: decay times rate does not depend on the width, if decay is 1."""
        powers = {
            "embedding": self.embedding_lr,
            "hidden": self.hidden_lr,
            "readout": self.readout_lr,
            "vector": self.vector_lr,
            "scalar": 0.0,
        }
        result = []
        for name, p in model.named_parameters():
            factor = m ** powers[_kind(name, p)]
            decay = weight_decay * factor**-self.decay
            result.append({"params": [p], "lr": lr * factor, "weight_decay": decay})
        return result


def _owner(model: nn.Module, name: str) -> nn.Module:
    return model.get_submodule(name.rpartition(".")[0])


def _kind(name: str, p: nn.Parameter) -> str:
    """By the names that the models of this file give their layers."""
    first = name.split(".")
    if p.ndim < 2:
        return "scalar" if name == "readout.bias" else "vector"
    if any(part in ("tokens", "positions", "entry") for part in first):
        return "embedding"
    return "readout" if "readout" in first else "hidden"


def by_hand(build: Callable[..., nn.Module], hand: Hand = Hand()) -> Callable[[int], nn.Module]:
    """`make` of a model with its initial values by hand."""

    def make(width: int) -> nn.Module:
        model = build(width, hand)
        hand.init_(model, width / BASE)
        return model

    return make


def optimizer_by_hand(
    hand: Hand, lr: float, kind: type = torch.optim.AdamW, weight_decay: float = 0.0, **more: Any
) -> Callable[[nn.Module], torch.optim.Optimizer]:
    """The optimizer that a user's own groups make."""

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return kind(hand.groups(model, model.width / BASE, lr, weight_decay), **more)

    return optimizer


# The models.


class MLP(nn.Module):
    """Three layers; logits times m^readout."""

    def __init__(self, width: int, hand: Hand | None = None, act: type = nn.Tanh):
        super().__init__()
        self.width, self.factor = width, (width / BASE) ** (hand.readout if hand else 0.0)
        self.entry, self.readout = nn.Linear(6, width), nn.Linear(width, 4)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(width, width), act()) for _ in "ab")
        self.act = act()

    def forward(self, x):
        x = self.act(self.entry(x))
        for layer in self.layers:
            x = layer(x)
        return self.readout(x) * self.factor


class Attention(nn.Module):
    """Causal attention, by one fused call or step by step; heads of 16, or two that grow."""

    def __init__(
        self, width: int, hand: Hand | None, grows: bool, rope: bool, kv: int | None, eager: bool
    ):
        super().__init__()
        self.eager = eager
        self.heads = 2 if grows else width // 16
        self.head_dim = width // self.heads
        self.kv = self.heads if kv is None else self.heads // kv
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, self.kv * self.head_dim, bias=False)
        self.v = nn.Linear(width, self.kv * self.head_dim, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.rope, self.before, self.scale = rope, 1.0, None
        if hand is not None and grows:
            base = BASE // 2  # head_dim at the base width, where logits have the usual factor
            grown = base if hand.frozen else self.head_dim
            self.scale = base**-0.5 * (grown / base) ** hand.attention
            self.before = (self.head_dim / base) ** hand.queries

    def forward(self, x):
        b, t, width = x.shape
        q = self.q(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k(x).view(b, t, self.kv, self.head_dim).transpose(1, 2)
        v = self.v(x).view(b, t, self.kv, self.head_dim).transpose(1, 2)
        if self.rope:
            q, k = rotated(q), rotated(k)
        if self.kv != self.heads:
            k = k.repeat_interleave(self.heads // self.kv, 1)
            v = v.repeat_interleave(self.heads // self.kv, 1)
        if self.eager:
            scale = self.head_dim**-0.5 if self.scale is None else self.scale
            mask = torch.full((t, t), -math.inf).triu(1)
            y = ((q @ k.transpose(2, 3)) * scale + mask).softmax(-1) @ v
        else:
            q = q * self.before
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
        return self.o(y.transpose(1, 2).reshape(b, t, width))


def rotated(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions on (batch, heads, tokens, head_dim)."""
    half = x.shape[-1] // 2
    rates = 100.0 ** (-torch.arange(half) / half)
    angles = torch.arange(x.shape[-2])[:, None] * rates
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


class SwiGLU(nn.Module):
    """The feed-forward part of a Llama."""

    def __init__(self, width: int):
        super().__init__()
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in "ab")
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, width: int, hand: Hand | None, llama: bool, **attention: Any):
        super().__init__()
        norm = nn.RMSNorm if llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attention = Attention(width, hand, rope=llama, **attention)
        self.mlp = (
            SwiGLU(width)
            if llama
            else nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    """A GPT-2 (positions learned, LayerNorm, GELU), or a Llama (rotary, RMSNorm, SwiGLU)."""

    def __init__(
        self,
        width: int,
        hand: Hand | None = None,
        *,
        llama: bool = False,
        grows: bool = False,
        tied: bool = False,
        zero: bool = False,
        kv: int | None = None,
        eager: bool = False,
    ):
        super().__init__()
        self.width, self.factor = width, (width / BASE) ** (hand.readout if hand else 0.0)
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = None if llama else nn.Embedding(16, width)
        self.layers = nn.ModuleList(
            Block(width, hand, llama, grows=grows, kv=kv, eager=eager) for _ in range(2)
        )
        self.norm = (nn.RMSNorm if llama else nn.LayerNorm)(width)
        self.readout = nn.Linear(width, VOCABULARY, bias=False)
        if tied:
            nn.init.normal_(self.tokens.weight, 0.0, 0.1)
            self.readout.weight = self.tokens.weight
        if zero:
            nn.init.zeros_(self.readout.weight)
        if zero:
            for block in self.layers:
                nn.init.zeros_(block.attention.q.weight)

    def forward(self, tokens):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1]))
        for block in self.layers:
            x = block(x)
        return self.readout(self.norm(x)) * self.factor


GPT2, Llama = partial(Decoder, llama=False), partial(Decoder, llama=True)


def hf_llama(width: int, *, grows: bool = False) -> nn.Module:
    """Hugging Face's Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    heads = 2 if grows else width // 16
    sizes = {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": 2}
    counts = {"num_attention_heads": heads, "num_key_value_heads": heads // 2}
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=16, **sizes, **counts)
    )
    model.width = width
    return model


def hf_gpt2(width: int) -> nn.Module:
    """Hugging Face's GPT-2, without dropout; its readout is the embedding transposed."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": width, "n_head": width // 16, "n_layer": 2, "n_positions": 16}
    special = {"bos_token_id": 0, "eos_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, **sizes, **special)).eval()
    model.width = width
    return model


class Residual(nn.Module):
    """Two convolutions beside what came in."""

    def __init__(self, width: int):
        super().__init__()
        self.a, self.b = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in "ab")
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.norm2(self.b(F.relu(self.norm1(self.a(x))))))


class ResNet(nn.Module):
    """A stem, two residual blocks, a mean over places, a readout."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        width = width // 2  # channels: a convolution has nine weights for each
        self.width = 2 * width
        self.entry = nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False)
        self.layers = nn.ModuleList(Residual(width) for _ in range(2))
        self.readout = nn.Linear(width, 4)
        self.factor = (self.width / BASE) ** (hand.readout if hand else 0.0)

    def forward(self, x):
        x = F.relu(self.entry(x))
        for block in self.layers:
            x = block(x)
        return self.readout(x.mean((2, 3))) * self.factor


class GRU(nn.Module):
    """torch's GRU over the rows; the readout reads the last state."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        self.width = width
        self.cell, self.readout = nn.GRU(6, width, batch_first=True), nn.Linear(width, 4)

    def forward(self, x):
        return self.readout(self.cell(x)[0][:, -1])


class Cell(nn.Module):
    """A GRU of one's own: gates by linear layers."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        self.width, self.factor = width, (width / BASE) ** (hand.readout if hand else 0.0)
        self.entry = nn.Linear(6, 3 * width)
        self.state = nn.Linear(width, 3 * width, bias=False)
        self.readout = nn.Linear(width, 4)

    def forward(self, x):
        h = x.new_zeros(len(x), self.width)
        for row in x.unbind(1):
            (r, z, n), (a, b, c) = self.entry(row).chunk(3, -1), self.state(h).chunk(3, -1)
            z = torch.sigmoid(z + b)
            h = (1 - z) * torch.tanh(n + torch.sigmoid(r + a) * c) + z * h
        return self.readout(h) * self.factor


class Encoder(nn.Module):
    """torch's encoder over the rows, heads of 16."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        self.width = width
        block = nn.TransformerEncoderLayer(
            width, width // 16, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.entry, self.readout = nn.Linear(6, width), nn.Linear(width, 4)
        self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.readout(self.blocks(self.entry(x)).mean(1))


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
        if _kind(name, p) == "hidden":
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

    yield hf("GPT-2, tied", hf_gpt2, options={"optimizer": no_factor}, slip="apply was forgotten")
    yield hf(
        "Llama, muP from a flag",
        hf_llama,
        options={"optimizer": rates_only},
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
    yield Implementation(
        "Hugging Face",
        "Llama, head_dim grows",
        partial(hf_llama, grows=True),
        walks,
        options={"optimizer": partial(no_factor, make=partial(hf_llama, grows=True))},
        slip="apply was forgotten",
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


def planned(model: nn.Module, make: Callable, begin: bool) -> torch.optim.Optimizer:
    """The library's rates on a model without its factors; begin: its initial values too."""
    roles = widthwise.roles(make, BASE, walks(0)[0][0])
    plan = widthwise.plan(make(model.width), roles, "muP").init_()
    parameters = dict(model.named_parameters())
    if begin:
        with torch.no_grad():
            for name, p in plan.model.named_parameters():
                parameters[name].copy_(p)
    groups = plan.groups(lr=0.004)
    return torch.optim.AdamW(
        [g | {"params": [parameters[name] for name in g["names"]]} for g in groups]
    )


def no_factor(model: nn.Module, make: Callable = hf_gpt2) -> torch.optim.Optimizer:
    """muP's values and rates, without the factors on a tied readout's and attention's logits."""
    return planned(model, make, begin=True)


def rates_only(model: nn.Module) -> torch.optim.Optimizer:
    """muP's rates on a model that was initialized without: 0.02 everywhere, readout included."""
    return planned(model, hf_llama, begin=False)
