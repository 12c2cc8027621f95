"""What is committed under records/ comes from the studies as they are."""

import pytest

from repro import config, records, registry
from repro.files import read_json
from repro.products import cell_ids
from repro.registry import Suite


@pytest.mark.parametrize("scale", ["smoke", "reduced"])
@pytest.mark.parametrize("figure", registry.figure_names())
def test_a_record_is_of_the_runs_its_figure_asks_for(scale, figure):
    suite = Suite(config.parse({"scale": scale}, registry.dataset_names()))
    (base,) = records.recorded(suite, figure)
    made_of = read_json(base.with_suffix(".json"))["provenance"]["cells"]
    assert made_of == cell_ids(suite, figure), "record it anew: python -m repro record"
