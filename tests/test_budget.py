"""What a maintainer has to know, counted: who adds a thing takes one away, or says here why not."""

import json
import re
import subprocess
import sys

import pytest
import yaml

from repro import commands
from repro.__main__ import parser
from repro.lineage.checkout import ROOT
from repro.products import claims_json
from repro.verdicts import words

HOUSE = (ROOT / "docs" / "house.md").read_text()
OURS = ("repro", "figures", "studies", "data", "widthwise")
BUDGET = {
    "commands": 18,
    "keys of the configuration": 5,
    "statuses": 3,
    "doubts": 8,
    "fields of a test": 22,
    "mechanisms": 29,
}


def rooms():
    """Folders of the suite and the library that hold code."""
    found = [p.parent for top in ("repro", "widthwise") for p in (ROOT / top).glob("*/__init__.py")]
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_there_is_no_more_to_know_than_the_budget_says():
    (subcommands,) = (a for a in parser()._actions if a.dest == "command")
    schema = claims_json.schema()["properties"]["tests"]["items"]["properties"]
    found = {
        "commands": len(subcommands.choices),
        "keys of the configuration": len(yaml.safe_load((ROOT / "config/config.yaml").open())),
        "statuses": len(words.STATUSES),
        "doubts": len(words.DOUBTS),
        "fields of a test": len(schema),
        "mechanisms": len(re.findall(r"^\| [^|]+ \| `", HOUSE, re.M)),
    }
    assert found == BUDGET
    assert all(hasattr(commands, name.replace("-", "_")) for name in subcommands.choices)


def test_the_ledger_is_of_rooms_and_files_that_are_there():
    named = {*re.findall(r"`((?:repro|widthwise)/[\w/.]+)`", HOUSE)}
    assert all((ROOT / name).exists() for name in named)
    # Rooms without a mechanism of their own: what the papers define.
    assert rooms() - named == {"repro/models", "repro/theory"}


SHOWN = """
import contextlib, io, json, sys
from repro.__main__ import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(sys.argv[1:]) == 0
print(json.dumps([name for name in sys.modules if name.split(".")[0] in {ours}]))
"""


@pytest.mark.parametrize(
    ("call", "most"),
    [
        (("show", "embedding_lr"), 150),
        (("show", "embedding_lr/fig3.sqrt-d-rule-as-printed"), 160),
        (("show",), 345),
    ],
    ids=["a paper", "a test", "all figures"],
)
def test_a_question_walks_through_no_more_of_the_house(call, most):
    script = SHOWN.format(ours=OURS)
    done = subprocess.run(
        [sys.executable, "-c", script, *call], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert len(json.loads(done.stdout)) <= most
