import hashlib
import itertools
import math
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from figure_files import make
from judged import READ, by_name, judge
from refusals import refused
from suites import suite_of

from figures.embedding_lr import fig3
from repro.core import catalog, config, discovery
from repro.core.study import OVERNIGHT, SCALES
from repro.core.suite import Suite
from repro.files import read_json
from repro.lineage.checkout import ROOT
from repro.products import picture, published, records
from repro.products.built import page
from repro.products.explain import explain
from repro.products.picture import folder_of
from repro.tasks import TASKS
from repro.verdicts import judging
from repro.verdicts.answers import Test

pytestmark = pytest.mark.long


def test_every_answer_is_there_once_and_says_what_it_is():
    found = [
        (name, each) for name in catalog.figure_names() for each in catalog.figure(name).answers
    ]
    for name, each in found:
        assert each.id.startswith(name.split("/")[1] + ".")
        if isinstance(each, Test):
            assert each.statement and each.column and each.quantity and each.expected
        else:
            assert each.words
    named = [(name.split("/")[0], each.id) for name, each in found]
    assert len(named) == len(set(named)), "once in a paper"


NAME = "embedding_lr/table2"  # the cheapest


def run_all(suite, name):
    """A figure from nothing, without Snakemake."""
    from repro.__main__ import main

    assert main(["run", name, "--config", *suite.config.arguments()]) == 0
    make(suite, name)


