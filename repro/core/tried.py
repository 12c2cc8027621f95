"""A try: one test under a reader's settings, as other designs of the studies that it needs.

`studies` gives what is run in their place, at one scale. A design, an object of a study's `SCALES`,
knows what hangs on its widths (`at_widths`); so a target takes its base along, and a width its
vocabulary. Seeds, rates, steps and the optimizer are set in what the design runs. No torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from repro.core import axes, discovery
from repro.core.contracts import check_study
from repro.core.names import StageName
from repro.core.spec import settings
from repro.core.study import OPTIONAL_SCALES, SCALES, Study
from repro.errors import UserError, did_you_mean
from repro.files import key_of, read_as
from repro.lineage import checkout

FILE = "settings.json"
# Its file: the fields of `Tried`.
SEVERAL = {"stages": list[str], "widths": list[float], "rates": list[float]}
KIND = {"figure": str, "test": str, "seeds": int, "steps": int, "optimizer": str, "changes": dict}
KIND |= {"first": int, **SEVERAL}
DEFAULT = "reduced"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A test under other settings; what is not given is the study's own.

    figure: `<paper>/<figure>`. test: its id. stages: those that it is measured of.
    widths: in its quantity's units. seeds: how many, of no record; first: which of these is the
    first. rates: learning rates. steps: of a run. optimizer: its name. changes: field of a design,
    or dotted setting -> value.
    """

    figure: str
    test: str
    stages: Sequence[str]
    widths: Sequence[float] = ()
    seeds: int = 0
    first: int = 0
    rates: Sequence[float] = ()
    steps: int = 0
    optimizer: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What its files are kept by, beside scale and data."""
        return key_of([self.as_json()])

    def as_json(self) -> dict:
        """Its fields."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def modules(self) -> list[str]:
        """The studies behind its stages, `<paper>/<study>`."""
        return list(dict.fromkeys(StageName.parse(stage).module for stage in self.stages))

    def studies(self, scale: str) -> dict[str, Study]:
        """Stage -> what is run in its place at a scale, of all stages of its studies. Raises
        UserError, in the words of the command line, on what cannot be."""
        found: dict[str, Study] = {}
        for module in self.modules:
            found |= self._designed(module, scale)
        if self.optimizer:
            found = axes.by(found, scale, self.optimizer)
        if self.seeds:
            found = axes.seeded(found, scale, self.seeds, self.first)
        if self.rates:
            found = axes.rated(found, self.stages, scale, self.rates)
        if self.steps:
            found = axes.stepped(found, self.stages, scale, self.steps)
        earlier: dict[str, dict[str, Study]] = {}
        for name, study in found.items():
            origin = StageName.parse(name)
            above = earlier.setdefault(origin.module, {})
            if axes.has(study, scale):
                check_study(name, study, above, (scale,))
            above[origin.stage] = study
        return found

    def kept(self, module: ModuleType) -> Any:
        """What a file of a study defines that keeps this try: the STAGES of one of its studies, or
        its STUDY. At smoke scale, which proves the pipeline, they are as they were; where it cannot
        be, there are no runs. The scales whose designs are fitted to a night or a GPU it has not.

        module: the study. Raises UserError where it cannot be at the default scale."""
        name = module.__name__.removeprefix("studies.").replace(".", "/")
        own = {s: discovery.declared(s) for s in discovery.stages(name) if "+" not in s}
        scales = [scale for scale in SCALES if scale not in OPTIONAL_SCALES]
        at_scale = {
            scale: own if scale == SCALES[0] else self._kept(scale, own) for scale in scales
        }
        found = {
            StageName.parse(s).stage: replace(
                at_scale[DEFAULT][s],
                scales={scale: at_scale[scale][s].scales[scale] for scale in scales},
            )
            for s in own
        }
        return found if hasattr(module, "STAGES") else found[""]

    def _kept(self, scale: str, own: Mapping[str, Study]) -> Mapping[str, Study]:
        """What is kept of a scale; no runs where the try cannot be."""
        try:
            return self.studies(scale)
        except UserError:
            if scale == DEFAULT:
                raise
            return {
                name: axes.with_grid(study, scale, {next(iter(study.grid)): []})
                for name, study in own.items()
            }

    def _designed(self, module: str, scale: str) -> dict[str, Study]:
        """The stages of a study, with other settings and widths."""
        own = {s: discovery.declared(s) for s in discovery.stages(module) if "+" not in s}
        file = checkout.load(f"studies/{module}.py")
        designs = getattr(file, "SCALES", None)
        design = designs.get(scale) if isinstance(designs, Mapping) else None
        of_design = {k: v for k, v in self.changes.items() if _field(design, k) is not None}
        new = design
        for key, value in of_design.items():
            new = _replaced(new, key, value)
        knows = hasattr(design, "at_widths")
        if self.widths and knows and new is not None:
            new = new.at_widths(self.widths)
        if new is not design:
            made = file.stages(new)
            # Of a stage that a design lacks there are no runs (`study.studies`).
            its = {n: made.get(StageName.parse(n).stage, s.scales[scale]) for n, s in own.items()}
            own = {n: replace(s, scales={**s.scales, scale: its[n]}) for n, s in own.items()}
        if self.widths and not knows:
            own = axes.widened(own, self.stages, scale, self.widths)
        return _set(own, scale, {k: v for k, v in self.changes.items() if k not in of_design})


