"""What the coordinate check says of recipes that people run: as published, mended by the lines that
were found wrong, and the same module under muP and under SP; writes the table of their page,
docs/recipes.md, and what was found of each, docs/found.md.

Give a checkout of each repository at its commit (`--list` shows them). None of their code is here.

    uv run python -m benchmarks.recipes nanochat=PATH ... [--write docs]
"""

import argparse
import contextlib
import importlib.metadata
import io
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn

import widthwise
from benchmarks._checkouts import ADAMW_RATE, BASE, Line, Made, Recipe, Slip
from benchmarks._public import RECIPES, SLIPS
from benchmarks.calibration import BEGIN, END
from widthwise.checks.coordinates import CoordinateCheck
from widthwise.checks.slopes import LayerSlope
from widthwise.errors import UserError

WIDER, SEEDS = (1, 2, 4), 4
SHOWN = 4  # slopes of a recipe that are shown
HEAD = ("recipe", "meant for", "as published", "mended", "under muP", "under SP", "CPU s")
Check = Callable[..., CoordinateCheck]


@dataclass(frozen=True)
class Found:
    """What was found of a recipe. commit: of its checkout, or a package's tag. mended is
    None where nothing is wrong, or where muP itself is the mend."""

    name: str
    commit: str
    published: CoordinateCheck
    mended: CoordinateCheck | None
    mup: CoordinateCheck
    sp: CoordinateCheck
    seconds: float


def commit_of(recipe: Recipe, checkout: Path) -> str:
    """The commit of a checkout or of what was read, or the tag of an installed package; raises
    UserError where a checkout is not at the recipe's, or its code was edited."""
    if recipe.rebuilt:
        return recipe.commit
    if not recipe.commit:
        return f"v{importlib.metadata.version(recipe.repository.split('/')[1])}"
    git = ["git", "-C", str(checkout)]
    done = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"{checkout}: is no checkout of {recipe.repository}")
    if done.stdout.strip() != recipe.commit:
        raise UserError(
            f"{checkout}: is at {done.stdout[:9]}, the lines are numbered by {recipe.commit[:9]}; "
            f"git -C {checkout} checkout {recipe.commit}"
        )
    edited = subprocess.run([*git, "status", "-s", "*.py"], capture_output=True, text=True).stdout
    if edited:
        raise UserError(f"{checkout}: {edited.split()[-1]} is not as published")
    return recipe.commit


def check(name: str, checkout: Path, widths: Sequence[int], seeds: int) -> Found:
    """Check a recipe in all its ways."""
    recipe, began = RECIPES[name], time.process_time()
    commit = commit_of(recipe, checkout)
    if lacking := [each for each in recipe.needs if not find_spec(each.split("=")[0])]:
        raise UserError(f"{name} imports {lacking[0]}: uv run {_with(recipe)} python -m ...")
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = recipe.build(checkout)

        def of(make: Callable[[int], nn.Module], table: str | None, **more) -> CoordinateCheck:
            return widthwise.coordinate_check(
                make,
                table,
                made.batches,
                widths,
                loss=made.loss,
                seeds=seeds,
                progress=lambda line: None,
                **more,
            )

        published = of(made.make, None, optimizer=made.optimizer)
        mended = of(made.make, None, optimizer=_mended(made)) if made.mend else None
        mup, sp = (of(made.plain, table, lr=ADAMW_RATE) for table in ("muP", "SP"))
    return Found(name, commit, published, mended, mup, sp, time.process_time() - began)


def _with(recipe: Recipe) -> str:
    return " ".join(f"--with {each}" for each in recipe.needs)


def _mended(made: Made) -> Callable[[nn.Module], torch.optim.Optimizer]:
    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        found = made.optimizer(model)
        assert made.mend
        made.mend(model, found)
        return found

    return optimizer


def wrong(found: CoordinateCheck) -> list[LayerSlope]:
    """Its slopes that are beyond their law, the furthest first, those of decay last."""
    beyond = [s for s in found.slopes if s.verdict in ("grows", "vanishes")]
    return sorted(
        beyond, key=lambda s: (s.quantity == "decay", -max(s.law[0] - s.slope, s.slope - s.law[1]))
    )


def verdict(found: CoordinateCheck | None) -> str:
    """In a cell: `wrong, 8 of 40 slopes`. How decay should go with the width is open, so that what
    is beyond its law in decay alone is not called wrong."""
    if found is None:
        return "-"
    beyond, slopes = wrong(found), f"{len(found.slopes)} slopes"
    decays = sum(s.quantity == "decay" for s in beyond)
    if not beyond:
        return f"{found.verdict}, {slopes}"
    if decays == len(beyond):
        return f"right but for decay, {decays} of {slopes}"
    return f"wrong, {len(beyond)} of {slopes}" + (f", {decays} of decay" if decays else "")


def row(found: Found) -> list[str]:
    """A recipe's line of the table."""
    published, *others = map(verdict, (found.published, found.mended, found.mup, found.sp))
    if section(found):
        published = f"[{published}](found.md#{anchor(found.name)})"
    name = f"**{found.name}**<br>{_where(found)}"
    return [name, RECIPES[found.name].meant, published, *others, f"{found.seconds:.0f}"]


