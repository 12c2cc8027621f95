"""Tables 1 to 3 of Ma et al. on built layers: what is printed, and that a wrong rule is seen."""

import itertools
from pathlib import Path

import pandas as pd
import pytest
import torch

from figures.upscaling import _scalings, table1, table2, table3
from repro.tasks import width_scalings

pytestmark = pytest.mark.long


def data(parametrization="muP-multiplier"):
    """A data.csv of four pairs of widths."""
    rows = []
    for first, second, seed in itertools.product((16, 128), (16, 128), (0, 1)):
        axes = {"width_in": first, "width_out": second, "factor": [2, 3], "seed": seed}
        settings = axes | {"parametrization": parametrization, "draws": 32, "threads": 1}
        context = {"inputs": {}, "device": torch.device("cpu"), "checkpoint": Path()}
        found = width_scalings.run(**settings, **context, progress=None)
        rows += [axes | record for record in found]
    return _scalings.reduce({_scalings.STUDY: pd.DataFrame(rows)})


def test_built_layers_are_as_printed():
    found = data()
    widening = table1.measure(found, "reduced")["table1.widening"]
    assert widening.value < 1e-6
    for table, name in ((table2, "table2.powers"), (table3, "table3.powers")):
        assert table.FIGURE.measure(found, "reduced")[name].value < 0.05
    assert "1 / n_out" in _scalings.table_of_powers(found, _scalings.TABLE_3).rows[3][1]
    matrix = [row for row in table1.table(found, "reduced").rows if row[1] == "matrix"]
    assert matrix[0][3:6] == ["0.5  (0.5)", "1.5  (1.5)", "0.667  (0.667)"]  # SGD


WRONG = """
from widthwise.parametrization import Power, Rule
from widthwise.parametrization.tables import mup_multiplier


def rules(family):
    rows = mup_multiplier.rules(family)
    return rows | {"output": Rule(**vars(rows["output"]) | {COLUMN: Power(n_in=0.25)})}
"""


@pytest.mark.parametrize("column", ["init", "lr", "weight_decay", "eps", "multiplier"])
def test_a_wrong_power_is_seen(tmp_path, column):
    """Of the readout: the init of muP's other form was once taken for this one's."""
    (tmp_path / "wrong.py").write_text(WRONG.replace("COLUMN", repr(column)))
    found = data(str(tmp_path / "wrong.py"))
    for table, name in ((table2, "table2.powers"), (table3, "table3.powers")):
        assert table.FIGURE.measure(found, "reduced")[name].value > 0.2
