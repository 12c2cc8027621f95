"""studies/<paper>/printed.csv: what the papers print, and the same numbers typed in code."""

import csv
import importlib
import math
from dataclasses import fields

import pytest
from refusals import refused

from repro.__main__ import main
from repro.core import catalog, discovery
from repro.core import rows as module
from repro.core.suite import load
from repro.cost.paper import PAPER_REACHED, paper_costs
from repro.errors import UserError
from repro.lineage import checkout
from repro.products.picture import folder_of
from repro.verdicts import printed as of_papers
from repro.verdicts import words as worded
from repro.verdicts.optimum import PAPER_WINDOW
from repro.verdicts.printed import Printed, printed
from studies.effective_theory import bart, r2c2

PAPERS = [slug for slug, paper in discovery.papers().items() if not paper.ours]
COLUMNS = [field.name for field in fields(Printed)]
GOOD = "fig4.selected-lr,0.4,1,Appendix F.1,Sweep 1 selects"


def figure(name):
    return importlib.import_module(f"figures.{name}")


def numbers(paper, claim, **fields):
    """`what` -> number, of the rows of a claim whose other fields are these."""
    return {
        row.what: row.number
        for row in printed(paper)
        if row.claim == claim and all(getattr(row, key) == fields[key] for key in fields)
    }


def of(paper, claim):
    """The numbers of a claim's rows."""
    return {row.number for row in printed(paper) if row.claim == claim}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_is_a_number_with_its_place_once(paper):
    """That its claim exists, and its number parses, `printed` itself has held."""
    rows = printed(paper)
    assert all(math.isfinite(row.number) for row in rows)
    assert len({(row.claim, row.unit, row.place, row.what) for row in rows}) == len(rows)
    assert all(cell == cell.strip() for row in rows for cell in vars(row).values())


def test_known_numbers_of_the_papers():
    assert of("embedding_lr", "table3.parameters") == {1e9}
    assert Printed(
        "", "45.3", "1", "Figure 4, caption", "the ratio sqrt(d) at d = 2048"
    ) in printed("embedding_lr")
    assert of("embedding_lr", "fig1.optimum-falls") == {-0.5, 0, -1}
    assert of("embedding_lr", "theorem1.mup-regime") == {1}
    assert of("effective_theory", "fig1.optimum-lr") == {1e-3, 20, 8e-4}
    assert of("effective_theory", "fig3.optimum-lr") == {1e-3, 1024**1.5 * 1e-3}
    assert of("effective_theory", "parameters.bart") == {405e6, 404_845_568}
    assert [row.value for row in printed("effective_theory") if row.claim == "fig4.marginal"] == [
        "<0"
    ]
    assert of("upscaling", "fig10.selected-lr-upscaled") == {0.0020}
    assert of("upscaling", "table4.speedup-gpt2") == {48.2}
    assert of("upscaling", "fig4.faster-mlp-sgd") == {598}
    assert of("upscaling", "fig2.end-to-end-resnet") == {1.3}


def test_tables_1_to_3_and_the_window_of_hayou_and_liu():
    for table, names in (("table1", ("muP",)), ("table2", ("SP", "muP", "LVP"))):
        expected = {
            f"{name}: {quantity} of {kind} weights": power
            for name in names
            for kind, powers in figure("embedding_lr._exponents").PRINTED[name].items()
            for quantity, power in zip(("init variance", "learning rate"), powers, strict=True)
        }
        assert numbers("embedding_lr", f"{table}.exponents") == expected
    settings = figure("embedding_lr.table3").PRINTED
    expected = {key: float(value) for key, value in settings if value.isdecimal()}
    assert numbers("embedding_lr", "", place="Table 3") == expected
    window = numbers("embedding_lr", "", unit="%")
    assert list(window.values()) == [100 * PAPER_WINDOW]


def test_the_tables_of_dinan_yaida_and_zhang():
    vit, bart = figure("effective_theory.table_vit"), figure("effective_theory.table_bart")
    bases = {"1": None, "power of n": 768, "power of 768": 768, "power of 1000": 1_000}
    cells = {}
    for row in printed("effective_theory"):
        if row.place == "Table II.1.E":
            base = bases[row.unit]
            cells[row.what] = cells.get(row.what, 1) * (base**row.number if base else row.number)
    groups = vit.GROUPS | dict.fromkeys([g for g in vit.GROUPS if g[0] in "am"], "Q, K, V, U, W, X")
    found = set()
    for strategy in vit.PRINTED:
        for parameter, group in groups.items():
            std, factor = vit.printed(strategy, parameter)
            if group == "Q, K, V, U, W, X":
                std = 768**-0.5  # the table leaves out the constants of II.1.C
            name = "standard" if strategy == "SP" else strategy
            for quantity, value in (
                ("initial standard deviation", std),
                ("relative learning rate", factor),
            ):
                what = f"{name}: {quantity} of {group}"
                assert cells[what] == pytest.approx(value)
                found.add(what)
    assert found == set(cells)
    constants = numbers("effective_theory", "table_vit.init", place="Section II.1.C")
    qkv, u, w, x = (constants[key] for key in ("C_Q, C_K, C_V", "C_U", "C_W", "C_X"))
    c_over_m = {"qkv": qkv, "out": u, "up": w, "down": x / 4}  # only X divides by M = 4
    assert pytest.approx(vit.SHARP) == c_over_m

    names = {"word embedding": 0, "positional embedding": 1, "Q, K, V, U, W, X": 2}
    for strategy, (stds, powers, rescaling) in bart.PRINTED.items():
        name = "standard" if strategy == "SP" else strategy
        init = numbers("effective_theory", "table_bart.init")
        rates = {
            row.what: 0 if row.unit == "1" else row.number  # a factor 1 is a power 0
            for row in printed("effective_theory")
            if row.claim == "table_bart.exponents"
        }
        assert rates[f"{name}: rescaling of the output"] == rescaling
        for group, i in names.items():
            assert init[f"{name}: initial standard deviation of {group}"] == stds[i]
            assert rates[f"{name}: relative learning rate of {group}"] == powers[i]


