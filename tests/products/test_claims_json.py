"""The one file of all claims: complete, as its schema says, the same from records and report."""

import json

import jsonschema
import pytest

from repro.core import catalog, discovery
from repro.core.suite import load
from repro.files import json_bytes, sha256_file
from repro.lineage.checkout import ROOT
from repro.products import claims_json, records
from repro.products.claims_json import FiledClaim, Target
from repro.verdicts import badge as badges
from repro.verdicts.judged_claims import JudgedClaim

SCHEMA = ROOT / "docs" / "claims-schema.json"
WRITE = "write it: uv run python -m repro.products.claims_json > docs/claims-schema.json"


@pytest.fixture(scope="module")
def every():
    return records.every_claim()


def validate(entries):
    jsonschema.validate(claims_json.whole(entries, "0" * 40), json.loads(SCHEMA.read_text()))


def test_the_schema_is_that_of_the_types():
    assert SCHEMA.read_bytes() == json_bytes(claims_json.schema()), WRITE


def test_the_schema_describes_each_key():
    properties = claims_json.schema()["properties"]["claims"]["items"]["properties"]
    assert list(properties)[: len(JudgedClaim.__annotations__)] == [*JudgedClaim.__annotations__]
    assert set(properties) == FiledClaim.__required_keys__
    assert set(properties["targets"]["items"]["properties"]) == Target.__required_keys__
    for described in (properties, properties["targets"]["items"]["properties"]):
        assert all(len(each["description"]) > 8 for each in described.values())
    jsonschema.Draft202012Validator.check_schema(claims_json.schema())


def test_every_claim_on_record_is_in_it_once(every):
    validate(every)
    keys = [(e["scale"], e["data"], e["device"], e["paper"], e["claim"]) for e in every]
    assert len({*keys}) == len(keys)
    every_folder = {path.parent for path in records.RECORDS.rglob(records.SUMS)}
    folders = {folder for folder in every_folder if "+entry=" not in folder.parts[-2]}
    assert not any(records.recorded_claims(folder) for folder in every_folder - folders)
    assert len(every) == sum(len(records.recorded_claims(folder)) for folder in folders)
    assert {"/".join(folder.parts[-3:-1]) for folder in folders} == {
        f"{e['scale']}/{e['data']}" for e in every
    }


def test_what_is_printed_stands_beside_what_was_measured_and_its_digests(every):
    place = {"scale": "reduced", "data": "embedded", "claim": "fig1.optimum-falls"}
    (entry,) = (e for e in every if place.items() <= e.items())
    assert [target["number"] for target in entry["targets"]] and entry["measured"] is not None
    assert len(entry["targets"]) == len(entry["printed"])
    base = records.RECORDS / "reduced" / "embedded" / entry["device"] / entry["figure"]
    assert entry["data_sha256"] == sha256_file(base.with_suffix(".csv"))
    assert entry["picture_sha256"] == sha256_file(base.with_suffix(".png"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The file that `rejudge` writes where one figure is on record, at one scale."""
    folder = tmp_path_factory.mktemp("records")
    base = records.RECORDS / "smoke" / "embedded" / "cpu" / "embedding_lr" / "table1"
    copy = folder / base.relative_to(records.RECORDS)
    copy.parent.mkdir(parents=True)
    for suffix in records.KEPT:
        copy.with_suffix(suffix).write_bytes(base.with_suffix(suffix).read_bytes())
    records._note_digests(copy.parents[1], [copy.with_suffix(suffix) for suffix in records.KEPT])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "RECORDS", folder)
        records.rejudge(load(["scale=smoke", "figures=embedding_lr/table1"]))
    return json.loads((folder / records.EVERY_CLAIM).read_text())["claims"]


def test_judging_a_record_again_writes_it(judged):
    validate(judged)
    assert {entry["figure"] for entry in judged} == {"embedding_lr/table1"}
    assert len(judged) == len(catalog.figure("embedding_lr/table1").claims)


@pytest.mark.parametrize(
    "change", [{"verdict": "proved"}, {"n": "5"}, {"measured": "nan"}, {"more": 1}, {"kind": None}]
)
def test_an_entry_that_is_otherwise_is_refused(judged, change):
    validate([judged[0]])
    with pytest.raises(jsonschema.ValidationError):
        validate([judged[0] | change])


def test_what_is_committed_is_of_the_records(every):
    committed = records.RECORDS / records.EVERY_CLAIM
    found = json.loads(committed.read_text())
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    papers = [(each["slug"], each["version"]) for each in found["papers"]]
    own = [(slug, p.version) for slug, p in discovery.papers().items() if not p.ours]
    assert papers == own, "python -m repro rejudge writes it anew"
    unknown = {each["registered"] for each in every} == {badges.UNKNOWN}
    left_out = {"registered"} if unknown or badges.unknown() else set()
    strip = [{k: v for k, v in e.items() if k not in left_out} for e in found["claims"]]
    assert strip == [{k: v for k, v in e.items() if k not in left_out} for e in every]


def test_a_claim_says_how_it_is_made_anew(every):
    words = {entry["command"].partition(" --config ")[2] for entry in every}
    assert "scale=reduced" in words and any("wikitext2=FOLDER" in word for word in words)
    assert all(entry["runs"] > 0 or not entry["seeds"] for entry in every)
    assert {"registered before", "not registered"} <= {entry["registered"] for entry in every} or (
        badges.unknown()
    )
