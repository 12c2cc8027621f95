import math

import pandas as pd
from refusals import refused

from repro.verdicts.intervals import joined
from repro.verdicts.run_sweeps import last_step

ROWS = pd.DataFrame(
    [
        {"lr": lr, "seed": seed, "step": step, "loss": loss}
        for lr, losses in {1.0: (2.0, 4.0), 2.0: (1.0, math.nan)}.items()
        for seed, loss in enumerate(losses)
        for step, loss in ((5, 9.0), (10, loss))
    ]
)


def test_the_last_step_is_that_of_every_run():
    assert set(last_step(ROWS)["step"]) == {10} and len(last_step(ROWS)) == 4
    with refused("runs of different steps are in one table"):
        last_step(ROWS[1:])  # one run lost an evaluation


def test_phrases_are_joined_where_there_are_any():
    assert joined("", "a", "", "b") == "a; b" and joined("", "") == ""
