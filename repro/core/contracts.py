"""Checks that a file of studies/ or data/ defines what the suite uses. No torch.

What it must define is written in `repro.core.study.Study` and `repro.data.prepare.Dataset`; a
figure's file is checked by `repro.verdicts.figure.Figure` itself. Every check raises UserError with
one line that names the file and what is missing or wrong.
"""

import ast
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from repro.core.spec import lookup, override, settings
from repro.core.study import REFERENCES, SCALES, Best, Study
from repro.errors import UserError, did_you_mean, nearest
from repro.lineage.checkout import check_call, is_listed, kind, near_name
from repro.tasks import SHARED, TASKS
from repro.training.settings import misfit

# Arguments of a task that the suite passes; all others are the study's settings (`repro.tasks`).
CONTEXT = {"inputs", "device", "progress", "checkpoint"}


def check_dataset(file: str, module: ModuleType) -> None:
    """Check a file of data/ against `repro.data.prepare.Dataset`."""
    contract = "repro/data/prepare.py"
    _check_names(file, module, ["identity", "describe"], contract)
    kinds = ("splits", "arrays", "CORPUS")
    if not any(hasattr(module, name) for name in kinds):
        raise UserError(f"{file}: defines none of {', '.join(kinds)}; see Dataset in {contract}")
    for name in ("identity", "describe", "splits", "arrays", "image_folder"):
        if hasattr(module, name):
            check_call(file, name, getattr(module, name), ["source"])


def check_studies(file: str, module: ModuleType, scales: Collection[str] = SCALES) -> None:
    """Check a file of studies/ against `Study`: its STUDY, or each of its STAGES. scales: at which
    its runs are checked, each that it has."""
    has_study, has_stages = hasattr(module, "STUDY"), hasattr(module, "STAGES")
    if not has_study and not has_stages:
        near = near_name("STAGES", module) or near_name("STUDY", module)
        raise UserError(f"{file}: defines neither STUDY nor STAGES{near}")
    if has_study and has_stages:
        raise UserError(f"{file}: defines STUDY and STAGES; make the one a stage of the other")
    if has_study:
        check_study(file, module.STUDY, {}, scales)
        return
    if not isinstance(module.STAGES, Mapping) or not module.STAGES:
        raise UserError(f"{file}: STAGES is not a mapping of names to studies")
    earlier: dict[str, Study] = {}
    for name, study in module.STAGES.items():
        if not isinstance(name, str) or not name or set(name) & set("/+, "):
            raise UserError(f"{file}: stage {name!r}: give a name without '/', '+', ',' or space")
        check_study(f"{file}: stage {name}", study, earlier, scales)
        earlier[name] = study


def check_study(
    place: str, study: Study, earlier: Mapping[str, Study], scales: Collection[str]
) -> None:
    """Check one stage. earlier: the stages above it in the file, which it may refer to."""
    if not isinstance(study, Study):
        raise UserError(f"{place}: is {kind(study)}, not a Study")
    if study.task not in TASKS:
        raise UserError(f"{place}: unknown task {study.task!r}: {did_you_mean(study.task, TASKS)}")
    _check_values(f"{place}: spec", study.spec)
    _check_grid(f"{place}: grid", study.grid)
    asked = [name for name in study.scales if name in scales]
    for name in asked:
        _check_values(f"{place}: spec of scale {name}", study.scales[name].spec)
        _check_grid(f"{place}: grid of scale {name}", study.scales[name].grid)
    for axis in set(study.search) - set(study.grid):
        hint = did_you_mean(axis, study.grid)
        raise UserError(f"{place}: search names {axis!r}, no axis of its grid: {hint}")
    if not any(all({**study.grid, **scale.grid}.values()) for scale in study.scales.values()):
        raise UserError(f"{place}: an axis of its grid is empty at every scale: it has no runs")
    points = [_first_point(place, study, name) for name in asked]
    for spec in (spec for spec in points if spec is not None):
        for key, value in settings(spec):
            if isinstance(value, REFERENCES):
                _check_reference(f"{place}: {key}", value, earlier)
        _check_task_reads(place, study.task, spec)


