"""`widthwise widen` on files of weights."""

import runpy

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
