"""Task name -> version, needs, cost, and the module whose `run` carries it out. No torch.

A change that changes a task's results must raise its version: ids contain it, and the golden
cells in tests/golden hold results against it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from repro import cost

TOKENIZATION = 1  # raise it when `repro.data.tokenization` gives other tokens


@dataclass(frozen=True)
class Tokens:
    """A need: a dataset's tokens at one vocabulary size."""

    dataset: str
    vocab_size: int


@dataclass(frozen=True)
class Task:
    """version: of its results. needs: spec -> inputs. flops: spec -> operations of one run."""

    version: int
    module: str
    needs: Callable[[Mapping], list[Tokens]]
    flops: Callable[[Mapping], float]

    def run(self, spec: Mapping, **context) -> list[dict]:
        """Carry out one run; the spec holds every keyword argument of the module's `run`.

        context: inputs (need -> manifest path), device name, progress, checkpoint path.
        Returns one record per evaluation.
        """
        return import_module(self.module).run(**spec, **context)


def _tokens(spec: Mapping) -> list[Tokens]:
    return [Tokens(spec["dataset"], spec["vocab_size"])]


def _nothing(spec: Mapping) -> list[Tokens]:
    return []


def _free(spec: Mapping) -> float:
    return 0.0


TASKS = {
    "language_model": Task(1, "repro.tasks.language_model", _tokens, cost.language_model_flops),
    "token_frequencies": Task(1, "repro.tasks.token_frequencies", _tokens, _free),
    "sign_sgd_step": Task(1, "repro.tasks.sign_sgd_step", _nothing, _free),
    "parametrization_exponents": Task(1, "repro.tasks.parametrization_exponents", _nothing, _free),
}
