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
    rows = []
    for name in registry.figure_names():
        rows += read_json(RECORDED / f"{name}.json")["claims"]
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
