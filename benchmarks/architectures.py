"""What the coordinate check says of architectures of others under muP, and which `widthwise.widen`
accepts, refuses, and gets wrong (none); writes the table of their page.

Each is made small, once with heads that grow in number and, where it has heads, once with a head
dimension that grows. What is widened is held against the narrow model again: on another batch, and
over steps of AdamW. A second table counts why others are refused.

    uv run python -m benchmarks.architectures [--cases "llama*" "swin*"] [--write docs/models.md]
"""

import argparse
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import widthwise
from benchmarks.calibration import BEGIN, END
from benchmarks.zoo.hugging_face import CAUSAL, CODERS
from benchmarks.zoo.hugging_face_vision import PICTURES
from benchmarks.zoo.inputs import BOTH, ONE_WAY, Make, pairs, tokens
from benchmarks.zoo.layers import TORCH
from benchmarks.zoo.vision import TIMM, TORCHVISION
from widthwise.errors import UserError
from widthwise.upscaling.exactly import Exactly
from widthwise.upscaling.untying import untied

STEPS, RATE = 5, 1e-3


@dataclass(frozen=True)
class Case:
    """make: of the module. inputs: seed -> positional arguments. grow: what may grow in it."""

    make: Make
    inputs: Callable[[int], tuple]
    grow: tuple[str, ...] = BOTH


WITHOUT_HEADS = ("mamba", "rwkv")
CASES: dict[str, Case] = {
    **{n: Case(m, tokens, ONE_WAY if n in WITHOUT_HEADS else BOTH) for n, m in CAUSAL.items()},
    **{name: Case(make, pairs) for name, make in CODERS.items()},
    **{name: Case(*each) for name, each in (PICTURES | TIMM | TORCHVISION | TORCH).items()},
}


@contextmanager
def quiet() -> Iterator[None]:
    """Without what packages say of their own."""
    import transformers

    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _value(output: Any) -> torch.Tensor:
    """A model's first output of numbers with fractions that has a gradient."""
    return next(
        t
        for t in tree_leaves(output)
        if isinstance(t, torch.Tensor) and t.is_floating_point() and t.requires_grad
    )


def apart(case: Case, narrow: tuple, wide: tuple) -> float:
    """The largest relative difference of outputs over steps of training, each on a batch of its
    own; (model, optimizer) each."""
    worst = 0.0
    for seed in range(1, STEPS + 1):
        values = []
        for model, optimizer in (narrow, wide):
            optimizer.zero_grad()
            with Exactly():
                value = _value(model(*_double(case.inputs(seed))))
                weights = torch.randn(
                    value.shape, generator=torch.Generator().manual_seed(seed), dtype=value.dtype
                )
                (value * weights).mean().backward()
            optimizer.step()
            values.append(value.detach())
        worst = max(worst, float((values[0] - values[1]).abs().max() / values[0].abs().max()))
    return worst


def _double(arguments: tuple) -> tuple:
    return tuple(
        a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
        for a in arguments
    )


WRONG = 1e-7  # of float64, after steps of AdamW


def judge(case: Case, grow: str) -> tuple[str, str]:
    """(accepted, refused, wrong or failed, why)."""
    torch.manual_seed(0)
    model = case.make(1, grow).double().eval()

    def make(k: int) -> nn.Module:
        return case.make(k, grow).double()

    trained = [p for p in model.parameters() if p.requires_grad]
    # eps: where gradients are near nothing, Adam's step follows their rounding.
    optimizer: torch.optim.Optimizer = torch.optim.AdamW(
        trained, lr=RATE, eps=1e-6, weight_decay=0.1
    )
    try:
        wide, grown, growth = widthwise.widen(
            model, optimizer, 2, make, case.inputs(0), untie=True, scale_logits=True
        )
    except UserError as error:
        return "refused", str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    if growth.untied:
        model, (optimizer,) = untied(model, [optimizer], growth.untied)
    off = apart(case, (model, optimizer), (wide, grown))
    return ("accepted" if off < WRONG else "wrong"), f"{off:.1g}"


WIDER = (2, 4, 8)  # factors of the check: the narrowest has more units than a batch has tokens


def _cross_entropy(model: nn.Module, batch: tuple) -> torch.Tensor:
    """Of a model's first output, its last axis taken as logits, from labels drawn once: gradients
    are of order one however large the first outputs are."""
    value = _value(model(*batch[0]))
    value = value.real if value.is_complex() else value
    drawn = torch.Generator().manual_seed(batch[1])
    labels = torch.randint(value.shape[-1], value.shape[:-1], generator=drawn)
    return nn.functional.cross_entropy(value.reshape(-1, value.shape[-1]), labels.flatten())


