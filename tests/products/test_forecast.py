"""What jobs will take here: the seconds on record."""

import pytest

from repro.__main__ import main
from repro.core import catalog
from repro.core.suite import load
from repro.files import read_json
from repro.products import forecast, records

FIGURE = "embedding_lr/fig3"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A work folder, on a machine of two cores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(forecast, "usable_cores", lambda: 2)


def of_record(suite, name=FIGURE):
    (base,) = records.recorded(suite, name)
    made = read_json(base.with_suffix(".json"))["provenance"]["made"]
    return sum(entry["seconds"] for entry in made)


def cells(suite, name=FIGURE):
    return [cell for part in suite.figure_cells(name).values() for cell in part]


def test_a_figure_s_recorded_seconds_are_shared_out_among_its_runs():
    suite = load([])
    seconds = forecast.recorded_seconds(suite, [FIGURE])
    runs = [run for cell in cells(suite) for run in cell.runs]
    assert sum(seconds[run.id] for run in runs) == pytest.approx(of_record(suite))
    by_width = {run.spec["model"]["width"]: seconds[run.id] for run in runs}
    assert by_width[256] > by_width[64] > by_width[16]


def test_a_run_is_made_once_and_a_finished_one_takes_no_time(tmp_path):
    suite = load(["scale=smoke"])
    seconds = forecast.recorded_seconds(suite, [FIGURE])
    first = cells(suite)[0]
    once, again = forecast.job_seconds(suite, [first, first], seconds)
    assert again == forecast.TRAIN_START < once
    suite.paths.runs.mkdir(parents=True)
    (suite.paths.runs / f"{first.runs[0].id}.json").touch()
    (left,) = forecast.job_seconds(suite, [first], seconds)
    assert left == pytest.approx(once - seconds[first.runs[0].id])


def test_a_run_that_no_figure_shows_takes_as_long_as_its_like():
    """Others start from it. Found where `verify` could not say how long it takes."""
    suite = load([])
    shown = cells(suite)
    base = shown[0]
    seconds = forecast.recorded_seconds(suite, ["embedding_lr/theorem1"], [base])
    assert all(0 < seconds[run.id] < 1e4 for run in base.runs)
    assert not forecast.recorded_seconds(load(["scale=paper"]), [FIGURE], [base])


def test_jobs_share_the_cores_but_none_is_shorter_than_itself():
    assert forecast.together([10.0, 20.0, 30.0], cores=2) == 30.0
    assert forecast.together([30.0, 4.0], cores=2) == 30.0
    assert forecast.together([], cores=2) == 0.0
    assert forecast.together([30.0, None], cores=2) is None, "one was never recorded"


def test_the_longest_chain_goes_first():
    """Of jobs that wait for nobody the longest; a short one, if long ones wait for it."""
    times = {"short": 1.0, "long": 30.0, "gate": 2.0, "after": 40.0, "end": 5.0}
    readers = {"short": ["end"], "long": ["end"], "gate": ["after"], "after": ["end"]}
    chains = forecast.longest_chains(times, readers)
    assert chains == {"short": 6.0, "long": 35.0, "gate": 47.0, "after": 45.0, "end": 5.0}


def test_jobs_are_priced_by_their_recorded_seconds():
    """Found where widths of 14 and of 480 seconds had one priority, hours of an H100's launches."""
    suite = load([])
    jobs = dict(enumerate(cells(suite)))
    prices = forecast.ahead(suite, jobs, cores=2).prices
    assert [*prices.values()] == forecast.times(suite, cells(suite))
    assert len({*prices.values()}) > 1


def test_other_data_take_as_long_and_what_was_never_run_is_not_guessed():
    real = load(["data=real"])
    assert not records.recorded(real, FIGURE)
    assert sum(filter(None, forecast.recorded_seconds(real, [FIGURE]).values())) > 100
    paper = load(["scale=paper"])
    assert not forecast.recorded_seconds(paper, [FIGURE])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "less than a minute"),
        (60, "about a minute"),
        (130, "about 2 minutes"),
        (7000, "about 1.9 hours"),
    ],
)
def test_a_time_to_come_is_no_finer_than_it_is_known(seconds, words):
    assert forecast.minutes(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "less than a minute"),
        (80, "up to 2 minutes"),
        (130, "1 to 4 minutes"),
        (200, "2 to 6 minutes"),
        (1200, "10 to 33 minutes"),
        (6000, "50 minutes to 2.8 hours"),
    ],
)
def test_a_forecast_is_a_range_for_machines_are_not_alike(seconds, words):
    assert forecast.span(seconds) == words


@pytest.mark.parametrize("name", [FIGURE, "fig3"])
def test_a_page_promises_what_the_call_s_first_line_says(name):
    suite = load([])
    shown = [c for figure in catalog.pages().get(name, [name]) for c in cells(suite, figure)]
    jobs = dict(enumerate(suite.with_upstream(shown)))
    said = f": {forecast.promise(suite, name)} on 2 cores"
    assert said in forecast.ahead(suite, jobs, cores=2).words


def test_a_promise_does_not_shrink_where_runs_are_there():
    suite = load([])
    before = forecast.promise(suite, FIGURE)
    suite.paths.runs.mkdir(parents=True)
    for cell in cells(suite):
        for run in cell.runs:
            (suite.paths.runs / f"{run.id}.json").touch()
    assert forecast.promise(suite, FIGURE) == before
    assert {*forecast.times(suite, cells(suite))} == {forecast.TRAIN_START}
    assert forecast.promise(load(["scale=paper"]), FIGURE) == "", "nobody has run it"


def test_verify_says_what_to_build_first(capsys):
    assert main(["verify", "--config", f"figures={FIGURE}"]) == 1
    error = capsys.readouterr().err
    assert f"1 of 1 figures are not built with these settings, {FIGURE} first; build" in error
    assert error.endswith(f"uv run snakemake verify --config figures={FIGURE}\n")


def test_costs_of_what_runs_on_a_cpu_are_minutes_on_record(capsys):
    assert main(["show", "cost", FIGURE]) == 0
    _, words, *rest = capsys.readouterr().out.splitlines()
    total = rest[-1]
    assert len([line for line in rest if line.endswith("minutes")]) == 1, "the head"
    assert words.startswith("minutes: on 2 cores, as many as here, by the seconds on record")
    suite = load([])
    seconds = forecast.recorded_seconds(suite, [FIGURE])
    longest = max(sum(seconds[run.id] for run in cell.runs) for cell in cells(suite))
    assert 1 < float(total.split()[-1]) < max(of_record(suite) / 2, longest) / 60 + 1


def test_of_a_scale_that_some_figures_lack_the_others_are_priced(capsys):
    assert main(["show", "cost", "--scale", "overnight"]) == 0
    priced = capsys.readouterr().out
    assert "embedding_lr/fig3 " in priced and "embedding_lr/fig1 " not in priced
    assert main(["show", "cost", "embedding_lr/fig1", "--scale", "overnight"]) == 1
    assert "has no overnight scale" in capsys.readouterr().err
