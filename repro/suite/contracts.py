"""Whether a file of figures/, studies/ or data/ defines what the suite will ask of it. No torch.

The contracts themselves stand where their authors look: `repro.judge.figure.Figure`,
`repro.suite.study.Study`, `repro.data.prepare.Dataset`. Every check raises UserError with one line
that names the file and what is missing or wrong.
"""

import ast
import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

from repro.errors import UserError, did_you_mean, nearest
from repro.suite.spec import lookup, override, settings
from repro.suite.study import REFERENCES, SCALES, Best, Study
from repro.tasks import TASKS

# What a task is called with besides its settings (`repro.tasks`).
CONTEXT = {"inputs", "device", "progress", "checkpoint", "loaded"}
FUNCTIONS = {"reduce": ["runs"], "measure": ["data", "scale"], "draw": ["data", "scale"]}


def check_figure(file: str, module: ModuleType) -> None:
    """Hold a file of figures/ against `repro.judge.figure.Figure`."""
    texts = ("TITLE", "CAPTION")
    wanted = [*texts, "STUDIES", "CLAIMS", *FUNCTIONS]
    _check_names(file, module, wanted, "repro/judge/figure.py")
    for name in texts:
        if not isinstance(getattr(module, name), str):
            raise UserError(f"{file}: {name} is {_kind(getattr(module, name))}, not a text")
    for name, arguments in FUNCTIONS.items():
        _check_call(file, name, getattr(module, name), arguments)
    studies = module.STUDIES
    if not _is_listed(studies) or not studies or not all(isinstance(s, str) for s in studies):
        raise UserError(f"{file}: STUDIES is {studies!r}; give names, as ('paper/study',)")
    _check_claims(file, module.CLAIMS)


def _check_claims(file: str, claims: object) -> None:
    figure = Path(file).stem
    if not _is_listed(claims):
        raise UserError(f"{file}: CLAIMS is {_kind(claims)}; give a tuple of Claim")
    seen = set()
    for claim in claims:
        if not hasattr(claim, "expected"):
            raise UserError(f"{file}: CLAIMS holds {_kind(claim)}, not a Claim")
        if not claim.id.startswith(f"{figure}."):
            raise UserError(f"{file}: claim {claim.id!r} must be named '{figure}.<name>'")
        if claim.id in seen:
            raise UserError(f"{file}: claim {claim.id!r} is there twice")
        seen.add(claim.id)
        for scale in claim.expected:
            if scale not in SCALES:
                words = did_you_mean(scale, SCALES)
                raise UserError(f"{file}: claim {claim.id!r}: unknown scale {scale!r}, {words}")


def check_dataset(file: str, module: ModuleType) -> None:
    """Hold a file of data/ against `repro.data.prepare.Dataset`."""
    contract = "repro/data/prepare.py"
    _check_names(file, module, ["identity", "describe"], contract)
    kinds = ("splits", "arrays", "CORPUS")
    if not any(hasattr(module, name) for name in kinds):
        raise UserError(f"{file}: defines none of {', '.join(kinds)}; see Dataset in {contract}")
    for name in ("identity", "describe", "splits", "arrays", "image_folder"):
        if hasattr(module, name):
            _check_call(file, name, getattr(module, name), ["source"])


def check_studies(file: str, module: ModuleType) -> None:
    """Hold a file of studies/ against `Study`: its STUDY, or each of its STAGES."""
    alone, stages = hasattr(module, "STUDY"), hasattr(module, "STAGES")
    if not alone and not stages:
        near = _near("STAGES", module) or _near("STUDY", module)
        raise UserError(f"{file}: defines neither STUDY nor STAGES{near}")
    if alone and stages:
        raise UserError(f"{file}: defines STUDY and STAGES; make the one a stage of the other")
    if alone:
        _check_study(file, module.STUDY, {})
        return
    if not isinstance(module.STAGES, Mapping) or not module.STAGES:
        raise UserError(f"{file}: STAGES is not a mapping of names to studies")
    before: dict[str, Study] = {}
    for name, study in module.STAGES.items():
        if not isinstance(name, str) or not name or set(name) & set("/+, "):
            raise UserError(f"{file}: stage {name!r}: give a name without '/', '+', ',' or space")
        _check_study(f"{file}: stage {name}", study, before)
        before[name] = study


def _check_study(place: str, study: Study, before: Mapping[str, Study]) -> None:
    """One stage. before: the stages above it, which it may take from."""
    if not isinstance(study, Study):
        raise UserError(f"{place}: is {_kind(study)}, not a Study")
    if study.task not in TASKS:
        raise UserError(f"{place}: unknown task {study.task!r}: {did_you_mean(study.task, TASKS)}")
    _check_values(f"{place}: spec", study.spec)
    _check_grid(f"{place}: grid", study.grid)
    for name, scale in study.scales.items():
        _check_values(f"{place}: spec of scale {name}", scale.spec)
        _check_grid(f"{place}: grid of scale {name}", scale.grid)
    for axis in set(study.search) - set(study.grid):
        words = did_you_mean(axis, study.grid)
        raise UserError(f"{place}: search names {axis!r}, no axis of its grid: {words}")
    points = {name: _first_point(place, study, name) for name in study.scales}
    if all(spec is None for spec in points.values()):
        raise UserError(f"{place}: an axis of its grid is empty at every scale: it has no runs")
    for spec in (spec for spec in points.values() if spec is not None):
        for key, value in settings(spec):
            if isinstance(value, REFERENCES):
                _check_reference(f"{place}: {key}", value, before)
        _check_task_reads(place, study.task, spec)


