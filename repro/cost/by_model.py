"""The formula of a model's cost, found by the model's name."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

from repro.cost import Cost


def formula(name: str) -> Callable[[Mapping], Cost] | None:
    """spec -> the cost of one run: `cost` of repro/cost/<name>.py; None where there is no such
    file."""
    module = f"repro.cost.{name}"
    return getattr(import_module(module), "cost", None) if find_spec(module) else None
