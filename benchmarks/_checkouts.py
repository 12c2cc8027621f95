"""What a recipe made small is, and how code of a checkout is read, without a run of a script."""

import ast
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from widthwise.errors import UserError

VOCABULARY, LENGTH, BATCH, LAYERS, HEAD_DIM = 64, 16, 2, 2, 16
BASE = 64  # the narrowest width, at which every rule of a recipe is 1
Optimizer = Callable[[nn.Module], torch.optim.Optimizer]
ADAMW_RATE = 1e-3


@dataclass(frozen=True)
class Made:
    """A recipe at hand.

    make: width -> its module with its initial values. optimizer: module -> its own. plain: width ->
    the same module without the recipe's own rules of the width, for `muP` and `SP`. batches: seed
    -> batches. loss: (module, batch) -> scalar. mend: changes a module and its optimizer as the
    recipe's `lines` say, which shows whether they are what is wrong; None: `muP` is the mend.
    """

    make: Callable[[int], nn.Module]
    optimizer: Optimizer
    plain: Callable[[int], nn.Module]
    batches: Callable[[int], list]
    loss: Callable[[nn.Module, Any], torch.Tensor]
    mend: Callable[[nn.Module, torch.optim.Optimizer], None] | None = None


@dataclass(frozen=True)
class Line:
    """What was found in a recipe and checked by hand. path: of a file of its repository. numbers:
    of lines of it. does: against the width. seen: what a user of several widths sees of it. mend:
    what muP has there; "" where it is not wrong. trained: whether training shows it, which is all
    that a check sees."""

    path: str
    numbers: tuple[int, ...]
    does: str
    seen: str
    mend: str = ""
    trained: bool = True


@dataclass(frozen=True)
class Recipe:
    """repository: on GitHub. commit: what its lines are numbered by; "" of an installed package,
    whose version names it. meant: what it is for, in its own words or by what it does. build:
    checkout -> the recipe. needs: packages that its code imports and this repository has not.
    rebuilt: of its code the rule alone, on an own model: it was read, and needs no checkout."""

    repository: str
    commit: str
    meant: str
    build: Callable[[Path], Made]
    lines: tuple[Line, ...] = ()
    needs: tuple[str, ...] = ()
    rebuilt: bool = False


@dataclass(frozen=True)
class Slip:
    """A slip that was told of in public. told: where, and what came of it. lines: as of a recipe;
    without a path where the thread alone was read."""

    name: str
    told: str
    lines: tuple[Line, ...]
    repository: str = ""
    commit: str = ""


def drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def text(seed: int) -> list:
    """Token ids and the next ones, drawn once."""
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=drawn(seed))
    return [(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())]


def cross_entropy(model: nn.Module, batch: tuple) -> torch.Tensor:
    """Of a model that returns logits."""
    inputs, targets = batch
    logits = model(*inputs) if isinstance(inputs, tuple) else model(inputs)
    logits = getattr(logits, "logits", logits)
    return functional.cross_entropy(logits.reshape(targets.numel(), -1), targets.flatten())


@contextmanager
def uncompiled() -> Iterator[None]:
    """While code of others is loaded: what it would have compiled is left as it is, the same
    function in seconds."""
    compiled = torch.compile
    torch.compile = lambda model=None, **options: model or (lambda each: each)  # type: ignore
    try:
        yield
    finally:
        torch.compile = compiled


def module(path: Path, name: str) -> types.ModuleType:
    """A file as a module under a name of its own: two checkouts may have one of the same name."""
    spec = importlib.util.spec_from_file_location(f"checkout_{name}", path)
    assert spec and spec.loader, path
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # dataclasses look there
    with visible(path.parent), uncompiled():
        spec.loader.exec_module(found)
    return found


def package(checkout: Path, name: str) -> Any:
    """A module of a checkout that is a package of its own, never an installed one of its name, nor
    that of another checkout."""
    here = f"{checkout.resolve()}/"
    top = name.split(".")[0]
    for each in [each for each in sys.modules if each.split(".")[0] == top]:
        if not str(getattr(sys.modules[each], "__file__", None)).startswith(here):
            del sys.modules[each]
    with visible(checkout), uncompiled():
        found = importlib.import_module(name)
    if not str(found.__file__).startswith(here):
        raise UserError(f"{checkout}: {name} was imported from {found.__file__}")
    return found


@contextmanager
def visible(folder: Path) -> Iterator[None]:
    """The folder first among those of imports; last afterwards, for what is imported late."""
    path = str(folder.resolve())
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
        sys.path.append(path)


def parts(path: Path, wanted: Callable[[ast.AST], bool], known: dict[str, Any]) -> dict[str, Any]:
    """Carry out those statements of a script that are wanted, wherever they stand in it, and
    nothing else of it. known: names that they use."""
    tree = ast.parse(path.read_text())
    body = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and wanted(node)]
    body.sort(key=lambda node: node.lineno)
    with uncompiled():
        exec(compile(ast.Module(body, []), str(path), "exec"), known)
    return known


def without(module: types.ModuleType, function: str, number: int) -> Any:
    """A function of a module without the line of that number of its file."""
    lines, first = inspect.getsourcelines(getattr(module, function))
    known = dict(vars(module))
    with uncompiled():
        exec("".join(lines[: number - first] + lines[number - first + 1 :]), known)
    return known[function]


def defines(node: ast.AST) -> bool:
    """Whether a statement is a class or function of the top of its file."""
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and node.col_offset == 0
