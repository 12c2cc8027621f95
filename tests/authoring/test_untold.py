"""Runs that can decide no verdict are named before they are made."""

import pytest

from repro.__main__ import main
from repro.authoring.untold import untold
from repro.core import catalog
from repro.report.costs import suite_at
from repro.verdicts.answers import FEWEST

# What is known to train too few seeds. A figure that joins them needs seeds, or no runs there.
KNOWN = {
    "reduced": [],
    "overnight": ["effective_theory/fig1"],
}


@pytest.mark.parametrize("scale", FEWEST)
def test_figures_of_too_few_seeds_are_the_known_ones(scale):
    suite = suite_at(scale)
    names = [name for name in catalog.figure_names() if suite.offers(name)]
    assert [line.partition(":")[0] for line in untold(suite, names)] == KNOWN[scale]


def test_cost_names_the_claims_and_the_seeds(capsys):
    assert main(["show", "cost", "effective_theory/fig1", "--scale", "overnight"]) == 0
    said = capsys.readouterr().out
    assert "effective_theory/fig1: fig1." in said
    assert "inconclusive at overnight scale, whatever comes out: 2 seeds, where nothing" in said


def test_other_scales_ask_for_no_number_of_seeds():
    assert not untold(suite_at("smoke"), ["effective_theory/fig3"])
