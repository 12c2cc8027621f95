"""The tree is the architecture: who may import whom, by folder and file, read from the imports."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from repro.lineage.checkout import ROOT

# A folder or module, from the top of the house to its ground -> what it may import besides itself.
# Everything may import the ground, which imports what stands here too; what is further up is in
# nobody's list. The library, its ground included, knows nothing of the suite.
LIBRARY_GROUND = {
    "widthwise.errors": set(),
    "widthwise.files": {"widthwise.errors"},
    "widthwise.hints": set(),
    "widthwise.identity": set(),
    "widthwise.printed": set(),
    "widthwise.statistics": set(),
}
GROUND = LIBRARY_GROUND | {
    "repro.errors": {"widthwise.errors"},
    "repro.statistics": {"widthwise.statistics"},
    "repro.files": {"repro.errors", "widthwise.files", "widthwise.hints"},
    "repro.cores": set(),
    "repro.backend": {"repro.errors"},
}
SUITE = {
    "benchmarks": {
        *("studies", "repro.__main__", "repro.lineage", "repro.core", "repro.workflow"),
        *("repro.tasks", "repro.training"),
        *("repro.models", "repro.data", "repro.cost"),
        *("widthwise", "widthwise.checks", "widthwise.parametrization", "widthwise.upscaling"),
    },
    # The command line.
    "repro.__main__": {
        *("repro", "repro.commands", "repro.workflow", "repro.core", "repro.lineage"),
        "repro.training",
    },
    "repro.commands": {
        *("repro.authoring", "repro.report", "repro.transfer_bench", "repro.products"),
        *("repro.verdicts", "repro.workflow", "repro.core", "repro.lineage"),
        "repro.data",
    },
    # What an author begins with: new files, planned tests.
    "repro.authoring": {
        *("repro.report", "repro.transfer_bench", "repro.products", "repro.verdicts"),
        *("repro.workflow", "repro.core", "repro.lineage"),
    },
    # What is shown of it, as pages.
    "repro.report": {
        *("repro.transfer_bench", "repro.products", "repro.verdicts", "repro.workflow"),
        *("repro.core", "repro.lineage", "widthwise.checks"),
    },
    "repro.transfer_bench": {
        *("repro.products", "repro.verdicts", "repro.workflow", "repro.core", "repro.lineage"),
        "widthwise.checks",
    },
    # What is made of a figure's runs, and kept.
    "repro.products": {
        *("repro", "repro.verdicts", "repro.workflow", "repro.core", "repro.lineage"),
    },
    # What is shown and claimed, and who judges it.
    "figures": {
        *("repro.transfer_bench", "repro.verdicts", "studies", "repro.core", "repro.lineage"),
        *("repro.tasks", "repro.theory"),
        *("widthwise.checks", "widthwise.parametrization"),
    },
    "repro.verdicts": {"repro.core", "repro.lineage", "widthwise.checks"},
    # What is run, and who runs it.
    "studies": {"repro.core", "repro.theory", "widthwise.parametrization"},
    "repro.workflow": {
        *("repro.core", "repro.lineage", "repro.tasks", "repro.training", "repro.data"),
        "repro.cost",
    },
    "repro.core": {
        *("repro.lineage", "repro.tasks", "repro.training", "repro.data", "repro.cost"),
        "widthwise.parametrization",
    },
    # Where it comes from: this checkout, its code, how a run was made.
    "repro.lineage": {"repro.cost"},
    # One experiment.
    "repro.tasks": {
        *("repro.training", "repro.models", "repro.theory", "repro.data", "repro.cost"),
        *("widthwise.parametrization", "widthwise.optimizers", "widthwise.upscaling"),
    },
    "repro.training": {"repro.cost", "widthwise.optimizers", "widthwise.parametrization"},
    # What it is made of, of use without any of the above.
    "repro.models": {"widthwise.parametrization"},
    "repro.theory": {"widthwise.parametrization"},
    # Data, and what training on them costs.
    "data": {"repro.data"},
    "repro.data": {"repro.cost"},
    "repro.cost": {"widthwise.parametrization"},
    "repro": {"widthwise"},  # its version, and where names are that were here
}
LIBRARY = {
    "widthwise.__main__": {"widthwise", "widthwise.commands"},
    "widthwise.commands": {
        *("widthwise", "widthwise.checks", "widthwise.parametrization"),
        *("widthwise.tracing", "widthwise.upscaling"),
    },
    # What is public, for type checkers: at run time it is loaded by name when it is asked for.
    "widthwise": {
        *("widthwise.checks", "widthwise.tracing", "widthwise.upscaling", "widthwise.clipping"),
        *("widthwise.parametrization", "widthwise.optimizers"),
    },
    "widthwise.checks": {
        *("widthwise.tracing", "widthwise.parametrization", "widthwise.optimizers"),
    },
    "widthwise.clipping": set(),
    "widthwise.hugging_face": {"widthwise.clipping", "widthwise.parametrization"},
    "widthwise.upscaling": {
        *("widthwise.tracing", "widthwise.parametrization", "widthwise.optimizers"),
    },
    "widthwise.tracing": {"widthwise.parametrization"},
    "widthwise.parametrization": {"widthwise.optimizers"},
    "widthwise.optimizers": set(),
}
MAY_IMPORT = {
    **{name: others | set(GROUND) for name, others in SUITE.items()},
    **{name: others | set(LIBRARY_GROUND) for name, others in LIBRARY.items()},
    **GROUND,
}
# Loading these takes seconds; parsing the workflow, which reads all of these folders, must not.
HEAVY = {"torch", "pandas", "matplotlib", "seaborn", "scipy", "sklearn", "datasets", "tokenizers"}
LIGHT = (
    *("repro.lineage", "repro.core", "repro.workflow", "repro.verdicts", "repro.products"),
    *("repro.transfer_bench", "repro.report", "repro.authoring"),
    *("studies", "figures", "repro.cost"),
    *(
        "repro.commands",
        "widthwise.parametrization",
        "widthwise.checks.joint",
        "widthwise.checks.regret",
        "widthwise.checks.sweep",
        "widthwise.statistics",
    ),
)
DRAWS = {"repro.verdicts.drawing": {"matplotlib", "seaborn"}}  # imported by `draw` alone
FOLDERS = ("widthwise", "repro", "figures", "studies", "data", "benchmarks")


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
    """The entry of MAY_IMPORT a module belongs to: of a package its folder, else the top."""
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] in ("repro", "widthwise") else 1])


@pytest.mark.parametrize("upper", sorted(MAY_IMPORT))
def test_imports_go_one_way(upper):
    allowed = MAY_IMPORT[upper] | {upper}
    for name, tree in modules().items():
        if layer(name) == upper:
            used = {layer(other) for other in imported(tree) if other.split(".")[0] in FOLDERS}
            assert used <= allowed, f"{name} imports {sorted(used - allowed)}"


def test_no_two_layers_need_each_other():
    """In the table itself: taking away what needs nothing more takes away everything."""
    left = dict(MAY_IMPORT)
    while left:
        free = {name for name, others in left.items() if not others & set(left)}
        assert free, f"these need each other: {sorted(left)}"
        left = {name: others for name, others in left.items() if name not in free}


def test_the_library_needs_nothing_of_the_suite_and_no_line_is_of_what_is_not_there():
    for name in LIBRARY | LIBRARY_GROUND:
        assert all(other.startswith("widthwise") for other in MAY_IMPORT[name]), name
    assert set(MAY_IMPORT) == {layer(name) for name in modules()}


def test_no_file_imports_what_imports_it():
    """Within functions and for types too: such a circle is read as one file. The library's own
    name is left out, whose public names are loaded when they are asked for."""
    ours = {name: tree for name, tree in modules().items() if name != "widthwise"}
    left = {name: imported(tree) & set(ours) - {name} for name, tree in ours.items()}
    while free := {name for name, others in left.items() if not others & set(left)}:
        left = {name: others for name, others in left.items() if name not in free}
    assert not left, sorted(left)


ROOMS = {path.parent for top in ("widthwise", "repro") for path in (ROOT / top).rglob("*.py")}


@pytest.mark.parametrize("room", sorted(ROOMS), ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_s_map_names_its_files(room):
    """A line a file, and no line of what is not there; a folder by its name, helpers of `tables`
    by their own."""
    lines = (ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or "").splitlines()
    entries = [line.split()[0] for line in lines if re.match(r" *\S+(\.py|/) +\S", line)]
    named = [entry.rstrip("/") for entry in entries]
    there = {path.name for path in room.glob("*.py")} - {"__init__.py"}
    there |= {path.parent.name for path in room.glob("*/__init__.py")}
    assert sorted(named) == sorted(there)


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
