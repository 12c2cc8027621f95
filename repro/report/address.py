"""Addresses of the project, where its pyproject.toml has them: its site, its issue form."""

import tomllib
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlencode

from repro.lineage.checkout import ROOT

FORM = "verdict.yml"  # of .github/ISSUE_TEMPLATE
# Names of [project.urls] that lead to the site itself, and to the repository; the first counts.
REPORT, REPOSITORY = ("report",), ("repository", "source", "homepage")


@cache
def _urls() -> Mapping[str, str]:
    """Name in small letters -> address."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {name.lower(): url.rstrip("/") for name, url in project.get("urls", {}).items()}


def _first(names: tuple[str, ...]) -> str:
    return next((url for name in names if (url := _urls().get(name))), "")


def absolute(page: str) -> str:
    """A page or file of the published site; "" where no address of it is known."""
    site = _first(REPORT)
    return f"{site}/{page}" if site else ""


def challenge(claim: str, said: str) -> str:
    """The form of an issue that challenges a verdict, filled in; "" where the repository has no
    known address. claim: `<paper>/<claim>`. said: what stands to be challenged."""
    repository = _first(REPOSITORY)
    asked = {"template": FORM, "title": f"Verdict of {claim}", "claim": claim, "said": said}
    return f"{repository}/issues/new?{urlencode(asked)}" if repository else ""
