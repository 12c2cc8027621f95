"""The files of the checkout whose code can move the result of a run. No torch."""

from collections.abc import Mapping
from functools import cache

from repro.suite.checkout import ROOT
from repro.suite.code import NAMED, file_of, imports, reached
from repro.suite.spec import settings
from repro.suite.uses import module_of
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
