"""Tables 1 to 3 of Ma et al. on built layers: what is printed, and that a wrong rule is seen."""

import itertools
from pathlib import Path

import pandas as pd
import pytest
import torch

from figures.upscaling import _scalings, table1, table2, table3
from repro.parametrization import TABLES, Power, Rule
from repro.tasks import width_scalings


def data():
    """A data.csv of four pairs of widths."""
    rows = []
    for first, second, seed in itertools.product((16, 128), (16, 128), (0, 1)):
        axes = {"width_in": first, "width_out": second, "factor": [2, 3], "seed": seed}
        settings = axes | {"parametrization": "muP-multiplier", "draws": 32, "threads": 1}
        context = {"inputs": {}, "device": torch.device("cpu"), "checkpoint": Path()}
        found = width_scalings.run(**settings, **context, progress=None)
        rows += [axes | record for record in found]
    return _scalings.reduce({_scalings.STUDY: pd.DataFrame(rows)})


def test_built_layers_are_as_printed():
    found = data()
    widening = table1.measure(found, "reduced")["table1.widening"]
    assert widening.value < 1e-6
    for table, name in ((table2, "table2.powers"), (table3, "table3.powers")):
        assert table.measure(found, "reduced")[name].value < 0.05
    assert "1 / n_out" in table3.table(found, "reduced").rows[3][1]
    matrix = [row for row in table1.table(found, "reduced").rows if row[1] == "matrix"]
    assert matrix[0][3:6] == ["0.5  (0.5)", "1.5  (1.5)", "0.667  (0.667)"]  # SGD


@pytest.mark.parametrize("column", ["init", "lr", "weight_decay", "eps", "multiplier"])
def test_a_wrong_power_is_seen(monkeypatch, column):
    """Of the readout: the init of the other form of muP was taken for this one's before."""
    right = TABLES["muP-multiplier"]

    def wrong(q):
        rule = vars(right(q)["output"]) | {column: Power(n_in=0.25)}
        return right(q) | {"output": Rule(**rule)}

    monkeypatch.setitem(TABLES, "muP-multiplier", wrong)
    found = data()
    for table, name in ((table2, "table2.powers"), (table3, "table3.powers")):
        assert table.measure(found, "reduced")[name].value > 0.2
