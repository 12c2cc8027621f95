"""The tree is the architecture: who may import whom, by folder, read from the imports."""

import ast
from functools import cache
from pathlib import Path

import pytest

from repro.suite.registry import ROOT

# A folder or module, from the top of the house to its ground -> what it may import besides itself.
# Everything may import the ground; what is further up is in nobody's list.
GROUND = {
    *("repro", "repro.cores", "repro.errors", "repro.files", "repro.statistics", "repro.regret"),
    *("repro.parametrization", "repro.parametrizations"),
}
MAY_IMPORT = {
    "benchmarks": {
        *("studies", "repro.__main__", "repro.suite", "repro.tasks", "repro.training"),
        *("repro.checks", "repro.models", "repro.upscaling", "repro.data", "repro.cost"),
        "repro.library",
    },
    # The command line.
    "repro.__main__": {"repro.commands", "repro.suite", "repro.training"},
    "repro.commands": {
        *("repro.judge", "repro.suite", "repro.checks", "repro.data", "repro.library")
    },
    # A run of a task as the suite builds it, looked at while it trains.
    "repro.checks": {
        *("repro.suite", "repro.tasks", "repro.training", "repro.data", "repro.library")
    },
    # What is shown and claimed, and who judges it.
    "figures": {"repro.judge", "studies", "repro.suite", "repro.tasks", "repro.theory"},
    "repro.judge": {"repro.suite"},
    # What is run, and who runs it.
    "studies": {"repro.suite", "repro.theory"},
    "repro.suite": {"repro.tasks", "repro.training", "repro.data", "repro.cost"},
    # One experiment.
    "repro.tasks": {
        *("repro.training", "repro.models", "repro.upscaling", "repro.theory"),
        *("repro.data", "repro.cost", "repro.library"),
    },
    "repro.training": {"repro.cost"},
    # What it is made of, of use without any of the above.
    "repro.library": {"repro.tracing", "repro.upscaling"},
    "repro.tracing": set(),
    "repro.models": set(),
    "repro.upscaling": set(),
    "repro.theory": set(),
    # Data, and what training on them costs.
    "data": {"repro.data"},
    "repro.data": {"repro.cost"},
    "repro.cost": set(),
    **{module: set() for module in GROUND},
    # What is public, for type checkers: at run time it is loaded by name when it is asked for.
    "repro": {"repro.library", "repro.upscaling"},
}
# Loading these takes seconds; parsing the workflow, which reads all of these folders, must not.
HEAVY = {"torch", "pandas", "matplotlib", "seaborn", "scipy", "sklearn", "datasets", "tokenizers"}
LIGHT = ("repro.suite", "repro.judge", "studies", "figures", "repro.cost", "repro.commands")
DRAWS = {"repro.judge.drawing": {"matplotlib", "seaborn"}}  # imported by `draw` alone
FOLDERS = ("repro", "figures", "studies", "data", "benchmarks")


@cache
def modules() -> dict[str, ast.Module]:
    """Dotted name -> source, of every module of FOLDERS."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    names = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    return {
        ".".join(parts).removesuffix(".__init__"): ast.parse(path.read_text())
        for parts, path in zip(names, paths, strict=True)
    }


def is_ours(name: str) -> bool:
    return name in modules() or (ROOT / Path(*name.split("."))).is_dir()


def imported(tree: ast.AST, at_load: bool = False) -> set[str]:
    """Modules that a source imports; at_load: without what functions import when
    called, and types."""
    found, rest = set(), [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if is_ours(name) else node.module for name in inside}
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        later = isinstance(node, ast.FunctionDef | ast.Lambda) or for_types
        if not (at_load and later):
            rest += ast.iter_child_nodes(node)
    return found


def layer(name: str) -> str:
    """The entry of MAY_IMPORT a module belongs to: of repro a folder or module, else the top."""
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] == "repro" else 1])


@pytest.mark.parametrize("upper", sorted({layer(name) for name in modules()}))
def test_imports_go_one_way(upper):
    allowed = MAY_IMPORT[upper] | GROUND | {upper}
    for name, tree in modules().items():
        if layer(name) == upper:
            used = {layer(other) for other in imported(tree) if other.split(".")[0] in FOLDERS}
            assert used <= allowed, f"{name} imports {sorted(used - allowed)}"


def test_no_two_layers_need_each_other():
    """In the table itself: taking away what needs nothing more takes away everything."""
    left = {name: others - GROUND for name, others in MAY_IMPORT.items()}
    while left:
        free = {name for name, others in left.items() if not others & set(left)}
        assert free, f"these need each other: {sorted(left)}"
        left = {name: others for name, others in left.items() if name not in free}


def test_what_is_parsed_loads_nothing_heavy():
    for name, tree in modules().items():
        if name.startswith(LIGHT):
            heavy = {other.split(".")[0] for other in imported(tree, at_load=True)} & HEAVY
            assert heavy <= DRAWS.get(name, set()), f"{name} loads {sorted(heavy)} when imported"


def test_a_module_is_read_in_one_sitting():
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 400
    }
    assert not long