def _check_values(place: str, value: object, key: str = "") -> None:
    """A setting is a JSON value, or taken from another stage; a number is finite, and not negative
    where its key names a learning rate."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            _check_values(f"{place}: {name}", each, f"{key}.{name}")
    elif _is_listed(value):
        for each in value:
            _check_values(place, each, key)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{place}: is {value}; a setting is a finite number")
    elif isinstance(value, (int, float)) and value < 0 and _is_learning_rate(key):
        raise UserError(f"{place}: is {value}; a learning rate is 0 or more")
    elif not isinstance(value, (str, int, float, type(None), *REFERENCES)):
        raise UserError(f"{place}: is {_kind(value)}; a setting is a number, a text or a list")


def _is_learning_rate(key: str) -> bool:
    """Whether a dotted key ends in a name such as lr, lr_up or final_lr, or in a part of `lr`."""
    *_, parent, name = ["", *key.split(".")]
    return "lr" in name.split("_") or parent == "lr"


def _check_grid(place: str, grid: Mapping[str, Sequence]) -> None:
    for axis, values in grid.items():
        if not _is_listed(values):
            raise UserError(f"{place}: axis {axis} is {values!r}; give a list of values")
        _check_values(f"{place}: {axis}", values, axis)


def _first_point(place: str, study: Study, scale_name: str) -> dict | None:
    """The settings of a scale's first run, None where it has none; every axis is of settings."""
    scale = study.scales[scale_name]
    place = f"{place}: scale {scale_name}"
    _check_settings(place, study.spec, scale.spec)
    base = override(study.spec, scale.spec)
    first: dict[str, object] = {}
    empty = False
    for axis, values in study.grid.items():
        values = scale.grid.get(axis, values)
        points = [value if isinstance(value, Mapping) else {axis: value} for value in values]
        for point in points:
            _check_settings(f"{place}: axis {axis}", base, point)
        empty = empty or not points
        first |= points[0] if points else {}
    return None if empty else override(base, first)


def _check_settings(place: str, spec: Mapping, paths: Iterable[str]) -> None:
    """Each dotted key is a setting of a spec."""
    for path in paths:
        try:
            lookup(spec, path)
        except (KeyError, TypeError):
            words = did_you_mean(path, _keys(spec))
            raise UserError(f"{place}: the spec has no setting {path!r}: {words}") from None


def _keys(spec: Mapping, prefix: str = "") -> Iterator[str]:
    """Dotted keys of a spec, of its mappings too."""
    for key, value in spec.items():
        yield prefix + key
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{key}.")


def _check_reference(place: str, reference, before: Mapping[str, Study]) -> None:
    """A reference names a stage above its own, and settings which that one has."""
    if reference.stage not in before:
        known = did_you_mean(reference.stage, before) if before else "there is none above it"
        raise UserError(f"{place}: takes from {reference.stage!r}, no stage above its own: {known}")
    upstream = before[reference.stage]
    if isinstance(reference, Best):
        own = () if reference.recorded else (reference.key,)
        _check_settings(
            f"{place}: stage {reference.stage}", upstream.spec, (*own, *reference.where)
        )
    for axis in sorted(set(getattr(reference, "join", ())) - set(upstream.grid)):
        words = did_you_mean(axis, upstream.grid)
        raise UserError(f"{place}: stage {reference.stage} has no axis {axis!r}: {words}")


def _check_task_reads(place: str, task: str, spec: Mapping) -> None:
    """The spec has the arguments of the task and no other, and what its inputs and cost need."""
    arguments = task_arguments(task)
    for name in sorted(arguments - set(spec)):
        near = nearest(name, set(spec) - arguments)
        words = f" (there is {near!r})" if near else ""
        raise UserError(f"{place}: the spec lacks {name!r}{words}, which task {task} asks for")
    for name in sorted(set(spec) - arguments):
        words = did_you_mean(name, arguments) if arguments else "it has none"
        raise UserError(f"{place}: {name!r} is no setting of task {task}: {words}")
    for name in ("needs", "cost"):
        try:
            getattr(TASKS[task], name)(spec)
        except KeyError as error:
            raise UserError(
                f"{place}: the spec has no setting {error}, which task {task} reads"
            ) from error


@cache
def task_arguments(task: str) -> frozenset[str]:
    """The settings a task asks for: the keywords of its module's `build`, or `run`.

    Read from its text, because importing it would load torch.
    """
    found = find_spec(TASKS[task].module)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(TASKS[task].module)
    source = Path(found.origin).read_text()
    functions = {n.name: n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)}
    chosen = functions.get("run") or functions["build"]
    return frozenset(argument.arg for argument in chosen.args.kwonlyargs) - CONTEXT


def _check_names(file: str, module: ModuleType, wanted: list[str], contract: str) -> None:
    missing = [name + _near(name, module) for name in wanted if not hasattr(module, name)]
    if missing:
        raise UserError(f"{file}: does not define {', '.join(missing)}; see {contract}")


def _near(name: str, module: ModuleType) -> str:
    """A name of the module that was probably meant to be this one, in brackets; or nothing."""
    found = nearest(name, [each for each in vars(module) if not each.startswith("_")])
    return f" (there is {found!r})" if found else ""


def _check_call(file: str, name: str, function: object, arguments: list[str]) -> None:
    """The suite can call a function with so many positional arguments."""
    words = f"{name}({', '.join(arguments)})"
    if not callable(function):
        raise UserError(f"{file}: {name} is {_kind(function)}, not a function {words}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise UserError(
            f"{file}: {name}{inspect.signature(function)} is called as {words}: {error}"
        ) from None


def _is_listed(value: object) -> TypeGuard[Sequence]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _kind(value: object) -> str:
    """The type of a value, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
