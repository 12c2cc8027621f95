"""What errors tell a user to type, read off their texts: it is whole, and would be taken."""

import ast
import re
import shlex

import pytest

from repro.__main__ import parser
from repro.lineage.checkout import ROOT

PROGRAM = "uv run python -m repro"
FOLDERS = ("repro", "data", "figures", "studies")
# What stands in a text for a name -> one that is such a name.
NAMES = {
    "{figure_name}": "embedding_lr/fig3",
    "{name}": "fig3.sqrt-d-rule",
    "{slug}": "mine",
    "{command}": "show",
    "PAPER": "upscaling",
    "NUMBER": "2511.01734v1",
}


def words_of(node):
    """The text of a string in the source, with `{name}` for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(words_of, node.values))
    return f"{{{ast.unparse(node.value)}}}" if isinstance(node, ast.FormattedValue) else ""


def texts():
    """Place and text of every error, and of every command that is made for one."""
    for path in [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args:
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                own = {each.arg: words_of(each.value) for each in node.keywords}
                text = words_of(node.args[0])
                if called == "UserError":
                    yield f"{path.name}:{node.lineno}", text
                elif called == "command" and "repro" in own.get("program", ""):
                    yield f"{path.name}:{node.lineno}", f"{PROGRAM} {text}"
    for path in (ROOT / "workflows/rules").glob("*.smk"):
        for text in re.findall(r'"([^"\n]*`[^"\n]*)"', path.read_text()):
            yield path.name, text


ADVICE = {
    f"{place}: {text[begin.start() :]}": text
    for place, text in texts()
    for begin in re.finditer(r"(?<![\w.])repro [a-z]+", text)
}


@pytest.mark.parametrize("place", ADVICE)
def test_a_command_that_an_error_names_is_whole_and_would_be_taken(place):
    """Found in review: a call that the error itself gave was refused, or did something else."""
    text = ADVICE[place]
    begin = text.find(PROGRAM)
    assert begin >= 0, "typed as it stands there is no such program"
    call = re.split(r"[`;,)]| \.\.\.| has ", text[begin + len(PROGRAM) :])[0]
    for name, known in NAMES.items():
        call = call.replace(name, known)
    assert not re.search(r"[{}]", call), "give a name for it above"
    parser().parse_args(shlex.split(call))
