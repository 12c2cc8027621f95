"""What a user's file may do wrong ends in one line, with status 1, and never as a passed check."""

import math
from pathlib import Path

import pytest
from refusals import refused

import widthwise as ww
from benchmarks.zoo import users
from widthwise.__main__ import main

FILE = f"import sys\n{Path(users.__file__).read_text()}"
ENDS = "class Ends(nn.Module):\n    def forward(self, x):\n        sys.exit(0)\n"
WRONG = {
    "in the file": ("sys.exit(0)", "SystemExit: sys.exit(0) ends no check: take it out"),
    "a generator's end": (
        "def batches(seed):\n    raise GeneratorExit",
        "batches(seed): GeneratorExit",
    ),
    "no widths": ("WIDTHS = None", "widths None: give whole numbers from 1"),
    "widths of text": ("WIDTHS = '8'", "widths '8': give whole numbers from 1"),
    "widths of fractions": ("WIDTHS = [8, 8.5]", "widths [8, 8.5]: give whole numbers from 1"),
    "in make": ("def make(width):\n    sys.exit(0)", "make(8) failed: SystemExit: sys.exit(0)"),
    "in forward": (
        f"{ENDS}def make(width):\n    return nn.Sequential(nn.Linear(4, width), Ends())",
        "fails on inputs: SystemExit",
    ),
    "in batches": ("def batches(seed):\n    sys.exit(0)", "batches(seed): SystemExit"),
    "in loss": ("def loss(model, batch):\n    sys.exit(0)", "loss: SystemExit"),
    "no batches": ("def batches(seed):\n    return None", "batches: is a NoneType: give a list"),
    "no argument": ("def batches():\n    return []", "batches(seed): TypeError"),
    "a generator": ("def batches(seed):\n    yield 1", "batches: is a generator: give a list"),
    "a loss that fails": (
        "def loss(model, batch):\n    return batch['x']",
        "loss: TypeError: tuple indices must be integers or slices, not str (model.py, line ",
    ),
    "a loss that is a vector": (
        "def loss(model, batch):\n    return model(batch[0]).sum(0)",
        "loss: returned (2,): give a tensor of one number",
    ),
    "a loss that is text": ("def loss(model, batch):\n    return '1'", "loss: returned str"),
    "a detached loss": (
        "def loss(model, batch):\n    return model(batch[0]).sum().detach()",
        "loss: has no gradient",
    ),
    "a loss that is nan": (
        "def loss(model, batch):\n    return model(batch[0]).sum() * float('nan')",
        "nan",
    ),
    "targets of another shape": (
        "def batches(seed):\n    return [(torch.ones(2, 4), torch.ones(2, 9))] * 10",
        "outputs have the shape (2, 2), targets (2, 9)",
    ),
}


def told(capsys):
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), lines
    return lines[0]


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_wrong_is_a_line(case, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    source, said = WRONG[case]
    path = tmp_path / "model.py"
    path.write_text(f"{FILE}\n{source}\n")
    assert main(["check", f"{path}:make", "--recipe", "muP", "--seeds", "2"]) == 1
    assert said in told(capsys)
    assert main(["transfer", str(path), "SP", "muP", "--seeds", "2"]) == 1
    assert said in told(capsys)


def test_numbers_of_the_command_line_that_cannot_be_are_a_line(tmp_path, capsys, monkeypatch):
    """Found in review: an UnboundLocalError, and the shapes of a width of 8 for a base of 0."""
    monkeypatch.chdir(tmp_path)
    for name in ("model.py", "a:b.py"):
        (tmp_path / name).write_text(FILE)
    assert main(["roles", "model.py", "--base", "0"]) == 1
    assert "widths [0]: give whole numbers from 1" in told(capsys)
    assert main(["check", "model.py", "--recipe", "muP", "--widths", "0", "8"]) == 1
    assert "widths [0, 8]: give whole numbers from 1" in told(capsys)
    assert main(["check", "model.py", "--recipe", "muP", "--after", "-1"]) == 1
    assert "after -1: give a number of steps from 0" in told(capsys)
    assert main(["roles", "a:b.py"]) == main(["roles", "a:b.py:make"]) == 0  # a colon in a name


def test_ctrl_c_is_a_word(tmp_path, capsys):
    path = tmp_path / "model.py"
    path.write_text(f"{FILE}\ndef make(width):\n    raise KeyboardInterrupt\n")
    assert main(["roles", str(path)]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("import sys\ndef rules(family):\n    sys.exit(0)", "rules('adam'): SystemExit"),
        ("def rules():\n    pass", "rules('adam'): TypeError"),
        ("def rules(family):\n    return 3", "returned no mapping of kinds to Rules"),
        ("def rules(family):\n    return rules(family)", "rules('adam'): RecursionError"),
        (
            "from widthwise.parametrization import *\n"
            "def rules(family):\n    return {**table('muP', family), 'embeding': Rule(ONE, ONE)}",
            "'embeding': choose from",
        ),
        *(
            (
                "from widthwise.parametrization import *\n"
                f"def rules(family):\n    rule = Rule(ONE, {power})\n"
                "    return {**table('muP', family), 'hidden': rule}",
                "lr of hidden is no Power of finite exponents",
            )
            for power in ("Power(float('nan'))", "Power(1e6)", "Power('1')", "Power(1j)", "'one'")
        ),
    ],
)
def test_rules_that_are_wrong_are_a_line(rules, said, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(rules)
    with refused() as error:
        ww.recipe(str(path))
    assert str(error.value).startswith(str(path)) and said in str(error.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"tune": {"lr": [-0.1, -0.2, -0.3]}}, "give numbers above 0"),
        ({"tune": {"lr": [0.1, 0.2, math.nan]}}, "give numbers above 0"),
        ({"tune": {"lr": ["0.1", 0.2, 0.3]}}, "tune: lr: .* give numbers"),
        ({"tune": {"rate": [0.1, 0.2, 0.3]}}, "tune: "),
        ({"tune": {"weight_decay": [-0.1]}}, "weight decays .* give numbers above 0"),
        ({"tune": {"lr": [1e8, 1e9, 1e10]}}, "a run diverged, of seeds 0 to 1: give lower"),
        ({"tune": {"lr": [1e-9, 2e-9, 4e-9]}}, "has learned nothing: its best loss is"),
        ({"recipes": ["muP", ww.recipe("muP", "sgd")]}, "recipes of several optimizers"),
    ],
)
def test_a_comparison_that_would_say_nothing_is_an_error(more, said):
    def loss(model, batch):
        return (model(batch[0]) - batch[1]).square().mean() ** 4

    settings = {"recipes": ["muP"], "widths": [8, 16], "seeds": 2, "loss": loss} | more
    with refused(said):
        ww.transfer(users.make, batches=users.batches, **settings)


def test_a_weight_decay_is_tuned_narrow_and_carried():
    found = ww.transfer(
        users.make,
        ["muP", ww.recipe("muP", decay="plain")],
        users.batches,
        widths=[8, 32],
        tune={"lr": [2.0**-6, 2.0**-4, 2.0**-2], "weight_decay": [0.0, 8.0]},
        seeds=2,
    )
    assert found.weight_decay == 0.0 and found.names == [
        "muP, adamw, independent",
        "muP, adamw, plain",
    ]
    first, second = (found.curves[name, 32].losses for name in found.names)
    assert (first == second).all(), "without a decay they are one"
