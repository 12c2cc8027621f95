"""`widthwise widen` on files of weights."""

import math
import os
import runpy
import stat
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, load_model, save_file, save_model

from widthwise.__main__ import main

FILE = """
import torch
from torch import nn

def make(factor):
    width = 8 * factor
    model = nn.Sequential(nn.Embedding(20, width), nn.Linear(width, width), nn.Tanh(),
                          nn.Linear(width, 20, bias=False))
    if TIED:
        model[3].weight = model[0].weight
    return model

def batches(seed):
    tokens = torch.arange(12).reshape(2, 6)
    return [(tokens, tokens)]
"""


@pytest.fixture
def case(tmp_path, monkeypatch):
    """tied -> (make, the words of the command but for the two files)."""
    monkeypatch.chdir(tmp_path)

    def made(tied):
        (tmp_path / "own.py").write_text(FILE.replace("TIED", str(tied)))
        make = runpy.run_path("own.py")["make"]
        torch.manual_seed(0)
        model = make(1)
        save_model(model, "in.safetensors", metadata={"format": "pt"})
        return make, model, ["--make", "own.py:make", "--factor", "2"]

    return made


def test_a_factor_that_no_memory_holds_is_a_line(case, capsys):
    words = case(False)[2][:-1]
    assert main(["widen", "in.safetensors", "out.safetensors", *words, "100000000"]) == 1
    assert "make(100000000) has parameters of " in capsys.readouterr().err


@pytest.mark.parametrize("tied", [False, True])
def test_a_file_of_weights_is_widened(case, capsys, tied):
    make, model, words = case(tied)
    untie = ["--untie"] if tied else []
    assert main(["widen", "in.safetensors", "out.safetensors", *words, *untie]) == 0
    assert "the same function on a batch" in capsys.readouterr().out
    wide = make(2)
    if tied:
        wide[3].weight = torch.nn.Parameter(torch.empty_like(wide[3].weight))
    load_model(wide, "out.safetensors")
    tokens = torch.arange(20)[None]
    torch.testing.assert_close(wide(tokens), model(tokens))


def test_numbers_keep_their_precision(case):
    _, model, words = case(False)
    save_model(model.to(torch.bfloat16), "in.safetensors")
    assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 0
    assert {t.dtype for t in load_file("out.safetensors").values()} == {torch.bfloat16}


def test_what_cannot_be_widened_is_a_line_and_leaves_no_file(case, capsys, tmp_path):
    _, _, words = case(True)
    assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 1
    assert "0.weight is a readout too" in capsys.readouterr().err
    assert main(["widen", "none.safetensors", "out.safetensors", *words]) == 1
    assert "none.safetensors: does not hold the weights of make(1)" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.safetensors", "own.py"]


def test_each_tensor_keeps_its_precision_and_whole_numbers_are_refused(case, capsys):
    _, model, words = case(False)
    model[1].to(torch.bfloat16)
    own = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    save_model(model, "in.safetensors")
    assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 0, capsys.readouterr()
    assert {name: t.dtype for name, t in load_file("out.safetensors").items()} == own
    state = model.state_dict()
    state["1.weight"] = (state["1.weight"] * 100).to(torch.int8)
    save_file(state, "in.safetensors")
    assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 1
    assert "1.weight is torch.int8, and torch.float32 in make(1)" in capsys.readouterr().err


def put(**values):
    """Write in.safetensors with some tensors in place of the model's."""
    save_file(load_file("in.safetensors") | values, "in.safetensors")


WRONG = {
    # What is wrong -> (lines of own.py that replace its own, file that is written to, words).
    "make ends": ("def make(factor):\n    sys.exit(0)", "out", "make(1) failed: SystemExit"),
    "make raises": ("def make(factor):\n    raise ValueError('no')", "out", "ValueError: no"),
    "make returns nothing": ("def make(factor):\n    pass", "out", "make(1) returned NoneType"),
    "no batch": (
        "def batches(seed):\n    return []",
        "out",
        "batches is to hold (inputs, targets)",
    ),
    "batches raise": ("def batches(seed):\n    1 / 0", "out", "batches(seed): ZeroDivisionError"),
    "inputs of NaN": (
        "def batches(seed):\n    return [(torch.full((2, 6), math.nan), 0)]\n"
        "def make(factor):\n    return nn.Sequential(nn.Linear(6, 8 * factor), nn.Tanh(), "
        "nn.Linear(8 * factor, 8 * factor), nn.Linear(8 * factor, 2, bias=False))",
        "out",
        "inputs hold NaN",
    ),
    "into a folder": ("", "folder", "folder: could not be written (Is a directory)"),
    "no name": ("", "", ": could not be written"),
    "a name too long": ("", "a" * 256, "could not be written (File name too long)"),
    "below a file": ("", "own.py/out", "could not be written"),
    "into a pipe": ("", "pipe", "pipe: is a device, a pipe or a socket"),
}


