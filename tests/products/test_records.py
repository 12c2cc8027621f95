"""What is committed under records/ comes from the studies as they are."""

from pathlib import Path

import pandas as pd
import pytest
from recorded import listed

from repro.core import config, discovery
from repro.core.config import Config
from repro.core.suite import Suite
from repro.data.source import Source
from repro.files import read_json
from repro.products import records
from repro.products.picture import write_text
from repro.products.records import as_built
from repro.products.run_table import cell_ids
from repro.verdicts.answers import TRAINING
from repro.verdicts.judging import judge_all

EMBEDDED = [
    (f"{scale}/embedded/cpu", figure) for scale in ("smoke", "reduced") for figure in listed()
]
RECORDS = sorted(records.RECORDS.glob("*/*/*/*/*.json"))
# Of other data there are figures whose datasets were at hand, and no others.
FOUND = [path.relative_to(records.RECORDS).with_suffix("").parts for path in RECORDS]
OTHERS = [("/".join(p[:3]), "/".join(p[3:])) for p in FOUND if p[1] != "embedded"]
pytestmark = [pytest.mark.long, pytest.mark.parametrize(("folder", "figure"), EMBEDDED + OTHERS)]


def recorded_identity(identity):
    """A dataset's, where it lay in a folder that is not here any more."""
    return lambda source: identity


def saved(folder, figure, monkeypatch, tmp_path):
    """The configuration, place and content of a record."""
    base = records.RECORDS / folder / figure
    record = read_json(base.with_suffix(".json"))
    scale, label, _ = folder.split("/")
    if label == "embedded":
        return Suite(config.parse({"scale": scale}, discovery.dataset_names())), base, record
    if "+entry=" in label:
        monkeypatch.chdir(tmp_path)
        values = {"scale": scale, "entry": f"{base}.json"}
        return Suite(config.parse(values, discovery.dataset_names())), base, record
    sources = {}
    for name, identity in record["provenance"]["datasets"].items():
        if identity["source"] == "folder":
            sources[name] = Source("folder", Path("elsewhere"))
            monkeypatch.setattr(discovery.dataset(name), "identity", recorded_identity(identity))
    suite = Suite(Config(scale, label.split("+")[0], sources, (figure,), None))
    assert suite.label == label
    return suite, base, record


def test_a_record_is_of_the_runs_its_figure_asks_for(folder, figure, monkeypatch, tmp_path):
    suite, base, record = saved(folder, figure, monkeypatch, tmp_path)
    assert records.recorded(suite, figure) == [base]
    expected = cell_ids(suite, figure)
    assert record["provenance"]["cells"] == expected, "record it anew: python -m repro record"


def test_what_is_random_and_judged_has_an_interval_of_some_width(
    folder, figure, monkeypatch, tmp_path
):
    _, _, record = saved(folder, figure, monkeypatch, tmp_path)
    exact = [
        row["test"]
        for row in record["tests"]
        if row["kind"] == TRAINING and row["n"] > 1 and row["measured"] is not None
        if row["low"] == row["high"]
    ]
    assert not exact


def test_a_record_s_results_and_text_are_what_its_data_say(folder, figure, monkeypatch, tmp_path):
    _, base, record = saved(folder, figure, monkeypatch, tmp_path)
    data, text = base.with_suffix(".csv"), tmp_path / f"{base.name}.md"
    provenance, results = as_built(figure, record), records.results_of(record)
    write_text(tmp_path / base.name, figure, data, results, provenance)
    assert text.read_bytes() == base.with_suffix(".md").read_bytes(), "repro record --again"
    found = judge_all(figure, pd.read_csv(data), provenance)
    for row in [*results["tests"], *results["readings"]]:
        row |= {
            k: pytest.approx(row[k], rel=1e-6, abs=1e-12)
            for k in ("measured", "low", "high", "p")
            if row.get(k) is not None
        }
    assert found == results, "judge it anew: python -m repro record --again"
