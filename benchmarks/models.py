"""Which architectures of others the library knows; writes docs/models.md's table.

Each is made small, on the meta device where it can be, with heads that grow in number and, where
it has heads, with a head dimension that grows. Roles are held against what the layers' own layouts
say: of a Linear, a convolution or an embedding it is known which axis is its input, and of a norm
that it is a vector. That is how the mup package tells them, without a pass.

    uv run python -m benchmarks.models [--only WORDS] [--write docs/models.md]
"""

import argparse
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from torch import nn

import widthwise
from benchmarks._inputs import HEADS
from benchmarks.architectures import (
    CASES,
    CAUSAL,
    CODERS,
    PICTURES,
    TIMM,
    TORCHVISION,
    Case,
    judge,
    quiet,
    reason,
)
from widthwise.errors import UserError
from widthwise.tracing.kinds import Found

BEGIN, END = "<!-- table -->\n", "<!-- end -->\n"
HEAD = (
    "| | architecture | grows | roles | residual branches | `widen` |\n|---|---|---|---|---|---|\n"
)
PACKAGES: dict[str, Mapping] = {
    "transformers": {**CAUSAL, **CODERS, **PICTURES},
    "timm": TIMM,
    "torchvision": TORCHVISION,
}
NORMS = ("Norm", "norm")


def expected(owner: nn.Module, last: str, found: Found) -> str | None:
    """The kind of a parameter by its layer's layout; None where that says nothing."""
    conv = isinstance(owner, nn.modules.conv._ConvNd)
    grouped = isinstance(owner, nn.modules.conv._ConvNd) and (owner.groups > 1 or owner.transposed)
    if last == "bias" or any(word in type(owner).__name__ for word in NORMS):
        known = isinstance(owner, nn.Linear) or hasattr(owner, "nf") or conv or last == "weight"
        return ("vector" if found.wide else "scalar") if known and len(found.shape) == 1 else None
    if isinstance(owner, nn.Embedding):
        return "embedding" if found.wide == (1,) else None
    if last != "weight" or grouped or found.tied:
        return None
    if not (isinstance(owner, nn.Linear) or conv or hasattr(owner, "nf")):
        return None
    reads = 0 if hasattr(owner, "nf") else 1  # Hugging Face's Conv1D is (in, out)
    kinds = {(0, 1): "hidden", (reads,): "output", (1 - reads,): "embedding", (): "scalar"}
    return kinds.get(found.wide)


def traced(case: Case, grow: str) -> tuple[nn.Module, widthwise.Roles]:
    """A module on the meta device, or with values where it cannot be made or run there; roles."""

    def on_meta(k: int) -> nn.Module:
        with torch.device("meta"):
            return case.make(k, grow).eval()

    def here(k: int) -> nn.Module:
        return case.make(k, grow).eval()

    try:
        return on_meta(1), widthwise.roles(on_meta, 1, case.inputs(0))
    except Exception:
        return here(1), widthwise.roles(here, 1, case.inputs(0))


def roles_of(case: Case, grow: str) -> tuple[str, str]:
    """(what is said of the roles, of residual branches)."""
    try:
        model, roles = traced(case, grow)
    except UserError as error:
        return f"refused: {short(str(error))}", "-"
    by_layout, wrong = 0, []
    for name, found in roles.found.items():
        place, _, last = name.rpartition(".")
        kind = expected(model.get_submodule(place), last, found)
        by_layout += kind is not None
        if kind is not None and kind != found.role.kind:
            wrong.append(f"{name} is {found.role.kind}, by its layer {kind}")
    rest = len(roles) - by_layout
    told = f"{len(roles)} right: {by_layout} as layers are laid out, {rest} traced"
    return (f"wrong: {wrong[0]}" if wrong else told), branches(roles.branches)


def branches(found: Mapping[str, tuple[str, ...] | str]) -> str:
    """The residual branches of the outermost stacks that have any."""
    told = {layer: each for layer, each in found.items() if isinstance(each, tuple)}
    if not told:
        return "not told"
    least = min(layer.count(".") for layer in told)
    names = {name for layer, each in told.items() if layer.count(".") == least for name in each}
    return ", ".join(f"`{name}`" for name in sorted(names)[:4]) + (" ..." if len(names) > 4 else "")


def short(words: str) -> str:
    """A refusal's first clause, for a cell."""
    line = words.replace("\n", " ").replace("|", "/")
    return line if len(line) <= 100 else f"{line[:97]}..."


def row(name: str, grow: str) -> str:
    """A line of the table."""
    case = CASES[name]
    package = next((p for p, cases in PACKAGES.items() if name in cases), "torch")
    try:
        roles, residual = roles_of(case, grow)
        verdict, why = judge(case, grow)
    except Exception as error:
        roles, residual, verdict, why = f"not made: {type(error).__name__}", "-", "not made", ""
    if verdict == "refused":
        verdict = f"refused: {reason(why)}"
    elif verdict in ("failed", "wrong"):
        verdict = f"{verdict}: {short(why)}"
    what = "heads, or the width" if grow == HEADS else "head_dim"
    return f"| {package} | {name} | {what} | {roles} | {residual} | {verdict} |\n"


def counts(lines: list[str]) -> str:
    """What the lines say together."""
    cells = [line.split(" | ") for line in lines]
    right = sum(" right: " in each[3] for each in cells)
    wrong = sum(each[3].startswith("wrong") for each in cells)
    widened = sum(each[5].startswith("accepted") for each in cells)
    off = sum(each[5].startswith("wrong") for each in cells)
    branched = sum("`" in each[4] for each in cells)
    absent = sum(len(case.grow) for case in CASES.values()) - len(cells)
    more = f"; {absent} variants more of the benchmark were not run yet" if absent else ""
    return (
        f"{len({each[1] for each in cells})} architectures in {len(cells)} variants{more}. Roles: "
        f"{right} right, {wrong} wrong, {len(cells) - right - wrong} refused or not made. "
        f"Residual branches are told in {branched}. `widen` accepts {widened}, and {off} wrongly.\n"
    )


def named(line: str) -> tuple[str, ...]:
    """What a line is about."""
    return tuple(line.split(" | ")[1:3])


def written(page: str, lines: list[str]) -> str:
    """The page with these lines in place of those about the same, and counts over all."""
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    kept = {named(line): line for line in table.partition(HEAD)[2].splitlines(True)}
    kept |= {named(line): line for line in lines}
    order = list(CASES)
    rows = sorted(kept.values(), key=lambda line: order.index(named(line)[0]))
    return before + BEGIN + counts(rows) + "\n" + HEAD + "".join(rows) + END + after


def main(words: list[str] | None = None) -> None:
    """Print a line a variant; write the page's table where a page is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=["*"], help="patterns of names")
    parser.add_argument("--write", type=Path, help="the page whose table is brought up to date")
    arguments = parser.parse_args(words)
    lines = []
    with quiet():
        for name, case in CASES.items():
            if any(fnmatchcase(name, pattern) for pattern in arguments.only):
                for grow in case.grow:
                    lines.append(row(name, grow))
                    print(lines[-1], end="", flush=True)
    if arguments.write:
        arguments.write.write_text(written(arguments.write.read_text(), lines))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