def _field(design: Any, key: str) -> Any:
    """The value of a design's field by its dotted name; None where it has none of that name."""
    for name in key.split("."):
        if isinstance(design, Mapping):
            design = design.get(name)
        elif is_dataclass(design) and name in {each.name for each in fields(design)}:
            design = getattr(design, name)
        else:
            return None
    return design


def _replaced(design: Any, key: str, value: Any) -> Any:
    """A design with another value of a field."""
    name, _, rest = key.partition(".")
    its = design[name] if isinstance(design, Mapping) else getattr(design, name)
    new = _replaced(its, rest, value) if rest else _alike(key, its, value)
    return {**design, name: new} if isinstance(design, Mapping) else replace(design, **{name: new})


def _alike(key: str, old: Any, new: Any) -> Any:
    """A value in the place of one of its kind; raises UserError on another kind."""
    if isinstance(old, Sequence) and not isinstance(old, str) and not isinstance(new, list):
        new = [new]
    number = axes.is_number(old) or old is None
    if (axes.is_number(new) != axes.is_number(old) and number and old is not None) or (
        isinstance(old, str) and not isinstance(new, str)
    ):
        raise UserError(f"--set {key}={new}: is {old!r}, give one like it")
    if isinstance(old, int) and axes.is_number(new) and new != int(new):
        raise UserError(f"--set {key}={new}: is {old!r}, give a whole number")
    return new


def _set(studies: Mapping[str, Study], scale: str, changes: Mapping[str, Any]) -> dict[str, Study]:
    """Stages with other settings, each by its dotted name or the end of it that no other has."""
    found = dict(studies)
    for key, value in changes.items():
        ran = {name: study for name, study in found.items() if axes.has(study, scale)}
        having = {name: dict(settings(study.settings(scale))) for name, study in ran.items()}
        known = sorted({name for own in having.values() for name in own})
        full = [n for n in known if n == key] or [n for n in known if n.endswith(f".{key}")]
        if len(full) != 1:
            near = f"is {' or '.join(full)}" if full else did_you_mean(key, known)
            raise UserError(f"--set {key}: no study here has it, {near}")
        name = full[0]
        for stage, own in having.items():
            if name in own:
                study = found[stage]
                if name in study.grid:
                    found[stage] = axes.with_grid(study, scale, {name: [value]})
                elif any(
                    name in axes.settings_of(axis, value)
                    for axis in study.grid
                    for value in axes.at(study, scale, axis)
                ):
                    raise UserError(
                        f"--set {key}: {stage} sets it with others at once; write a study"
                    )
                else:
                    new = _alike(key, own[name], value)
                    found[stage] = axes.with_spec(study, scale, {name: new})
    return found


def load(path: Path) -> Tried:
    """A try by its file, as `save` wrote it. Raises UserError where it is none."""
    said: dict[str, Any] = read_as(path, KIND, "give the file that repro try wrote")
    own: dict[str, Any] = {key: said[key] for key in KIND}
    return Tried(**own | {key: tuple(own[key]) for key in SEVERAL})
