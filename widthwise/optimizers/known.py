"""What is known of an optimizer, and the files that say it: those of this folder, or a user's own.

Such a file defines UPDATE, an `Update`, and has the optimizer's name; one of a user's own may
define CLASS too, the class itself. No torch until a class is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widthwise.errors import UserError, did_you_mean
from widthwise.files import names_in
from widthwise.printed import columns

if TYPE_CHECKING:
    import torch

FAMILIES = ("adam", "sgd")  # a table's rows, by the degree of an update


@dataclass(frozen=True)
class Update:
    """How an optimizer's steps follow its gradients (Ma et al., arXiv 2602.10545, Definition 2.3).

    degree: of the update in the gradients, with eps scaled as they are: an SGD step doubles with
        the gradient (1), an Adam step stays (0).
    state: key of a parameter's state -> the power of the gradient it scales with; counters have 0.
    decoupled: weight decay is not added to the gradient; None: a setting of the class decides.
    eps: the class's own, which is added to what has the size of a gradient; None: there is none.
    entrywise: a step acts entry by entry, so that it can be widened with its model.
    matrices: settings of groups of matrices between two widths, where these have an update of
        their own whose spectral norm a setting decides, as Muon's; None: all are updated alike.
    matrix_lr: exponent of the width in the factor on their rate that keeps that norm the root of
        outputs over inputs, where both grow.
    name: of its file. path: of its class, or the class itself; "": torch has none.
    """

    degree: int
    state: Mapping[str, int] = field(default_factory=dict)
    decoupled: bool | None = False
    eps: float | None = None
    entrywise: bool = True
    matrices: Mapping[str, Any] | None = None
    matrix_lr: float = 0.0
    name: str = "an optimizer of your own"
    path: Any = ""

    def __str__(self) -> str:
        adds = {True: "apart from the gradient", False: "added to the gradient", None: "a setting"}
        rows = [
            ("optimizer", self.name),
            ("degree in the gradient", str(self.degree)),
            ("weight decay", adds[self.decoupled]),
            ("eps", "-" if self.eps is None else f"{self.eps:g}"),
            ("matrices by themselves", "no" if self.matrices is None else "yes"),
            ("can be widened", "yes" if self.entrywise else "no"),
            *((f"state {key}", f"gradient^{power}") for key, power in self.state.items()),
        ]
        return "\n".join(columns(rows))

    @property
    def family(self) -> str:
        """By which a table has its rows: "sgd" or "adam"."""
        return FAMILIES[self.degree]

    @property
    def kind(self) -> Any:
        """The class itself; UserError where torch has none."""
        if not isinstance(self.path, str):
            return self.path
        module, _, name = self.path.rpartition(".")
        found = getattr(import_module(module), name, None) if module else None
        if found is None:
            raise UserError(
                f"optimizer {self.name}: torch {import_module('torch').__version__} has no such "
                "class: give the class itself, or its groups to a class of your own"
            )
        return found


ADAM = {"step": 0, "exp_avg": 1, "exp_avg_sq": 2, "max_exp_avg_sq": 2}


@cache
def shipped() -> dict[str, Update]:
    """Name -> what its file says, of the files of this folder."""
    stems = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    updates = {
        stem.replace("_", "-"): import_module(f"{__package__}.{stem}").UPDATE
        for stem in stems
        if stem != "known"
    }
    return {name: replace(update, name=name) for name, update in updates.items()}


def find(optimizer: "str | type[torch.optim.Optimizer] | Update") -> Update:
    """What is known of an optimizer.

    optimizer: a name (`shipped`), the path of a file, an `Update`, or a class: one of torch's is
        the same as its name, of any other it is seen (`_probed`).
    Raises UserError where nothing is known of it.
    """
    if isinstance(optimizer, Update):
        return optimizer
    if isinstance(optimizer, str) and optimizer.endswith(".py"):
        return _of_file(optimizer)
    if not isinstance(optimizer, str):
        return _of_class(optimizer)
    by_class = {update.path.rpartition(".")[2]: update for update in shipped().values()}
    found = shipped().get(optimizer.lower()) or by_class.get(optimizer)
    if found is None:
        meant = did_you_mean(optimizer.rpartition(".")[2].lower(), shipped())
        raise UserError(
            f"optimizer {optimizer}: {meant}; or give the path of a file that defines UPDATE "
            "(docs/library.md)"
        )
    return found


def _of_class(kind: Any) -> Update:
    """What is known of a class of torch's, or else what it is seen to do."""
    for update in shipped().values():
        if update.path and update.kind is kind:
            return update
    name = f"{kind.__module__}.{kind.__qualname__}"
    try:
        found = import_module(f"{__package__}._probed").of_class(kind)  # it loads torch
    except UserError as error:
        choose = ", ".join(sorted(shipped()))
        raise UserError(f"optimizer {name}: its {error}: choose from {choose}") from None
    if found is None:
        raise UserError(
            f"optimizer {name}: what it does to a small tensor cannot be seen: give a ww.Update, "
            "or the path of a file that defines UPDATE (docs/library.md)"
        )
    return found


def _of_file(path: str) -> Update:
    defined = names_in(path)
    update = defined.get("UPDATE")
    if not isinstance(update, Update):
        raise UserError(f"{path}: defines no UPDATE, a widthwise.Update")
    return replace(update, name=Path(path).stem, path=defined.get("CLASS", update.path))
