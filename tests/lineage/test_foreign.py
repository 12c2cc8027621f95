"""What a finished run's record may hold."""

import math

import pytest
from refusals import refused

from repro.lineage import foreign


@pytest.mark.parametrize("loss", [8.2e25, -1.7e308, 5e-324, 0, -(2**62)])
def test_a_run_that_diverges_is_recorded_as_far_as_numbers_go(loss):
    """An MLP with SGD ended overnight at 8.2e25, and its job was refused."""
    foreign.check_record({"train_loss": loss}, "a run")


@pytest.mark.parametrize("loss", [math.inf, math.nan, 10**400, 2**63])
def test_what_no_table_holds_is_refused(loss):
    with refused("a record has 'train_loss'"):
        foreign.check_record({"train_loss": loss}, "a run")