def anchor(name: str) -> str:
    """Of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


def _where(found: Found) -> str:
    commit = found.commit if found.commit.startswith("v") else found.commit[:7]
    return f"[{RECIPES[found.name].repository} {commit}]({_tree(found, 'tree')})"


def _tree(found: Found, kind: str) -> str:
    return _tree_of(RECIPES[found.name].repository, found.commit, kind)


def _tree_of(repository: str, commit: str, kind: str) -> str:
    return f"https://github.com/{repository}/{kind}/{commit}"


def section(found: Found) -> list[str]:
    """Lines of what was found of a recipe: what is furthest from its law as published, the lines
    that do it, what a user sees of each, and the mend. Empty where nothing was."""
    beyond, recipe = wrong(found.published), RECIPES[found.name]
    lines = [line for line in recipe.lines if beyond or not line.trained]
    if not lines:
        return []
    said = [f"{_where(found)}. Meant for: {recipe.meant}.", ""]
    said += [f"As published: {verdict(found.published)}{_some(beyond)}."]
    if found.mended:
        open_ = [s for s in found.mended.slopes if s.verdict == "unclear"]
        said[-1] += f" Mended by these lines: {verdict(found.mended)}{_some(open_)}."
    return [
        f"## {found.name}",
        "",
        *said,
        "",
        *(_written(_tree(found, "blob"), line) for line in lines),
    ]


def _some(slopes: Sequence[LayerSlope]) -> str:
    """The first of them, after a colon."""
    said = [
        f"{s.layer or 'the model'} ({s.quantity}) {s.slope:.2f} [{s.low:.2f}, {s.high:.2f}]"
        for s in slopes[:SHOWN]
    ]
    said += [f"and {len(slopes) - SHOWN} more"] * (len(slopes) > SHOWN)
    return f": {'; '.join(said)}" * bool(said)


def told(slip: Slip) -> list[str]:
    """The section of a slip that has a thread of its own."""
    tree = _tree_of(slip.repository, slip.commit, "blob")
    lines = (_written(tree, line) for line in slip.lines)
    return [f"## {slip.name}", "", slip.told, "", *lines]


def _written(tree: str, line: Line) -> str:
    places = [f"[{n}]({tree}/{line.path}#L{n})" for n in line.numbers]
    lines = f"`{line.path}`, line{'s' * (len(places) > 1)} {' and '.join(places)}: " * bool(places)
    mend = f"\n  - *Mend*: {line.mend}." * bool(line.mend)
    return f"- {lines}{line.does}.\n  - *What a user sees*: {line.seen}.{mend}"


def table(found: Sequence[Found], page: str = "") -> str:
    """A row a recipe; of one that was not checked now, that of the page."""
    lines = {name: line for line, name in re.findall(r"^(\| \*\*(.*?)\*\*<br>.*)$", page, re.M)}
    head, rule, *rows = (
        f"| {' | '.join(cells)} |" for cells in (HEAD, ["---"] * len(HEAD), *map(row, found))
    )
    lines |= dict(zip((each.name for each in found), rows, strict=True))
    return "\n".join([head, rule, *(lines[name] for name in RECIPES if name in lines)])


def sections(found: Sequence[Found], page: str = "") -> str:
    """A section a recipe of which something was found, and one a slip; of a recipe that was not
    checked now, that of the page."""
    inner = page.partition(BEGIN)[2].partition(END)[0]
    blocks = {text.partition("\n")[0]: text.strip() for text in inner.split("## ")[1:]}
    kept = {name: ["## " + blocks[name]] for name in RECIPES if name in blocks}
    kept |= {each.name: section(each) for each in found}
    each = [*(kept[name] for name in RECIPES if kept.get(name)), *map(told, SLIPS)]
    return "\n\n".join(map("\n".join, each))


def written(page: str, text: str) -> str:
    """The page with the text between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{text}\n{END}{rest.partition(END)[2]}"


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="*", metavar="REPOSITORY=PATH")
    parser.add_argument("--list", action="store_true", help="repositories and commits")
    parser.add_argument("--only", nargs="+", default=[*RECIPES], choices=[*RECIPES])
    parser.add_argument("--widths", nargs="+", type=int, default=[BASE * k for k in WIDER])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="docs")
    asked = parser.parse_args(words)
    if asked.list:
        for name, recipe in RECIPES.items():
            where = f"https://github.com/{recipe.repository} {recipe.commit}"
            needs = f" (uv run {_with(recipe)})" * bool(recipe.needs)
            read = " (read)" * recipe.rebuilt
            print(f"{name}: {where if recipe.commit else 'installed'}{read}{needs}")
        return
    paths = dict(each.split("=", 1) for each in asked.checkouts)
    if unknown := sorted({*paths} - {*RECIPES}):
        raise SystemExit(f"{unknown[0]}: is no recipe; --list shows them")
    # In each CPU's own arithmetic: under that of runs, AVX2, track 3's bfloat16 takes minutes. A
    # slope on the edge of its law may count otherwise elsewhere.
    torch.set_num_threads(1)
    found = []
    for name in asked.only:
        if RECIPES[name].commit and not RECIPES[name].rebuilt and name not in paths:
            raise SystemExit(f"{name}: give its checkout, '{name}=PATH'")
        try:
            found.append(check(name, Path(paths.get(name, ".")), asked.widths, asked.seeds))
        except UserError as error:
            raise SystemExit(f"{name}: {error}") from None
        print(f"{name}: {', '.join(row(found[-1])[2:])} s", flush=True)
    print(table(found))
    if asked.write:
        for name, made in (("recipes.md", table), ("found.md", sections)):
            page = asked.write / name
            text = page.read_text()
            page.write_text(written(text, made(found, text)))


if __name__ == "__main__":
    main()
