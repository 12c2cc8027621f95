"""What a maintainer has to know: the ledger of docs/house.md, and how far a question leads."""

import re
import subprocess
import sys

import pytest

from repro import commands
from repro.__main__ import parser
from repro.lineage.checkout import ROOT

HOUSE = (ROOT / "docs" / "house.md").read_text()


def rooms():
    """Folders of the suite and the library that hold code."""
    found = [p.parent for top in ("repro", "widthwise") for p in (ROOT / top).glob("*/__init__.py")]
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_every_subcommand_is_a_command():
    (subcommands,) = (a for a in parser()._actions if a.dest == "command")
    names = {"try_" if name == "try" else name.replace("-", "_") for name in subcommands.choices}
    assert all(hasattr(commands, name) for name in names)


def test_the_ledger_is_of_rooms_and_files_that_are_there():
    named = {*re.findall(r"`((?:repro|widthwise)/[\w/.]+)`", HOUSE)}
    assert all((ROOT / name).exists() for name in named)
    # Rooms without a mechanism of their own: what the papers define.
    assert rooms() - named == {"repro/models", "repro/theory"}


ENTERED = """
import runpy, sys
root, *sys.argv[1:] = sys.argv[1:]
entered = set()
def note(frame, event, argument):
    code = frame.f_code  # of a function: neither of a module nor of a class
    if event == "call" and code.co_flags & 3 == 3 and code.co_name != "<module>":
        entered.add(code.co_filename)
sys.setprofile(note)
try:
    runpy.run_module("repro", run_name="__main__")
finally:
    sys.setprofile(None)
    ours = [f for f in entered if f.startswith(root) and not f.startswith(f"{root}/.venv")]
    print(len(ours), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (["show", "fig3.sqrt-d-rule-as-printed"], 40),
        (["show", "upscaling/mlp_adamw"], 48),
        (["show", "embedding_lr"], 36),
        (["redraw", "--config", "figures=embedding_lr/fig3"], 41),  # but for what draws
    ],
)
def test_a_question_enters_no_more_files_of_the_house(words, most):
    call = [sys.executable, "-c", ENTERED, str(ROOT), *words]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert int(done.stderr.split()[-1]) <= most
