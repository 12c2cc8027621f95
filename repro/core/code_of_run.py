"""The code that a run depends on: the files whose code can move its result. No torch."""

from collections.abc import Mapping
from functools import cache

from repro.core.spec import settings
from repro.files import sha256
from repro.lineage import history
from repro.lineage.checkout import ROOT
from repro.lineage.code import NAMED, file_of, imports, listing, reached
from repro.lineage.provenance import commit
from repro.lineage.uses import module_of
from repro.tasks import TASKS

# What `Task.run` hands a run to: to the device, and if it trains to the loop.
CALLER, DEVICE, LOOP = (
    "repro/tasks/__init__.py",
    "repro/backend.py",
    "repro/training/loop.py",
)


def modules_of_run(task: str, spec: Mapping) -> tuple[str, ...]:
    """Where the code of a run begins: its task's module, and those that its settings name."""
    words = {
        value for _, value in settings(spec) if isinstance(value, str) and value.isidentifier()
    }
    named = {f"{folder}/{word}.py" for folder in NAMED for word in words}
    found = sorted(file for file in named if (ROOT / file).is_file())
    own = TASKS[task].module
    return own, *(name for name in map(module_of, found) if name != own)


@cache
def files_of_run(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Every file whose code can move the result of a run that begins in these modules.

    What prepares its data is not included: a run's inputs are known by their own digests. Nor is
    what calls it and writes its files, or `repro.tasks`, whose versions are part of run ids.
    """
    begin = [file for file in map(file_of, modules) if file] + [DEVICE]
    if LOOP in reached(begin):
        begin += [file for file in imports(CALLER) if file.startswith("repro/training/")]
    return tuple(sorted(reached(begin)))


def code_of(task: str, spec: Mapping) -> dict:
    """The code that a run depends on, as its provenance names it. "modules": where it begins.
    "code_sha256": of the listing of its files (`listing`). "commit": that of these files.
    "trees": git's ids of the folders they lie in at that commit, which a rebase keeps.

    It is that of the first call in a process: asked for before a run begins, it names the code that
    was loaded, whatever becomes of the files meanwhile.
    """
    return _code_of(modules_of_run(task, spec))


@cache
def _code_of(modules: tuple[str, ...]) -> dict:
    files = files_of_run(modules)
    folders = sorted({file.split("/")[0] for file in files})
    return {
        "modules": [*modules],
        "code_sha256": sha256(listing(files).encode()),
        "commit": commit(files),
        "trees": {folder: history.tree(folder) for folder in folders},
    }