def test_parameters_of_dinan_yaida_and_zhang():
    totals = {}
    for model, terms in figure("effective_theory.parameters").SUMS.items():
        counts = numbers("effective_theory", f"parameters.{model}")
        rounded, exact = (counts[key] for key in sorted(counts, key=lambda what: "out" in what))
        totals[model] = sum(terms.values())
        assert exact == totals[model] and rounded == pytest.approx(exact, rel=0.01)
    pairs = (("bart", "vit"), ("r2c2", "bart"), ("r2c2", "vit"))
    ratios = [float(f"{totals[large] / totals[small]:.0e}") for large, small in pairs]
    assert ratios == list(numbers("effective_theory", "", unit="ratio of parameters").values())


def test_rates_and_decays_of_dinan_yaida_and_zhang():
    for name in ("fig1", "fig3"):
        rates = numbers("effective_theory", f"{name}.optimum-lr", unit="learning rate")
        assert list(rates.values()) == list(figure(f"effective_theory.{name}").PRINTED.values())
    (epochs,) = numbers("effective_theory", "fig1.lr-min", unit="epochs").values()
    (iterations,) = numbers("effective_theory", "fig1.lr-min", unit="iterations").values()
    assert [*figure("effective_theory.fig1").LAST.values()] == [312 * epochs, iterations]
    untuned = r2c2.strategies(r2c2.PAPER)
    rates = numbers("effective_theory", "", unit="learning rate")
    assert [float(f"{each['lr']:.4g}") for each in untuned] == list(rates.values())
    swept = bart.PAPER.network.under("neural-tangent")
    decays = [each["optimizer.weight_decay"] for each in (swept, untuned[1])]
    printed_decays = numbers("effective_theory", "", unit="weight decay")
    assert decays == pytest.approx(list(printed_decays.values()), rel=0.02)


def test_powers_of_the_tangent_kernels_of_dinan_yaida_and_zhang():
    figures = figure("effective_theory._tangents")
    groups = {  # as printed -> the suite's groups, by network
        "patchify": [("vision", "stem")],
        "word embedding": [("language", "stem")],
        "positional embedding": [("vision", "positions"), ("language", "positions")],
        "U, V, K, Q": [(kind, group) for kind in figures.KINDS for group in "QKVU"],
        "W": [("vision", "W"), ("language", "W")],
        "X": [("vision", "X"), ("language", "X")],
        "head weights": [("vision", "head")],
        "head biases": [("vision", "bias")],
        "tied head": [("language", "head")],
    }
    of_sgd = numbers("effective_theory", "tangent_kernels.uniform-sgd")
    of_adamw = numbers("effective_theory", "tangent_kernels.uniform-adamw")
    assert len(of_sgd) == len(of_adamw) == len(groups)
    for words, members in groups.items():
        for kind, group in members:
            assert figures.UNIFORM[kind][group] == of_sgd[f"squared gradients of {words}"]
            power = of_adamw[f"factor that undoes the growth of {words}"]
            assert figures.UNIFORM[kind][group] + figures.ROOT[kind][group] == -power


def test_costs_and_selections_of_ma_et_al():
    for key, speedup in figure("upscaling.table4").SPEEDUPS.items():
        assert of("upscaling", f"table4.speedup-{key}") == {speedup}
    costs = paper_costs()
    for name, cost in costs.items():
        kind, key, *_ = name.split(".")
        if kind != "end-to-end":
            assert cost.printed in of("upscaling", f"table4.{kind}-{key}")
    runs = figure("upscaling._runs")
    for name, setting in (
        ("fig4", runs.SETTINGS["mlp-sgd"]),
        ("fig6", runs.SETTINGS["mlp"]),
        ("fig8", runs.SETTINGS["resnet"]),
        ("fig10", runs.SETTINGS["gpt2"]),
    ):
        ends = ("lr", "lr-upscaled", "noise")
        for end, selected in zip(ends, setting.selected, strict=True):
            value = float(runs.ROUNDED.get(selected, selected))
            assert of("upscaling", f"{name}.selected-{end}") == {value}
        curves = "fig4" if name == "fig4" else "fig2"
        assert of("upscaling", f"{curves}.end-to-end-{setting.key}") == {setting.end_to_end}
        key = "mlp-adamw" if setting.key == "mlp" else setting.key
        assert costs[f"end-to-end.{key}"].printed == setting.end_to_end
        steps = numbers("upscaling", f"{curves}.faster-{setting.key}", unit="TFLOPs")
        assert list(steps.values()) == [PAPER_REACHED[key]]
    tuned = numbers("upscaling", "fig2.end-to-end-with-tuning-gpt2", unit="times")
    assert list(tuned.values()) == [costs["end-to-end.gpt2-tuned"].printed]


