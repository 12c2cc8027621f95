"""The suite under a configuration, for tests of what it asks for."""

from repro.core import config, discovery
from repro.core.suite import Suite


def suite_of(**values: str) -> Suite:
    """The suite where nothing is configured but these keys."""
    return Suite(config.parse(values, discovery.dataset_names()))
