"""A run, its id, and what it takes from upstream stages. No torch."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from repro.core.spec import override, settings
from repro.core.study import Best, Checkpoint, Proposal, Reference
from repro.cost import Cost
from repro.files import canonical_json, sha256
from repro.tasks import TASKS

SEED = "seed"  # the setting of a spec, and the axis
BLANK = "\0"  # begins what stands in a text for what differs
_ANY_SEED = object()


class Among(tuple["Run", ...]):
    """Runs of an upstream stage to choose from; all runs that choose from the same share it."""

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(run.id for run in self)

    @cached_property
    def text(self) -> bytes:
        """Their ids as JSON."""
        return canonical_json(self.ids)


@dataclass(frozen=True)
class Upstream:
    """A reference in a run's spec, with the upstream runs that it chooses from."""

    reference: Reference
    runs: Among

    def choose(self, read: Callable[["Run"], Mapping]) -> Any:
        """What is taken. read: upstream run -> its result, with "file" and "sha256" of its
        checkpoint if it has one."""
        return self.reference.choose([{**read(run), "window": run.window} for run in self.runs])

    @property
    def identity(self) -> dict:
        """What is taken as it enters an id; the window where that is not one evaluation, so that
        the ids of before stay."""
        run = self.runs[0]
        own = run.window and run.window * run.spec["evaluations"] != run.spec["steps"]
        return reference_identity(self.reference) | ({"window": run.window} if own else {})


def reference_identity(reference: Reference) -> dict:
    """A reference as it enters an id.

    Do not change a word here when a class or field is renamed: the id of every run that takes
    something from upstream would change, and all of them would be trained again.
    """
    common = {"stage": reference.stage, "metric": reference.metric, "over": reference.over}
    fields: dict[str, object]
    match reference:
        case Best():
            fields = {"key": reference.key, "where": reference.where}
            return {"Best": common | fields | {"recorded": reference.recorded}}
        case Checkpoint():
            return {"Checkpoint": common | {"pick": reference.pick, "join": reference.join}}
        case Proposal():
            fields = {"key": reference.key, "axes": reference.axes, "number": reference.number}
            return {"Proposal": common | fields | {"neighbourhood": reference.neighbourhood}}


@dataclass(frozen=True)
class Run:
    """One run of a task: its settings, what it reads, and its id.

    spec: settings; those taken from upstream stages are Upstream until `resolve`.
    axes: the run's point in the grid, axis -> value. datasets: what it reads, name -> identity.
    identity: spec -> the settings that enter the id (`repro.tasks.Task`). window: of its final
    losses, as its scale has it (`study.Scale`).
    """

    task: str
    task_version: int
    spec: Mapping[str, Any]
    axes: Mapping[str, Any]
    datasets: Mapping[str, Any]
    identity: Callable[[Mapping], Mapping] = dict
    window: int = 0

    @cached_property
    def form(self) -> "Form":
        """What it shares with the runs of its grid point."""
        return Form(self)

    @cached_property
    def id(self) -> str:
        """SHA-256 of what the run trains, the task's version and the datasets' identities."""
        return sha256(self.form.identified(self))

    @property
    def cost(self) -> Cost:
        """What it takes."""
        return self.form.cost

    @cached_property
    def upstream(self) -> dict[str, Upstream]:
        """Dotted key -> what is taken there from an upstream stage."""
        return {key: v for key, v in settings(self.spec) if isinstance(v, Upstream)}

    def resolve(self, choose: Callable[[Upstream], Any]) -> tuple[dict, dict]:
        """(the spec with a value for everything taken from upstream, dotted key -> tuned value).

        choose: what is taken of an upstream (`repro.core.upstream.UpstreamResults.choose`).
        """
        values = {key: choose(upstream) for key, upstream in self.upstream.items()}
        tuned = {
            key: value
            for key, value in values.items()
            if isinstance(self.upstream[key].reference, (Best, Proposal))
            and not isinstance(value, Mapping)
        }
        return override(self.spec, values), tuned


class Form:
    """What the runs of a grid point share, which differ in nothing but the seed and the upstream
    runs that they choose from. run: one of them."""

    def __init__(self, run: Run):
        self.run = run

    @cached_property
    def cost(self) -> Cost:
        """What each of them takes."""
        return TASKS[self.run.task].cost(self.run.spec)

    @cached_property
    def _pieces(self) -> list[bytes]:
        """The JSON of what they are known by, cut at what differs; between two pieces the name of
        what belongs there."""
        run, names = self.run, {id(each): key for key, each in self.run.upstream.items()}

        def stand_in(value: Any) -> object:
            if value is _ANY_SEED:
                return BLANK + SEED
            if isinstance(value, Upstream):
                return value.identity | {"of": BLANK + names[id(value)]}
            return dict(value)

        identity = {
            "task": run.task,
            "version": run.task_version,
            "spec": run.identity({**run.spec, SEED: _ANY_SEED} if SEED in run.spec else run.spec),
            "datasets": run.datasets,
        }
        return re.split(rb'"\\u0000([^"]*)"', canonical_json(identity, stand_in))

    def identified(self, run: Run) -> bytes:
        """The JSON of what one of them is known by. What is taken from upstream enters by the ids
        of the upstream runs to choose from, because which of them is chosen is known only after
        they have run."""
        blanks = {key.encode(): each.runs.text for key, each in run.upstream.items()}
        if SEED in run.spec:
            blanks[SEED.encode()] = canonical_json(run.spec[SEED])
        fixed, named = self._pieces[::2], self._pieces[1::2]
        filled = (blanks[name] + piece for name, piece in zip(named, fixed[1:], strict=True))
        return fixed[0] + b"".join(filled)
