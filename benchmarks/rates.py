"""Rates of `widthwise` beside those of the mup package, parameter by parameter, on models of
others; writes the table of its page.

mup divides the rate of what grows along two axes; its readouts have a factor of their own, as in
`muP-multiplier`. What reads a width and writes none within a network it takes for a readout, whose
rate stays and whose factor the user gives: these are counted apart.

    uv run python -m benchmarks.rates [--cases "llama*" "swin*"] [--write docs/library.md]
"""

import argparse
from collections import Counter
from fnmatch import fnmatchcase
from math import isclose
from pathlib import Path

import torch
from torch import nn

import widthwise
from benchmarks.architectures import CASES, Case, quiet
from benchmarks.calibration import BEGIN, END
from benchmarks.zoo.hugging_face import CAUSAL, CODERS
from benchmarks.zoo.hugging_face_vision import PICTURES
from benchmarks.zoo.layers import TORCH
from benchmarks.zoo.vision import TIMM, TORCHVISION
from widthwise.errors import UserError
from widthwise.parametrization.rules import Role

FAMILIES = {
    "transformers, text": {*CAUSAL, *CODERS},
    "transformers, images and sound": {*PICTURES},
    "timm": {*TIMM},
    "torchvision": {*TORCHVISION},
    "torch.nn, adapters": {*TORCH},
}
RATE = 1.0
EQUAL, OWN, DIFFERENT, REFUSED = "equal", "own factor", "different", "refused"
TIMES = 4  # of the base width


def rates_of_mup(case: Case, grow: str) -> dict[str, float]:
    """Parameter -> its rate by mup's Adam, at four times the base width."""
    import mup

    model, base, delta = (case.make(k, grow) for k in (TIMES, 1, 2))
    mup.set_base_shapes(model, base, delta=delta, rescale_params=False, do_assert=False)
    names = {id(p): name for name, p in model.named_parameters()}
    # No decay, which mup refuses with rates of its own beside AdamW's.
    groups = mup.MuAdam(model.parameters(), lr=RATE).param_groups
    return {names[id(p)]: group["lr"] for group in groups for p in group["params"]}


def rates_of_ours(case: Case, grow: str) -> dict[str, tuple[float, Role]]:
    """Parameter -> (its rate by a plan at four times the base width, its role); without what it
    holds for a factor, which mup has in the module."""

    def make(k: int) -> nn.Module:
        return case.make(k, grow)

    roles = widthwise.roles(make, 1, case.inputs(0), other=2, prove=False)
    plan = widthwise.plan(make(TIMES), roles, widthwise.recipe("muP-multiplier", "adam"))
    return {
        name: (group["lr"] / plan.held.get(name, 1.0), plan.at[name])
        for group in plan.groups(RATE)
        for name in group["names"]
    }


def compared(case: Case, grow: str) -> Counter[str]:
    """How many parameters have the same rate in both."""
    torch.manual_seed(0)
    try:
        ours = rates_of_ours(case, grow)
    except UserError:
        return Counter([REFUSED])
    theirs = rates_of_mup(case, grow)
    found: Counter[str] = Counter()
    for name, (rate, role) in ours.items():
        own = role.factor(role)
        word = OWN if own != 1 and isclose(rate * own, theirs[name]) else DIFFERENT
        found[EQUAL if isclose(rate, theirs[name]) else word] += 1
    return found


def written(page: str, lines: list[str]) -> str:
    """The page with these lines in its table's place."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2]


def main(words: list[str] | None = None) -> None:
    """Print a line a model, and the sums; write the page's table where a page is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=["*"], help="patterns of names")
    parser.add_argument("--write", type=Path, help="the page whose table is brought up to date")
    arguments = parser.parse_args(words)
    if arguments.write and arguments.cases != ["*"]:
        parser.error("--write is of all cases")
    torch.set_num_threads(1)
    heads = ("models", "variants", REFUSED, EQUAL, DIFFERENT, OWN)
    lines = [f"| models of | {' | '.join(heads)} |", f"|---{'|---:' * len(heads)}|"]
    print("\n".join(lines), flush=True)
    totals: dict[str, Counter[str]] = {family: Counter() for family in FAMILIES}

    def line(name: str, found: Counter[str]) -> str:
        return f"| {name} | {' | '.join(str(found[each]) for each in heads)} |"

    with quiet():
        for name, case in CASES.items():
            if not any(fnmatchcase(name, pattern) for pattern in arguments.cases):
                continue
            found = sum((compared(case, grow) for grow in case.grow), Counter())
            found += Counter({"models": 1, "variants": len(case.grow)})
            print(line(name, found), flush=True)
            totals[next(family for family, of in FAMILIES.items() if name in of)] += found
    lines += [line(*each) for each in totals.items()]
    lines.append(line("**all**", sum(totals.values(), Counter())))
    print("\n".join(lines[2:]))
    if arguments.write:
        arguments.write.write_text(written(arguments.write.read_text(), lines))


if __name__ == "__main__":
    main()
