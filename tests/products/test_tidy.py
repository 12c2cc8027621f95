"""What lies in results/ that nothing names is listed, and stays."""

import pytest
from figure_files import make

from repro.__main__ import main
from repro.core.suite import load
from repro.products import tidy

FIGURE = "embedding_lr/table3"  # trains nothing


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["scale=smoke", f"figures={FIGURE}"]
    assert main(["run", FIGURE, "--config", *words]) == 0
    suite = load(words)
    make(suite, FIGURE)
    return suite


def test_nothing_of_a_figure_and_its_runs_is_listed(suite):
    assert [*tidy.unnamed(suite)] == []
    assert tidy.lines(suite) == ["    0.00 MB in 0 files and folders that nothing names"]


def test_what_other_settings_and_code_made_is_listed_with_its_size(suite, capsys):
    figure = suite.paths.figure(FIGURE)
    left = [
        figure / ("0" * 12),  # of other runs or code
        suite.paths.results / "embedding_lr" / "llm_parameters" / f"all-{'2' * 12}.json",
        suite.paths.runs / f"{'3' * 64}.safetensors",
    ]
    for path in left:
        if path.suffix:
            path.write_bytes(b"0" * 2_000_000)
        else:
            path.mkdir()
            (path / "data.csv").write_bytes(b"0" * 2_000_000)
    assert {*tidy.unnamed(suite)} == {*left}
    assert main(["verify", "--tidy", "--config", "scale=smoke"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 4 and said[-1].endswith("6.00 MB in 3 files and folders that nothing names")
    assert all(path.exists() for path in left)
