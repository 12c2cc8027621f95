"""Checks that a file of figures/, studies/ or data/ defines what the suite uses. No torch.

What it must define is written in `repro.judge.figure.Figure`, `repro.suite.study.Study` and
`repro.data.prepare.Dataset`. Every check raises UserError with one line that names the file and
what is missing or wrong.
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
from repro.suite.names import CLAIM_IN_TEXT
from repro.suite.spec import lookup, override, settings
from repro.suite.study import REFERENCES, SCALES, Best, Study
from repro.tasks import TASKS

# Arguments of a task that the suite passes; all others are the study's settings (`repro.tasks`).
CONTEXT = {"inputs", "device", "progress", "checkpoint", "loaded"}
FUNCTIONS = {"reduce": ["runs"], "measure": ["data", "scale"]}
SHOWN = {"draw": ["data", "scale"], "table": ["data", "scale"]}  # one of them: a plot, or a table
ASIDES = ["data", "scale"]
SIMULATE = ["law", "recorded", "scale", "rng"]


def check_figure(file: str, module: ModuleType) -> None:
    """Check a file of figures/ against `repro.judge.figure.Figure`."""
    texts = ("TITLE", "CAPTION")
    shown = "table" if hasattr(module, "table") else "draw"
    functions = FUNCTIONS | {shown: SHOWN[shown]}
    wanted = [*texts, "STUDIES", "CLAIMS", *functions]
    _check_names(file, module, wanted, "repro/judge/figure.py")
    for name in texts:
        if not isinstance(getattr(module, name), str):
            raise UserError(f"{file}: {name} is {_kind(getattr(module, name))}, not a text")
    if shown == "table" and hasattr(module, "draw"):
        raise UserError(f"{file}: defines draw and table; leave out the one it is not")
    for name, arguments in functions.items():
        _check_call(file, name, getattr(module, name), arguments)
    studies = module.STUDIES
    if not _is_listed(studies) or not studies or not all(isinstance(s, str) for s in studies):
        raise UserError(f"{file}: STUDIES is {studies!r}; give names, as ('paper/study',)")
    _check_claims(file, module.CLAIMS)
    _check_laws(file, module)
    if hasattr(module, "asides"):
        if shown != "table":
            raise UserError(f"{file}: defines asides but no table, beside whose rows they would be")
        _check_call(file, "asides", module.asides, ASIDES)
    view = getattr(module, "VIEW", None)
    if view is not None and not all(hasattr(view, name) for name in ("x", "y", "only")):
        raise UserError(f"{file}: VIEW is {_kind(view)}; give a repro.judge.figure.View")
    _check_outcome(file, module)


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
                hint = did_you_mean(scale, SCALES)
                raise UserError(f"{file}: claim {claim.id!r}: unknown scale {scale!r}, {hint}")
        for bound in claim.expected.values():
            if not bound.basis and not math.isnan(bound.low):
                raise UserError(
                    f"{file}: claim {claim.id!r}: {bound}: says not where the bound comes from; "
                    "give it a basis, STATED, TOLERANCE or OURS of repro/judge/claims.py, and why"
                )


def _check_outcome(file: str, module: ModuleType) -> None:
    """Check a name that a figure need not have: OUTCOME."""
    text = getattr(module, "OUTCOME", "")
    if not isinstance(text, str) or "\n" in text:
        raise UserError(f"{file}: OUTCOME is {_kind(text)}; give one line of text")
    ids = [claim.id for claim in module.CLAIMS]
    for name in CLAIM_IN_TEXT.findall(text):
        if name not in ids:
            raise UserError(f"{file}: OUTCOME names {name!r}, no claim of it: {_hint(name, ids)}")


def _check_laws(file: str, module: ModuleType) -> None:
    """Check the two names that go together, and that a figure need not have: LAWS and simulate."""
    if not hasattr(module, "LAWS"):
        if hasattr(module, "simulate"):
            raise UserError(f"{file}: defines simulate but no LAWS{_near('LAWS', module)}")
        return
    if not isinstance(module.LAWS, Mapping):
        raise UserError(f"{file}: LAWS is {_kind(module.LAWS)}; give a mapping, claim id to Laws")
    ids = [claim.id for claim in module.CLAIMS]
    for claim, laws in module.LAWS.items():
        if claim not in ids:
            raise UserError(f"{file}: LAWS names {claim!r}, no claim of it: {_hint(claim, ids)}")
        if not hasattr(laws, "rivals"):
            raise UserError(f"{file}: LAWS of {claim!r} is {_kind(laws)}, not a Laws")
    _check_names(file, module, ["simulate"], "repro/judge/figure.py")
    _check_call(file, "simulate", module.simulate, SIMULATE)


def _hint(word: object, known: Sequence[str]) -> str:
    return did_you_mean(str(word), known) if known else "it has none"


def check_dataset(file: str, module: ModuleType) -> None:
    """Check a file of data/ against `repro.data.prepare.Dataset`."""
    contract = "repro/data/prepare.py"
    _check_names(file, module, ["identity", "describe"], contract)
    kinds = ("splits", "arrays", "CORPUS")
    if not any(hasattr(module, name) for name in kinds):
        raise UserError(f"{file}: defines none of {', '.join(kinds)}; see Dataset in {contract}")
    for name in ("identity", "describe", "splits", "arrays", "image_folder"):
        if hasattr(module, name):
            _check_call(file, name, getattr(module, name), ["source"])


def check_studies(file: str, module: ModuleType) -> None:
    """Check a file of studies/ against `Study`: its STUDY, or each of its STAGES."""
    has_study, has_stages = hasattr(module, "STUDY"), hasattr(module, "STAGES")
    if not has_study and not has_stages:
        near = _near("STAGES", module) or _near("STUDY", module)
        raise UserError(f"{file}: defines neither STUDY nor STAGES{near}")
    if has_study and has_stages:
        raise UserError(f"{file}: defines STUDY and STAGES; make the one a stage of the other")
    if has_study:
        _check_study(file, module.STUDY, {})
        return
    if not isinstance(module.STAGES, Mapping) or not module.STAGES:
        raise UserError(f"{file}: STAGES is not a mapping of names to studies")
    earlier: dict[str, Study] = {}
    for name, study in module.STAGES.items():
        if not isinstance(name, str) or not name or set(name) & set("/+, "):
            raise UserError(f"{file}: stage {name!r}: give a name without '/', '+', ',' or space")
        _check_study(f"{file}: stage {name}", study, earlier)
        earlier[name] = study


def _check_study(place: str, study: Study, earlier: Mapping[str, Study]) -> None:
    """Check one stage. earlier: the stages above it in the file, which it may refer to."""
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
        hint = did_you_mean(axis, study.grid)
        raise UserError(f"{place}: search names {axis!r}, no axis of its grid: {hint}")
    points = {name: _first_point(place, study, name) for name in study.scales}
    if all(spec is None for spec in points.values()):
        raise UserError(f"{place}: an axis of its grid is empty at every scale: it has no runs")
    for spec in (spec for spec in points.values() if spec is not None):
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
    """Whether a dotted key is that of a learning rate: lr, lr_up, final_lr, or lr.<anything>."""
    *_, parent, name = ["", *key.split(".")]
    return "lr" in name.split("_") or parent == "lr"


def _check_grid(place: str, grid: Mapping[str, Sequence]) -> None:
    for axis, values in grid.items():
        if not _is_listed(values):
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
    for axis, values in study.grid.items():
        values = scale.grid.get(axis, values)
        points = [value if isinstance(value, Mapping) else {axis: value} for value in values]
        for point in points:
            _check_settings(f"{place}: axis {axis}", base, point)
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
    """The settings of a task: keyword arguments of its module's `run`, or else of its `build`.

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
    return frozenset(argument.arg for argument in function.args.kwonlyargs) - CONTEXT


def _check_names(file: str, module: ModuleType, wanted: list[str], contract: str) -> None:
    missing = [name + _near(name, module) for name in wanted if not hasattr(module, name)]
    if missing:
        raise UserError(f"{file}: does not define {', '.join(missing)}; see {contract}")


def _near(name: str, module: ModuleType) -> str:
    """A hint at a similar name that the module does define, probably a misspelling; or ""."""
    similar = nearest(name, [other for other in vars(module) if not other.startswith("_")])
    return f" (there is {similar!r})" if similar else ""


def _check_call(file: str, name: str, function: object, arguments: list[str]) -> None:
    """Check that a function can be called with these positional arguments."""
    call = f"{name}({', '.join(arguments)})"
    if not callable(function):
        raise UserError(f"{file}: {name} is {_kind(function)}, not a function {call}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise UserError(
            f"{file}: {name}{inspect.signature(function)} is called as {call}: {error}"
        ) from None


def _is_listed(value: object) -> TypeGuard[Sequence]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _kind(value: object) -> str:
    """The type of a value, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
