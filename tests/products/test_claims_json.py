"""The one file of all tests and readings: complete, as its schema says, the same from records and
report."""

import json

import jsonschema
import pytest

from repro.core import discovery
from repro.core.suite import load
from repro.files import json_bytes, read_json, sha256_file
from repro.lineage.checkout import ROOT
from repro.products import claims_json, records
from repro.verdicts import badge as badges
from repro.verdicts.figure import figure_named

SCHEMA = ROOT / "docs" / "claims-schema.json"
WRITE = "write it: uv run python -m repro.products.claims_json > docs/claims-schema.json"
FIELDS = 22  # of a test, at most


@pytest.fixture(scope="module")
def every():
    return records.every()


def validate(parts, **changes):
    found = claims_json.whole(parts, "0" * 40) | changes
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))


def test_the_schema_is_that_of_the_types():
    assert SCHEMA.read_bytes() == json_bytes(claims_json.schema()), WRITE


def described(schema):
    """Every key below a schema -> its description."""
    for name, each in schema.get("properties", {}).items():
        yield name, each["description"]
        yield from described(each.get("items", each))


def test_the_schema_describes_each_key_and_a_test_has_few():
    schema = claims_json.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all(len(text) > 8 for _, text in described(schema))
    assert len(schema["properties"]["tests"]["items"]["properties"]) <= FIELDS


def test_what_is_on_record_is_in_it_once_with_its_digests(every):
    validate(every)
    keys = [tuple(p.figure[k] for k in ("scale", "data", "device", "figure")) for p in every]
    kept = [p for p in records.RECORDS.glob("*/*/*/*/*.csv") if "+entry=" not in p.parts[-4]]
    assert len({*keys}) == len(keys) == len(kept), "an entry of the board is none"
    for (scale, data, device, figure), part in zip(keys, every, strict=True):
        base = records.RECORDS / scale / data / device / figure
        assert part.figure["data_sha256"] == sha256_file(base.with_suffix(".csv"))
        assert part.figure["picture_sha256"] == sha256_file(base.with_suffix(".png"))
        ids = [row["test"] for row in part.tests] + [row["reading"] for row in part.readings]
        assert len({*ids}) == len(ids) <= len(figure_named(figure).answers)


def test_what_is_printed_stands_beside_what_was_measured(every):
    rows = [row for part in every for row in part.tests if row["scale"] == "reduced"]
    (row,) = (r for r in rows if (r["test"], r["data"]) == ("fig1.optimum-falls", "embedded"))
    assert [each["number"] for each in row["printed"]] and row["measured"] is not None


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """The file that `rejudge` writes where one figure is on record, in an older form."""
    base = records.RECORDS / "smoke" / "embedded" / "cpu" / "embedding_lr" / "table1"
    copy = tmp_path / base.relative_to(records.RECORDS)
    copy.parent.mkdir(parents=True)
    for suffix in records.KEPT:
        copy.with_suffix(suffix).write_bytes(base.with_suffix(suffix).read_bytes())
    older = read_json(base.with_suffix(".json"))
    older = {key: older[key] for key in ("provenance", "data_sha256")} | {"claims": []}
    copy.with_suffix(".json").write_bytes(json_bytes(older))
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    records._note_digests(copy.parents[1], [copy.with_suffix(suffix) for suffix in records.KEPT])
    records.rejudge(load(["scale=smoke", "figures=embedding_lr/table1"]))
    return read_json(tmp_path / records.CLAIMS)


def test_judging_a_record_of_an_older_form_again_writes_it(judged):
    """Found in use: a record of before could not be read, so not be judged anew."""
    validate([], **judged)
    assert {row["figure"] for row in judged["tests"]} == {"embedding_lr/table1"}


@pytest.mark.parametrize(
    "change", [{"status": "proved"}, {"n": "5"}, {"measured": "nan"}, {"more": 1}, {"kind": None}]
)
def test_an_entry_that_is_otherwise_is_refused(every, change):
    row = next(row for part in every for row in part.tests)
    validate([], tests=[row])
    with pytest.raises(jsonschema.ValidationError):
        validate([], tests=[row | change])


def test_what_is_committed_is_of_the_records(every):
    found = read_json(records.RECORDS / records.CLAIMS)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    papers = [(each["slug"], each["version"]) for each in found["papers"]]
    own = [(slug, p.version) for slug, p in discovery.papers().items() if not p.ours]
    assert papers == own, "python -m repro record --again writes it anew"
    now = claims_json.whole(every, found["commit"])
    if badges.unknown():  # what git says is not known here
        for row in [*found["tests"], *now["tests"]]:
            row.pop("registered")
    assert found == now


def test_a_figure_says_how_it_is_made_anew(every):
    words = {part.figure["command"].partition(" --config ")[2] for part in every}
    assert "scale=reduced" in words and any("wikitext2=FOLDER" in word for word in words)
    assert all(part.figure["runs"] > 0 or not part.figure["seeds"] for part in every)