def checked(case: Case, grow: str) -> tuple[str, str]:
    """(right, unclear, wrong, or refused, why): the verdict of the coordinate check under muP."""
    torch.manual_seed(0)

    def make(k: int) -> nn.Module:
        return case.make(k, grow)

    try:
        found = widthwise.coordinate_check(
            make,
            "muP",
            lambda seed: [(case.inputs(seed), seed)],
            WIDER,
            lr=RATE,
            loss=_cross_entropy,
            progress=lambda line: None,
        )
    except UserError as error:
        return "refused", str(error)
    return found.verdict, found.reason


REASONS = {
    "1/sqrt(head_dim)": "head_dim grows|head_dim\\^",
    "tied": "is a readout too|tied",
    "own logits": "no parameter can hold the factor on its logits",
    "needs given=": "is not known here|cannot be told",
    "buffer": "buffer",
    "sizes do not divide": "must be a whole multiple",
    "another function": "its output differs",
}


def reason(words: str) -> str:
    """The cause of a refusal in short."""
    return next((name for name, pattern in REASONS.items() if re.search(pattern, words)), "other")


Found = dict[str, dict[str, tuple[str, str]]]  # name -> what grows -> muP and widened, in short
HEADS = ("muP, heads grow", "muP, head_dim grows", "widened, heads grow", "head_dim grows")
LIFE = ("proved, heads grow", "head_dim grows", "whole life")  # `benchmarks.life` has these


def written(
    page: str, found: Mapping[str, Sequence[str]], first: int, notes: Sequence[str] = ()
) -> str:
    """The page with these cells in the lines of these models, from the column `first` on, and what
    is wrong of them; all others as they are."""
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    empty = [""] * len((*HEADS, *LIFE))
    lines = [f"| {' | '.join(('model', *HEADS, *LIFE))} |", "|---" * (1 + len(empty)) + "|"]
    there = [line for line in table.splitlines() if line.startswith("| ")][1:]
    cells = dict.fromkeys(CASES, empty) | {
        name: [*own, *empty][: len(empty)]
        for name, *own in (line[2:-2].split(" | ") for line in there)
    }
    for name, own in cells.items():
        new = found.get(name, ())
        lines.append(f"| {' | '.join((name, *own[:first], *new, *own[first + len(new) :]))} |")
    kept = [line for line in table.splitlines() if line.startswith("- ")]
    if notes or first == 0:
        kept = [line for line in kept if not any(line.startswith(f"- {n}, ") for n in found)]
    return before + BEGIN + "\n".join([*lines, "", *kept, *notes]) + "\n" + END + after


def asked(words: list[str] | None, what: str | None) -> tuple[list[tuple[str, str]], Path | None]:
    """The variants that a call is of, name and what grows, and the page that it writes. what: the
    script's words."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--cases", nargs="+", default=["*"], help="patterns of names")
    parser.add_argument("--write", type=Path, help="the page whose table is brought up to date")
    arguments = parser.parse_args(words)
    names = [n for n in CASES if any(fnmatchcase(n, pattern) for pattern in arguments.cases)]
    torch.set_num_threads(1)
    return [(name, grow) for name in names for grow in CASES[name].grow], arguments.write


def main(words: list[str] | None = None) -> None:
    """Print a line a variant, and counts; write the page's table where a page is given."""
    variants, page = asked(words, __doc__)
    found: Found = {}
    notes: list[str] = []
    counts: Counter[str] = Counter()
    why: Counter[str] = Counter()
    print("| architecture | grows | muP | widened | off, or why | CPU s |")
    print("|---|---|---|---|---|---|")
    with quiet():
        for name, grow in variants:
            case = CASES[name]
            begin = time.process_time()
            mup, why_not = checked(case, grow)
            if mup == "wrong":
                notes.append(f"- {name}, {grow}: {why_not}")
            mup = f"no: {reason(why_not)}" if mup == "refused" else mup
            try:
                verdict, words_of_it = judge(case, grow)
            except Exception as error:
                verdict, words_of_it = "not made", f"{type(error).__name__}: {error}"
            counts[verdict] += 1
            line = words_of_it.replace("\n", " ").replace("|", "/")
            if verdict != "accepted":
                why[f"{verdict}: {reason(line)}"] += 1
            widened = {"accepted": "yes", "refused": f"no: {reason(line)}"}.get(verdict, verdict)
            found.setdefault(name, {})[grow] = (mup, widened)
            seconds = time.process_time() - begin
            print(f"| {name} | {grow} | {mup} | {verdict} | {line} | {seconds:.1f} |", flush=True)
    total = sum(counts.values())
    print(f"\n{total} variants: " + ", ".join(f"{n} {word}" for word, n in counts.most_common()))
    print("; ".join(f"{word} {n}" for word, n in why.most_common()))
    if page:
        cells = {
            name: [by.get(grow, ("", ""))[which] for which in (0, 1) for grow in BOTH]
            for name, by in found.items()
        }
        page.write_text(written(page.read_text(), cells, 0, notes))


if __name__ == "__main__":
    main()