def test_totals_of_ma_et_al_are_their_parts():
    totals = numbers("upscaling", "", unit="TFLOPs")
    for words, base, key in (
        ("MLP with SGD, base", 740, "mlp-sgd"),
        ("MLP with AdamW, base", 740, "mlp-adamw"),
        ("ResNet-18, base", 66_547, "resnet"),
        ("GPT-2, base", 10_615_488, "gpt2"),
    ):
        assert totals[f"{words} and upscaled, in total"] == base + PAPER_REACHED[key]
    assert totals["GPT-2, upscaled and tuning, in total"] == 19_679_775 + PAPER_REACHED["gpt2"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["claim,value,unit,place", "a,1,1,b"], "line 1: the columns must be claim,value,unit"),
        ([], "line 1: the columns must be"),
        ([GOOD, "fig4.selected-lr,0.4,1,F.1"], "line 3: has 4 cells where 5 belong"),
        (["", GOOD], "line 2: has 0 cells where 5 belong"),
        (
            ["fig4.selected-rl,0.4,1,F.1,x"],
            "line 2: unknown claim 'fig4.selected-rl', did you mean",
        ),
        (["fig99.x,0.4,1,F.1,x"], "line 2: unknown claim 'fig99.x', "),
        ([GOOD.replace("0.4", "about 1")], "line 2: value 'about 1' is no number; write it as"),
        ([GOOD.replace("0.4", "nan")], "line 2: value 'nan' is no number"),
        ([GOOD.replace("Appendix F.1", " ")], "line 2: place is empty"),
        ([GOOD.replace("Sweep 1 selects", "")], "line 2: what is empty"),
        ([GOOD, '"' + GOOD], "line 3: is not CSV (unexpected end"),
        ([GOOD, GOOD.replace("Sweep", "\xe9")], "line 3: is not UTF-8"),
    ],
)
def test_a_bad_row_is_named_in_one_line(rows, message, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROOT", tmp_path)
    path = tmp_path / "studies" / "upscaling" / "printed.csv"
    path.parent.mkdir(parents=True)
    header = [] if not rows or rows[0].startswith("claim") else [",".join(COLUMNS)]
    path.write_bytes("\n".join([*header, *rows]).encode("latin-1"))
    with refused() as caught:
        printed("upscaling")
    words = str(caught.value)
    assert words.startswith("studies/upscaling/printed.csv, line ") and message in words


def test_a_paper_without_the_file_and_a_broken_figure_are_in_nobodys_way(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROOT", tmp_path)
    assert printed("upscaling") == ()
    path = tmp_path / "studies" / "upscaling" / "printed.csv"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([",".join(COLUMNS), GOOD]))

    def broken(name):
        raise UserError(f"figures/{name}.py, line 1: SyntaxError")

    monkeypatch.setattr(catalog, "figure", broken)
    said = [worded.printed(of_papers.as_json(row)) for row in printed("upscaling")]
    assert said == ["0.4 (Appendix F.1): Sweep 1 selects"]


def test_explain_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["show", "table4.costs-resnet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("  quantity: "))
    assert lines[first + 1 : first + 3] == [
        "  printed: 66,547 TFLOPs (Appendix F.4): base run",
        "  printed: 265,970 TFLOPs (Appendix F.4): wide run from scratch",
    ]


def test_a_changed_row_makes_the_pictures_of_its_paper_anew(monkeypatch):
    """Their verdicts hold what the paper prints."""

    def keys():
        suite, names = load(["scale=smoke"]), ("upscaling/table4", "embedding_lr/table3")
        return [folder_of(suite, name).name for name in names]

    (ours, other), rows_of = keys(), of_papers.rows_of
    row = of_papers.Printed("", "1", "1", "nowhere", "one more")
    more = {"upscaling": [row]}
    monkeypatch.setattr(of_papers, "rows_of", lambda p: [*rows_of(p), *more.get(p, [])])
    after = keys()
    assert after[0] != ours and after[1] == other


def test_the_files_are_plain_csv():
    """Read by any program: one line a row, no blanks around cells."""
    for paper in PAPERS:
        text = (checkout.ROOT / "studies" / paper / "printed.csv").read_text("utf-8")
        assert len(text.splitlines()) == 1 + len(printed(paper))
        assert next(csv.reader(text.splitlines())) == COLUMNS


def test_a_figure_draws_the_values_and_not_the_sides_that_are_printed():
    assert of_papers.numbers("embedding_lr", "fig3.sqrt-d-rule") == [-0.5]
    assert of_papers.numbers("embedding_lr", "fig3.one-constant-mup") == []