def digests(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.[pc]*")}


# Built from nothing here; `.ci/run` builds every figure at smoke scale, and draws every record.
BUILT = "embedding_lr/table2"
TRAINING = {f"embedding_lr/fig{i}" for i in (1, 3, 4, 5)} | {
    f"upscaling/fig{i}" for i in range(2, 12)
}


def test_every_task_is_run_by_a_figure(suite):
    names = catalog.figure_names()
    cells = [c for name in names for found in suite.figure_cells(name).values() for c in found]
    assert {run.task for cell in cells for run in cell.runs} == set(TASKS)


@pytest.mark.workflow
def test_a_figure_is_built_without_snakemake_and_rebuilt_byte_for_byte(suite):
    name = BUILT
    run_all(suite, name)
    folder = folder_of(suite, name)
    first = digests(folder)
    assert {"table2.pdf", "table2.png", "data.csv"} <= set(first)
    shutil.rmtree(suite.paths.figure(name))
    assert make(suite, name) == folder
    assert digests(folder) == first
    listed = published.checked_manifest(folder)["files"]
    assert {name: listed[name] for name in first} == first
    pdf = Path("figures") / f"{name}.pdf"
    assert pdf.read_bytes() == (folder / "table2.pdf").read_bytes()
    check_published(name, read_json(folder / "results.json"), suite.data_description(name))


def words_of(pdf):
    from pypdf import PdfReader

    (page,) = PdfReader(pdf).pages
    return re.sub(r"\s+", " ", page.extract_text())


def check_published(name, results, data):
    """A picture has its title and one line; what it shows and claims, and what it was made of, is
    text beside it."""
    figure, base = catalog.figure(name), Path("figures") / name
    rows = by_name(results)
    assert set(rows) <= {each.id for each in figure.answers}
    binding = [test.id for test in figure.tests if test.binds("smoke", embedded=True)]
    assert [row["test"] for row in results["tests"]] == binding
    if name in TRAINING:
        assert not results["tests"], "smoke judges no training"
    picture = words_of(base.with_suffix(".pdf"))
    assert all(word in picture for word in figure.title.split())
    found = [word for words, _ in judging.marks(results) for word in words.split()]
    assert all(word in picture for word in found), "how its tests fared"
    assert f"{name}, smoke scale, embedded" in picture and "data, cpu, data.csv " in picture
    assert not any(row in picture for row in rows) and figure.caption not in picture
    page = base.with_suffix(".md").read_text()
    text = page.replace("\\*", "*")
    assert f"scale: smoke; data: {data}" in text and figure.caption in text
    assert all(row["test"] in text for row in results["tests"])
    shown = base.with_suffix(".csv").read_text()
    if figure.table:
        assert all(head in page for head in shown.splitlines()[0].split(","))
    else:
        assert f"]({base.name}.png)" in page and base.with_suffix(".png").exists()


def redraw(name):
    """A figure's PDF and PNG from its smoke record, drawn in this folder, and the record."""
    from repro.__main__ import main

    assert main(["redraw", "--config", "scale=smoke", f"figures={name}"]) == 0
    (record,) = (ROOT / "records" / "smoke" / "embedded").glob(f"*/{name}.json")
    pdf, png = (Path("figures") / f"{name}.{suffix}" for suffix in ("pdf", "png"))
    return pdf, png, read_json(record)


DRAWN = ("effective_theory/fig2", "embedding_lr/fig3", "upscaling/fig2")  # of every paper one


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_on_record_is_drawn_without_training_byte_for_byte(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    pdf, png, record = redraw(name)
    check_published(name, record, record["provenance"]["data"])
    before = pdf.read_bytes(), png.read_bytes()
    for file in (pdf, png):
        file.unlink()
    redraw(name)
    assert (pdf.read_bytes(), png.read_bytes()) == before


@pytest.fixture(scope="module")
def once(tmp_path_factory, small_text):
    """A work folder with a cheap figure, built once for all that look at it."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "train.txt").write_text(small_text)
    (folder / "work").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "work")
        values = {"scale": "smoke", "wikitext2": str(folder), "figures": NAME}
        run_all(suite_of(**values), NAME)
    return folder / "work"


@pytest.fixture
def built(suite, once):
    """A copy of that folder to work in, and its suite."""
    shutil.copytree(once, ".", dirs_exist_ok=True)
    return Suite(with_config(suite, figures=NAME))


def with_config(suite, **changes):
    values = dict(word.split("=", 1) for word in suite.config.arguments()) | changes
    return config.parse(values, discovery.dataset_names())


def test_a_hole_in_the_grid_stops_make(built):
    cell = built.cells("embedding_lr/parametrizations")[0]
    built.paths.cell(cell).unlink()
    with refused("the grid has a hole"):
        picture.make(built, NAME)


def test_explain_goes_from_a_claim_to_its_runs(built):
    text = explain(built, "table2.exponents")
    assert "status: reproduced" in text
    assert "seeds of its figure: [0, 1, 2]" in text
    assert str(built.paths.cell(built.cells("embedding_lr/parametrizations")[0])) in text
    assert re.search(r"data: .*data.csv sha256 [0-9a-f]{64}", text)
    with refused("did you mean 'embedding_lr/table2.exponents'"):
        explain(built, "embedding_lr/table2.exponent")


def test_pages_hold_one_sheet_a_paper(built):
    from pypdf import PdfReader

    run_all(built, "upscaling/table2")
    page(built, "table2")
    assert len(PdfReader("figures/table2.pdf").pages) == len(catalog.pages()["table2"])
    assert Path("figures/table2.png").exists()


def sweep(optimum, seeds=(0, 1, 2), edge=False):
    """A made-up sweep with the optimum (log2) known per width; slopes of seeds differ by 0.01."""
    import numpy as np

    def distance(d, j, s):
        return j - optimum(d) - 0.01 * (s - 1) * np.log2(d / 64)

    rows = [
        {
            "model.width": d,
            "lr.embedding": 2.0**j,
            "seed": s,
            "train_loss": 4 + 0.02 * distance(d, j, s) ** 2 + 0.001 * s,
        }
        for d in (32, 64, 128)
        for j in range(-8, 0)
        for s in seeds
    ]
    return pd.DataFrame(rows)


def fig3_data(optimum):
    import numpy as np

    table = sweep(lambda d: optimum(np.log2(d / 32)))
    studies = map(fig3.short, fig3.STUDIES)
    parts = [table.assign(study=s, vocab_size=512, vocab_reached=512) for s in studies]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.usefixtures("measured_alone")
@pytest.mark.parametrize(
    ("slope", "wanted"),
    [
        (-0.5, "reproduced"),
        (0.0, "not reproduced"),
        (-1.0, "not reproduced"),
        (0.5, "not reproduced"),
    ],
)
def test_fig3_verdicts_follow_the_data(slope, wanted):
    """The claims can fail: muP's law gives muP's verdict, SP's gives SP's."""
    data = fig3_data(lambda octaves: -4 + slope * octaves)
    rows = judge("embedding_lr/fig3", data, embedded=True)
    for rule in ("sqrt-d-rule", "sqrt-d-rule-as-printed"):
        assert rows[f"fig3.{rule}"]["measured"] == pytest.approx(slope, abs=0.05)
    assert rows["fig3.sqrt-d-rule"]["status"] == READ
    assert rows["fig3.sqrt-d-rule-as-printed"]["status"] == wanted
    carried = rows["fig3.transfer-mup-as-printed"]
    assert carried["status"] == READ and (carried["low"] > 0) == (slope < -0.25)
    for name in ("transfer-sp-as-printed", "one-constant-sp-as-printed"):
        assert (rows[f"fig3.{name}"]["status"] == "reproduced") == (slope > -0.75)
    near = rows["fig3.near-optimal"]
    assert near["measured"] == pytest.approx(0.02 * (2 * (slope + 0.5)) ** 2 / 4, abs=2e-3)


@pytest.mark.usefixtures("measured_alone")
@pytest.mark.parametrize(("slope", "higher"), [(0.0, 0.1), (-0.5, 0.1), (0.0, -0.1)])
def test_what_embeddings_of_unit_size_do_follows_the_data(slope, higher):
    """The paper's formula says slope 0 for them, and that they end higher."""
    small, unit = (sweep(lambda d, s=s: -4 + s * math.log2(d / 32)) for s in (-0.5, slope))
    parts = [small.assign(study="width_and_vocabulary")]
    parts += [unit.assign(study="unit_init/embedding_alone", train_loss=unit.train_loss + higher)]
    data = pd.concat(parts, ignore_index=True).assign(vocab_size=512, vocab_reached=512)
    rows = judge("embedding_lr/init", data, embedded=True)
    assert rows["init.unit-init"]["measured"] == pytest.approx(slope, abs=0.05)
    assert (rows["init.unit-init"]["status"] == "reproduced") == (slope == 0)
    assert rows["init.best-init"]["measured"] == pytest.approx(higher, abs=0.02)
    assert (rows["init.best-init"]["status"] == "reproduced") == (higher > 0)


@pytest.mark.usefixtures("measured_alone")
def test_a_sweep_whose_every_run_diverged_is_not_judged_and_drawn(tmp_path):
    import numpy as np

    data = fig3_data(lambda octaves: -4 + 0 * octaves)
    data.loc[(data["model.width"] == 64) & (data["seed"] == 0), "train_loss"] = np.inf
    rows = judge("embedding_lr/fig3", data, embedded=True)
    row = rows["fig3.sqrt-d-rule-as-printed"]
    assert (row["status"], row["measured"]) == ("inconclusive", None)
    assert row["reason"].startswith("a seed diverged at every learning rate at d = 64")
    from repro.verdicts import drawing

    drawing.plt.close(catalog.figure("embedding_lr/fig3").draw(data, "reduced"))


def test_theorem1_errors_on_both_sides_are_not_noise():
    """Found in review: a signed statistic flips sides between resamples and reads as noise."""
    import numpy as np

    from figures.embedding_lr import theorem1
    from repro.verdicts.answers import over_batches

    ratios = np.array([0.9, 1.1]) + np.random.default_rng(0).normal(0, 0.005, (12, 2))
    found = over_batches(ratios, theorem1.largest_error)
    assert found.low > 0.09 and found.high < 0.11


def test_the_optimum_by_the_papers_window_is_drawn_beside_ours():
    from repro.verdicts import drawing

    data = fig3_data(lambda octaves: -4 - 0.5 * octaves)
    panel = catalog.figure("embedding_lr/fig3").draw(data, "reduced").axes[1]
    drawn = {line.get_label(): line.get_ydata() for line in panel.lines}
    # The window covers the grid, 2^-8 to 2^-1, at every width.
    assert drawn["by the paper's 20% rule: slope 0.00"] == pytest.approx([2**-4.5] * 3)
    labels = panel.get_legend_handles_labels()[1]
    assert any(label.startswith("LayerNorm: slope -0.5") for label in labels)
    drawing.plt.close(panel.figure)


@pytest.mark.parametrize("scale", [s for s in SCALES if s != OVERNIGHT])
def test_every_ratio_of_pretraining_has_a_colour_of_its_own(scale):
    from figures.embedding_lr import _pretraining

    suite = suite_of(scale=scale)
    runs = [run for cell in suite.cells("embedding_lr/pretraining/ratios") for run in cell.runs]
    keys = (_pretraining.FACTOR, _pretraining.POWER)
    ratios = {tuple(run.spec["embedding_lr"][key.split(".")[1]] for key in keys) for run in runs}
    assert len({_pretraining.color(ratio) for ratio in ratios}) == len(ratios)


@pytest.mark.usefixtures("measured_alone")
def test_fig3_flags_an_optimum_at_the_edge():
    data = fig3_data(lambda octaves: -8.5 + 0 * octaves)
    rows = judge("embedding_lr/fig3", data, embedded=True)
    assert rows["fig3.sqrt-d-rule-as-printed"]["status"] == "inconclusive"
    why = "no lowest point inside the grid at d = 32, 64, 128"
    assert why in rows["fig3.sqrt-d-rule-as-printed"]["reason"]


def test_a_diverged_seed_is_drawn_and_never_averaged_away():
    import numpy as np

    from figures.embedding_lr import _sweep

    table = sweep(lambda d: -4)
    hit = (table["lr.embedding"] == 0.5) & (table["seed"] == 1) & (table["model.width"] == 32)
    table.loc[hit, "train_loss"] = np.inf
    runs = _sweep.sweeps(table)
    curve = dict(zip(runs[32].rates, runs[32].mean([0, 1]), strict=True))
    assert np.isinf(curve.pop(0.5))
    assert np.isfinite(list(curve.values())).all()

    from repro.verdicts import drawing

    figure, axes = drawing.panels(1)
    _sweep.draw_losses(axes[0, 0], runs, 0.01, str)
    crosses = [line for line in axes[0, 0].lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [0.5]
    drawing.plt.close(figure)


def pretrained(gains, seeds=range(4)):
    """Runs at ratio 1, sqrt(d) and 8 sqrt(d) at two widths and three evaluations. gains: nats by
    which the second lies below the first at each, and the third below the second."""
    rows = []
    for width, seed in itertools.product((32, 64), seeds):
        for ratio, (factor, power) in enumerate(((1.0, 0.0), (1.0, 0.5), (8.0, 0.5))):
            for step, each in enumerate(gains):
                loss = 5 - sum(each[:ratio]) + 0.001 * ((seed * 7 + step + ratio) % 3)
                at = {"train_loss": loss, "train_perplexity": math.exp(loss)}
                at |= {"valid_perplexity": math.exp(loss), "word_perplexity": math.exp(loss)}
                at |= {"model.width": width, "seed": seed, "step": step, "tokens": 256 * step}
                at |= {"embedding_lr.factor": factor, "embedding_lr.power": power}
                at |= {"ratio": factor * width**power, "stage": "long", "lr": 0.01}
                rows.append(at | {"words_split": "test"})
    return pd.DataFrame(rows)


@pytest.mark.usefixtures("measured_alone")
@pytest.mark.parametrize(
    ("gains", "better", "faster", "flat"),
    [
        ([(0.05, 0.01)] * 3, "reproduced", "reproduced", "reproduced"),
        ([(0.05, 0.3)] * 3, "reproduced", "reproduced", "not reproduced"),
        ([(-0.02, 0.01), (0.05, 0.01), (0.05, 0.01)], "reproduced", "not reproduced", "reproduced"),
        ([(-0.05, 0.0)] * 3, "not reproduced", "not reproduced", "not reproduced"),
    ],
)
def test_pretraining_verdicts_follow_the_data(gains, better, faster, flat):
    """Ahead at the end is not ahead throughout; and 'marginal' can fail."""
    data = pretrained(gains)
    rows = judge("embedding_lr/fig4", data, embedded=True)
    found = [rows[f"fig4.{name}"]["status"] for name in ("sqrt-d-better", "faster-throughout")]
    assert [*found, rows["fig4.flat-above"]["status"]] == [better, faster, flat]
    first, further = gains[-1]
    assert rows["fig4.flat-above"]["measured"] == pytest.approx(further - first, abs=0.005)
    words = judge("embedding_lr/fig5", data, embedded=True)
    assert words["fig5.sqrt-d-better"]["status"] == better
    ahead = words["fig5.consistent"]
    assert ahead["status"] == READ and (ahead["high"] < 1) == (faster == "reproduced")


def test_a_wrong_column_is_one_line_with_its_name():
    name = "rate_transfer/steps"
    figure = catalog.figure(name)
    for found, message in (
        (figure.columns[1:], "data.csv: has no column 'parametrization'"),
        ((*figure.columns, "rats"), "column 'rats' is none of COLUMNS: did you mean 'rate'"),
    ):
        with refused(message):
            figure.check_columns("data.csv", found)
    with (
        refused("measure failed: KeyError: 'rat'; did you mean 'rate'"),
        judging.called(name, "measure"),
    ):
        raise KeyError("rat")


def test_columns_are_those_on_record():
    for name in catalog.figure_names():
        for base in records.bases(name):
            if columns := catalog.figure(name).columns:
                head = base.with_suffix(".csv").read_text().split("\n", 1)[0]
                assert head == ",".join(columns), base
