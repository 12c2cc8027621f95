"""Jobs of a call, one after another."""

from repro.core.suite import load
from repro.workflow import jobs


def test_a_cell_that_two_studies_have_gets_a_file_in_each(monkeypatch):
    """Figures that show a narrow and a wide tuning read Sweep 1 of the wide one in both studies."""
    suite, made = load(["scale=smoke"]), []
    monkeypatch.setattr(jobs, "prepare", lambda suite, cells: None)
    monkeypatch.setattr(jobs, "train", lambda suite, cell, place: made.append(cell))
    names = ("upscaling/mlp_adamw_asked/tune", "upscaling/mlp_adamw_narrow/tune_wide")
    cells = [cell for name in names for cell in suite.cells(name)]
    assert len({cell.id for cell in cells}) < len(cells)
    jobs.train_all(suite, [*cells, *cells], jobs.Place())
    assert [suite.paths.cell(cell) for cell in made] == [suite.paths.cell(cell) for cell in cells]
