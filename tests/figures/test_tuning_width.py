"""What a small model's width costs the target, on made-up data."""

import pandas as pd
import pytest
from test_upscaling_figures import made_up

from figures.upscaling import tuning_width as figure

pytestmark = pytest.mark.usefixtures("measured_alone")
ENDS = dict(zip(figure.STUDIES, (0.9, 0.85, 0.81, 0.8), strict=True))


def table(ends):
    """A data.csv; ends: study -> where the target ends."""
    parts = [made_up("mlp", {"upscaled": end}).assign(study=study) for study, end in ends.items()]
    return pd.concat(parts, ignore_index=True)


def test_what_a_narrow_model_loses_is_held_against_the_widest():
    found = figure.measure(table(ENDS), "reduced")
    shrinks = found["tuning_width.shrinks"]
    assert shrinks.value == pytest.approx(0.1) and not shrinks.problem
    assert "at 16: lr 0.2, noise 0.5, 0.9" in shrinks.detail
    # Of a gain of 1.0 - 0.78 over from scratch.
    shares = [found[f"tuning_width.lost-{name}"].value for name in figure.NAMES.values()]
    assert shares == pytest.approx([(end - 0.78) / (1.0 - 0.78) for end in ENDS.values()])


def test_studies_are_in_the_order_of_their_widths_at_every_scale():
    for scale, widths in {"reduced": [16, 32, 64, 128], "paper": [25, 50, 100, 200]}.items():
        of = figure.by_study(table(ENDS), scale)
        assert [figure.width(study, scale) for study in of] == widths