def _check_values(place: str, value: object, key: str = "") -> None:
    """Check that a setting is a JSON value or a reference to another stage, numbers are finite, and
    a learning rate (by its dotted key) is not negative."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            _check_values(f"{place}: {name}", each, f"{key}.{name}")
    elif is_listed(value):
        for each in value:
            _check_values(place, each, key)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{place}: is {value}; a setting is a finite number")
    elif isinstance(value, (int, float)) and value < 0 and _is_learning_rate(key):
        raise UserError(f"{place}: is {value}; a learning rate is 0 or more")
    elif not isinstance(value, (str, int, float, type(None), *REFERENCES)):
        raise UserError(f"{place}: is {kind(value)}; a setting is a number, a text or a list")


def _is_learning_rate(key: str) -> bool:
    """Whether a dotted key is that of a learning rate: lr, lr_up, final_lr, or lr.<anything>."""
    *_, parent, name = ["", *key.split(".")]
    return "lr" in name.split("_") or parent == "lr"


def _check_grid(place: str, grid: Mapping[str, Sequence]) -> None:
    for axis, values in grid.items():
        if not is_listed(values):
            raise UserError(f"{place}: axis {axis} is {values!r}; give a list of values")
        _check_values(f"{place}: {axis}", values, axis)


def _first_point(place: str, study: Study, scale_name: str) -> dict | None:
    """The settings of a scale's first run, None if an axis of its grid is empty.

    Checks on the way that the scale and every value of every axis set only settings of the spec.
    """
    scale = study.scales[scale_name]
    place = f"{place}: scale {scale_name}"
    _check_settings(place, study.spec, scale.spec)
    base = override(study.spec, scale.spec)
    first: dict[str, object] = {}
    empty = False
    choices = scale.population.choices if scale.population else {}
    drawn = {name: [*choice.levels.values()] for name, choice in choices.items()}
    for axis, values in {**study.grid, **scale.grid, **drawn}.items():
        points = [value if isinstance(value, Mapping) else {axis: value} for value in values]
        for point in points:
            _check_settings(f"{place}: axis {axis}", base, point)
            for name in sorted(TASKS[study.task].records.names & {*point}):
                raise UserError(
                    f"{place}: axis {axis} sets {name}, which task {study.task} records: in the "
                    "table the one would replace the other; name the setting otherwise"
                )
        empty = empty or not points
        first |= points[0] if points else {}
    return None if empty else override(base, first)


def _check_settings(place: str, spec: Mapping, paths: Iterable[str]) -> None:
    """Check that each dotted key is a setting of the spec."""
    for path in paths:
        try:
            lookup(spec, path)
        except (KeyError, TypeError):
            hint = did_you_mean(path, _keys(spec))
            raise UserError(f"{place}: the spec has no setting {path!r}: {hint}") from None


def _keys(spec: Mapping, prefix: str = "") -> Iterator[str]:
    """Dotted keys of a spec, those of its nested mappings included."""
    for key, value in spec.items():
        yield prefix + key
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{key}.")


def _check_reference(place: str, reference, earlier: Mapping[str, Study]) -> None:
    """Check that a reference names an earlier stage, and settings and axes that this stage has."""
    if reference.stage not in earlier:
        hint = did_you_mean(reference.stage, earlier) if earlier else "there is none above it"
        raise UserError(f"{place}: takes from {reference.stage!r}, no stage above its own: {hint}")
    upstream = earlier[reference.stage]
    if isinstance(reference, Best):
        # A recorded value is an entry of the task's records, which no contract lists.
        keys = () if reference.recorded else (reference.key,)
        _check_settings(
            f"{place}: stage {reference.stage}", upstream.spec, (*keys, *reference.where)
        )
    for axis in sorted(set(getattr(reference, "join", ())) - set(upstream.grid)):
        hint = did_you_mean(axis, upstream.grid)
        raise UserError(f"{place}: stage {reference.stage} has no axis {axis!r}: {hint}")


def _check_task_reads(place: str, task: str, spec: Mapping) -> None:
    """Check that a spec has the task's settings and no others, and that the task's inputs and cost
    can be computed from it."""
    arguments = settings_of(task, spec)
    for name in sorted(arguments - set(spec)):
        near = nearest(name, set(spec) - arguments)
        hint = f" (there is {near!r})" if near else ""
        raise UserError(f"{place}: the spec lacks {name!r}{hint}, which task {task} asks for")
    for name in sorted(set(spec) - arguments):
        hint = did_you_mean(name, arguments) if arguments else "it has none"
        raise UserError(f"{place}: {name!r} is no setting of task {task}: {hint}")
    optimizer = spec.get("optimizer")
    if isinstance(optimizer, Mapping):
        taken = [key for key, value in optimizer.items() if isinstance(value, REFERENCES)]
        if wrong := misfit(optimizer, taken):
            raise UserError(f"{place}: optimizer {wrong}")
    for name in ("needs", "cost"):
        try:
            getattr(TASKS[task], name)(spec)
        except KeyError as error:
            raise UserError(
                f"{place}: the spec has no setting {error}, which task {task} reads"
            ) from error


def settings_of(task: str, spec: Mapping) -> frozenset[str]:
    """The settings that a spec of a task has: its own and, where it looks at a run of another
    task, which its setting `trains` names, that one's as well."""
    own = task_arguments(task)
    trained = spec.get("trains") if "trains" in own else None
    return own | task_arguments(trained) if trained in TASKS else own


@cache
def task_arguments(task: str) -> frozenset[str]:
    """The settings of a task: keyword arguments of its module's `run`, or else of its `build`
    and those that all have that train.

    They are read from the source, because importing the module would load torch.
    Raises UserError, naming the file, where that is no Python or defines neither.
    """
    module = find_spec(TASKS[task].module)
    if module is None or module.origin is None:
        raise ModuleNotFoundError(TASKS[task].module)
    file = f"{TASKS[task].module.replace('.', '/')}.py"
    try:
        parsed = ast.parse(Path(module.origin).read_text())
    except SyntaxError as error:
        raise UserError(f"{file}, line {error.lineno}: {error.msg}") from error
    functions = {n.name: n for n in parsed.body if isinstance(n, ast.FunctionDef)}
    function = functions.get("run") or functions.get("build")
    if function is None:
        raise UserError(f"{file}: defines neither run nor build; see repro/tasks/__init__.py")
    own = {argument.arg for argument in function.args.kwonlyargs} - CONTEXT
    return frozenset(own if function.name == "run" else own.union(SHARED))


def _check_names(file: str, module: ModuleType, wanted: list[str], contract: str) -> None:
    missing = [name + near_name(name, module) for name in wanted if not hasattr(module, name)]
    if missing:
        raise UserError(f"{file}: does not define {', '.join(missing)}; see {contract}")
