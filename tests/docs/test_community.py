"""Files that others read, GitHub, Zenodo, PyPI, the Snakemake catalogue: each is held against what
its reader asks for."""

import re
import tomllib
from datetime import date

import pytest
import yaml

from repro.core import discovery
from repro.core.config import Config
from repro.core.study import SCALES
from repro.lineage.checkout import ROOT
from repro.products import verify

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
# Of each kind of element of GitHub's form schema: attributes it must and may have.
ELEMENTS = {
    "markdown": ({"value"}, set()),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}


def read(path):
    return yaml.safe_load((ROOT / path).read_text())


def mistakes(form):
    """What GitHub would refuse a form for."""
    found = [f"no {key}" for key in ("name", "description", "body") if not form.get(key)]
    known = {"name", "description", "body", "title", "labels", "assignees", "projects", "type"}
    found += [f"unknown {key}" for key in {*form} - known]
    ids = [each["id"] for each in form.get("body", ()) if "id" in each]
    found += ["an id twice"] if len(ids) > len(set(ids)) else []
    found += [f"id {each}" for each in ids if not re.fullmatch(r"[\w-]+", each)]
    if all(each.get("type") == "markdown" for each in form.get("body", ())):
        found.append("nothing to fill in")
    for each in form.get("body", ()):
        must, may = ELEMENTS.get(each.get("type"), (set(), set()))
        attributes = {*each.get("attributes", ())}
        found += [f"type {each.get('type')}"] if each.get("type") not in ELEMENTS else []
        found += [f"lacks {key}" for key in must - attributes]
        found += [f"unknown {key}" for key in attributes - must - may]
        found += [f"unknown {key}" for key in {*each} - {"type", "id", "attributes", "validations"}]
        options = each.get("attributes", {}).get("options", ())
        if each.get("type") == "dropdown":
            found += ["an option is no text"] * (not all(isinstance(o, str) for o in options))
        found += ["an option twice"] if len(options) > len({str(o) for o in options}) else []
    return found


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_is_one_that_github_shows(path):
    form = read(path)
    assert mistakes(form) == []
    required = [e["id"] for e in form["body"] if e.get("validations", {}).get("required")]
    assert len(required) >= 2, "an empty form tells nothing"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"description": ""}, "no description"),
        ({"colour": "red"}, "unknown colour"),
        ({"body": [{"type": "markdown", "attributes": {"value": "a"}}]}, "nothing to fill in"),
        ({"body": [{"type": "text", "attributes": {}}]}, "type text"),
        ({"body": [{"type": "input", "attributes": {"options": ["a"]}}]}, "lacks label"),
        (
            {"body": [{"type": "dropdown", "attributes": {"label": "a", "options": [True]}}]},
            "no text",
        ),
        ({"body": [{"type": "input", "id": "a", "attributes": {"label": "a"}}] * 2}, "an id twice"),
    ],
)
def test_a_form_that_github_would_refuse_is_found(change, said):
    assert said in ", ".join(mistakes(read(FORMS[0]) | change))


def test_there_is_a_form_for_each_thing_that_people_bring():
    names = [read(path)["name"] for path in FORMS]
    assert names == [
        "Challenge a verdict",
        "Send in a verify log",
        "New parametrization",
        "New paper",
        "Bug",
    ]
    pages = "".join(page.read_text() for page in ROOT.glob("docs/*.md"))
    assert "*Challenge a verdict*" in pages and "*Send in a verify log*" in pages
    config = read(".github/ISSUE_TEMPLATE/config.yml")
    assert {*config} <= {"blank_issues_enabled", "contact_links"}


def test_the_form_for_logs_has_the_tiers_of_verify():
    body = {each.get("id"): each for each in read(FORMS[1])["body"]}
    assert body["tier"]["attributes"]["options"] == [*verify.TIERS]