@pytest.mark.parametrize("name", WRONG)
def test_whatever_goes_wrong_is_a_line_and_leaves_no_file(case, capsys, tmp_path, name):
    """Found in review: eleven such cases ended in a traceback of the handler itself."""
    lines, to, says = WRONG[name]
    _, _, words = case(False)
    Path("own.py").write_text(f"import math, sys\n{Path('own.py').read_text()}\n{lines}\n")
    if name == "inputs of NaN":
        save_model(runpy.run_path("own.py")["make"](1), "in.safetensors")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    before = sorted(tmp_path.rglob("*"))
    assert main(["widen", "in.safetensors", to, *words]) == 1
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1 and said.isascii()
    after = [path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts]
    assert sorted(after) == before


def test_a_pipe_for_weights_is_refused_and_not_waited_for(case, capsys):
    _, _, words = case(False)
    os.mkfifo("pipe")
    assert main(["widen", "pipe", "out.safetensors", *words]) == 1
    assert "pipe: is a pipe where a file should be" in capsys.readouterr().err


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_weight_that_is_no_number_is_named(case, capsys, value):
    """Found in review: "the module draws random numbers"."""
    _, model, words = case(False)
    weight = model[1].weight.detach().clone()
    weight[0, 0] = value
    put(**{"1.weight": weight})
    assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 1
    assert "1.weight holds NaN or infinity" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.int8])
def test_quantized_weights_are_refused_by_name(case, capsys, dtype):
    _, model, words = case(False)
    put(**{"1.weight": model[1].weight.detach().to(dtype)})
    assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 1
    said = capsys.readouterr().err
    assert f"1.weight is {dtype}" in said and "before they are quantized" in said


def test_a_file_is_as_open_as_others_and_no_half_stays(case, tmp_path):
    _, _, words = case(False)
    before = os.umask(0o022)
    try:
        assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("out.safetensors").st_mode) == 0o644
    assert not list(tmp_path.glob(".*"))


def test_what_was_written_is_held_against_the_narrow_model(case, capsys):
    """Weights so small that a third of them is nothing in float16."""
    _, model, words = case(False)
    put(**{"3.weight": (model[3].weight.detach() * 1e-7).to(torch.float16)})
    assert main(["widen", "in.safetensors", "out.safetensors", *words[:-1], "3"]) == 1
    assert "rounded to the dtypes of the narrow weights" in capsys.readouterr().err
    assert not Path("out.safetensors").exists()
    put(**{"3.weight": model[3].weight.detach().to(torch.bfloat16)})
    assert main(["widen", "in.safetensors", "out.safetensors", *words[:-1], "3"]) == 0
    assert "but for rounding to the file's dtypes (" in capsys.readouterr().out


def test_no_escape_and_no_megabyte_reaches_the_terminal(case, capsys):
    _, _, words = case(False)
    put(**{"\033[2J" + "a" * 2**20: torch.zeros(1)})
    assert main(["widen", "in.safetensors", "out.safetensors", *words]) == 1
    said = capsys.readouterr().err
    assert "\033" not in said and "in.safetensors" in said and len(said) < 2500
    Path("own.py").write_text("raise ValueError('\\033[2J' + 'a' * 2**20)")
    assert main(["roles", "own.py:make"]) == 1
    said = capsys.readouterr().err
    assert "\033" not in said and "own.py: ValueError: \\x1b[2J" in said and len(said) < 2500


@pytest.mark.parametrize(("by", "says"), [("zeros", "new units are 0"), ("shrink", "another func")])
def test_another_way_of_growing(case, capsys, by, says):
    make, model, words = case(False)
    assert main(["widen", "in.safetensors", "out.safetensors", *words, "--by", by]) == 0
    assert says in capsys.readouterr().out
    wide, tokens = make(2), torch.arange(20)[None]
    load_model(wide, "out.safetensors")
    assert torch.allclose(wide(tokens), model(tokens), atol=1e-6) == (by == "zeros")
