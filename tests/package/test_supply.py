"""What comes from others is named by its digest, and what cannot be is named in SECURITY.md."""

import re
import subprocess
import tomllib

import pytest
import yaml

from repro.lineage.checkout import ROOT

LOCK = tomllib.loads((ROOT / "uv.lock").read_text())
LOCKED = [each for each in LOCK["package"] if "registry" in each["source"]]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_locked_file_has_its_digest_and_is_of_one_index():
    assert len(LOCKED) > 100
    assert {each["source"]["registry"] for each in LOCKED} == {"https://pypi.org/simple"}
    found = [
        f for each in LOCKED for f in [*each.get("wheels", []), *filter(None, [each.get("sdist")])]
    ]
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", file["hash"]) for file in found)


def test_what_runs_code_as_it_is_installed_is_named_with_its_reason():
    built = {each["name"] for each in LOCKED if not each.get("wheels")}
    named = re.findall(r"^- `([^`]+)`: ", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(built)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_a_commit(path):
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name) for name in used)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_no_more_and_leaves_no_credentials(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for step in (step for job in workflow["jobs"].values() for step in job["steps"]):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_that_may_write_runs_nothing_of_this_repository(path):
    """What it publishes was built by a job that may not; no cache that another run filled."""
    jobs = yaml.safe_load(path.read_text())["jobs"]
    writing = {name for name, job in jobs.items() if "write" in job.get("permissions", {}).values()}
    assert writing == ({"publish"} if path.name in ("release.yml", "site.yml") else set())
    for step in (step for name in writing for step in jobs[name]["steps"]):
        assert "run" not in step and not step["uses"].startswith("actions/checkout@")
    if path.name == "release.yml":
        setups = [step for job in jobs.values() for step in job["steps"] if "setup-uv" in str(step)]
        assert setups and all(step["with"]["enable-cache"] is False for step in setups)


def test_the_actions_versions_are_looked_after():
    (one,) = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    assert one["package-ecosystem"] == "github-actions"


def test_git_keeps_the_bytes_of_records_and_code(tmp_path):
    """Found in review: with core.autocrlf every record was "not what SHA256SUMS says"."""
    files = {
        "records/smoke/a.csv": b"x\n1\n",
        "repro/a.py": b"x = 1\n",
        "records/b.json": b"{}\r\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / ".gitattributes").write_bytes((ROOT / ".gitattributes").read_bytes())
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    options = ["-c", "core.autocrlf=true", "-c", "core.safecrlf=false", *identity]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *options, *words], cwd=tmp_path, check=True)
    for name in files:
        (tmp_path / name).unlink()
    subprocess.run(["git", *options, "checkout", "-q", "--", "."], cwd=tmp_path, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