def test_the_citation_has_what_is_known_and_nothing_invented():
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= {*citation}
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    numbers = [each["identifiers"][0]["value"] for each in citation["references"]]
    papers = [paper for paper in discovery.papers().values() if not paper.ours]
    assert numbers == [f"arXiv:{paper.arxiv}v{paper.version}" for paper in papers]
    named = [[a["family-names"] for a in each["authors"]] for each in citation["references"]]
    assert named == [[name.split(", ")[0] for name in paper.authors] for paper in papers]
    known = {"doi": r"10\.\d{4,}/\S+", "repository-code": "https://.+", "url": "https://.+"}
    for key, form in known.items():
        assert key not in citation or re.fullmatch(form, citation[key]), key
    assert isinstance(citation.get("date-released", date.today()), date)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_box_to_cite_from_is_the_citation(page):
    citation = read("CITATION.cff")
    box = re.search(r"```bibtex\n@software\{\w+,\n(.*?)\n\}\n```", (ROOT / page).read_text(), re.S)
    said = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", box[1], re.M))
    authors = " and ".join(f"{{{each['name']}}}" for each in citation["authors"])
    kept = {key: citation[key] for key in ("title", "version", "license")}
    released = {"year": str(citation["date-released"].year)} if "date-released" in citation else {}
    assert said == {**kept, "author": authors, **released}


def test_what_is_not_known_yet_is_in_the_owner_s_list():
    page = (ROOT / "docs" / "owner.md").read_text()
    citation = read("CITATION.cff")
    for key in ("doi", "repository-code", "url", "date-released"):
        assert key in citation or f"`{key}`" in page, key
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
    for name in ("Repository", "Issues", "Changelog", "Documentation"):
        assert name in urls or f"`{name}`" in page, name


def test_the_catalogue_of_workflows_has_what_it_asks_for():
    usage = read(".snakemake-workflow-catalog.yml")["usage"]
    assert {*usage} == {"mandatory-flags", "software-stack-deployment", "report"}
    assert {*usage["mandatory-flags"]} == {"desc", "flags"}
    software = usage["software-stack-deployment"]
    assert {*software} == {"conda", "singularity", "singularity+conda"}
    rules = "".join(p.read_text() for p in ROOT.glob("workflows/rules/*.smk"))
    assert software["conda"] == bool(re.search(r"^\s*conda:", rules, re.M))
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme


def test_the_page_on_the_configuration_has_every_key_and_scale():
    page = (ROOT / "config" / "README.md").read_text()
    first = re.findall(r"^\| `(\w+)` \|", page, re.M)
    keys = {*Config.__dataclass_fields__} - {"sources", "tried_file"}  # a path, of tried=
    assert keys | {*SCALES} == {*first}
    defaults = read("config/config.yaml")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*?\| `?(\w+)`? \| [^|]*\|$", page, re.M))
    assert {key: rows[key] for key in defaults} == defaults


def test_agents_are_led_to_the_same_page_in_ten_lines():
    lines = (ROOT / "AGENTS.md").read_text().splitlines()
    assert len(lines) <= 10 and any("](CONTRIBUTING.md)" in line for line in lines)


def triggers(workflow):
    return workflow[True] if True in workflow else workflow["on"]  # YAML 1.1 reads `on` as true


def test_the_site_is_published_from_main_by_a_job_that_may_do_that_alone():
    workflow = read(".github/workflows/site.yml")
    assert triggers(workflow)["push"] == {"branches": ["main"]}
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["publish"]["permissions"] == {"pages": "write", "id-token": "write"}
    steps = [step.get("run", "") for step in workflow["jobs"]["build"]["steps"]]
    page = (ROOT / "CONTRIBUTING.md").read_text()
    (call,) = [step.replace("--locked ", "") for step in steps if "repro report" in step]
    assert f"`{call}`" in page


def test_a_release_is_published_after_its_checks_and_without_a_token():
    workflow = read(".github/workflows/release.yml")
    assert triggers(workflow) == {"push": {"tags": ["v*"]}}
    publish = workflow["jobs"]["publish"]
    assert publish["needs"] == "build" and workflow["jobs"]["build"]["needs"] == "check"
    assert publish["environment"] == "pypi" and publish["permissions"] == {"id-token": "write"}
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert "secrets." not in text and "password" not in text
    assert publish["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    version = workflow["jobs"]["check"]["steps"][2]["run"]
    for pattern, file in re.findall(r'grep -Fqx "(.*)" (\S+)$', version, re.M):
        line = pattern.replace('\\"', '"').replace("$version", read("CITATION.cff")["version"])
        assert line in (ROOT / file).read_text().splitlines(), file
