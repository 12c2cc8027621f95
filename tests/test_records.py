"""What is committed under records/ comes from the studies as they are."""

import pandas as pd
import pytest
from test_readme import listed

from repro.files import read_json
from repro.judge import records
from repro.judge.judging import judge_all
from repro.judge.products import cell_ids
from repro.suite import config, registry
from repro.suite.suite import Suite

pytestmark = [
    pytest.mark.parametrize("scale", ["smoke", "reduced"]),
    pytest.mark.parametrize("figure", listed()),
]


def saved(scale, figure):
    suite = Suite(config.parse({"scale": scale}, registry.dataset_names()))
    (base,) = records.recorded(suite, figure)
    return suite, base, read_json(base.with_suffix(".json"))


def test_a_record_is_of_the_runs_its_figure_asks_for(scale, figure):
    suite, _, record = saved(scale, figure)
    expected = cell_ids(suite, figure)
    assert record["provenance"]["cells"] == expected, "record it anew: python -m repro record"


def test_a_record_s_claims_are_what_its_data_say(scale, figure):
    _, base, record = saved(scale, figure)
    found = judge_all(figure, pd.read_csv(base.with_suffix(".csv")), record["provenance"])
    numbers = ("measured", "low", "high")
    for row in record["claims"]:
        row |= {
            k: pytest.approx(row[k], rel=1e-6, abs=1e-12) for k in numbers if row[k] is not None
        }
    assert found == record["claims"], "judge it anew: python -m repro rejudge"
