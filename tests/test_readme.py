import re

from repro import products, registry
from repro.files import read_json
from repro.registry import ROOT

README = (ROOT / "README.md").read_text()
RECORDED = ROOT / "records" / "reduced" / "embedded" / "cpu"


def test_the_first_command_builds_and_the_second_tests():
    blocks = re.findall(r"```\n(.*?)```", README, re.S)
    assert blocks[0].strip() == "pip install uv && uv run snakemake figures/fig3.pdf --cores all"
    assert blocks[1].strip() == "uv run pytest"


def test_the_scoreboard_is_the_recorded_one():
    """Every number of the README's scoreboard comes from the run behind records/."""
    rows, missing = [], []
    for name in registry.figure_names():
        if (RECORDED / f"{name}.json").exists():
            rows += read_json(RECORDED / f"{name}.json")["claims"]
        else:
            missing.append(f"`{name}`")
    (named,) = re.findall(r"No reduced run on record yet: (.*?)\.\n", README, re.S) or [""]
    assert re.findall(r"`[^`]+`", named) == missing
    table = [line for line in products.table(rows) if line.startswith("|")]
    block = README.split("<!-- scoreboard -->")[1].split("<!-- /scoreboard -->")[0]
    assert block.strip().splitlines() == table


def test_every_picture_and_path_is_there():
    named = re.findall(r"\]\(([^)]+)\)", README) + re.findall(
        r"`((?:repro|studies)/[^`<]+)`", README
    )
    assert len(named) > 5
    assert all((ROOT / path).exists() for path in named)


def test_every_figure_of_a_paper_is_listed():
    for name in registry.figure_names():
        paper, figure = name.split("/")
        (line,) = (line for line in README.splitlines() if f"| `{paper}` |" in line)
        assert figure in line


def test_the_widening_example_runs_and_keeps_the_function():
    import torch

    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    names = {}
    exec(code, names)
    x = torch.randn(4, 5)
    for _ in range(3):
        for model, optimizer in (("model", "optimizer"), ("wide", "wide_optimizer")):
            names[optimizer].zero_grad()
            names[model](x).square().sum().backward()
            names[optimizer].step()
    torch.testing.assert_close(names["wide"](x), names["model"](x), rtol=1e-4, atol=1e-5)
    assert names["wide"][0].out_features == 32
