import math

import pytest

from repro.verdicts import drawing
from repro.verdicts.typeset import Table, powers


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("words", [1, 8])
@pytest.mark.parametrize("found", [0, 1])
def test_a_title_lies_inside_the_figure_and_above_the_panels(columns, words, found):
    figure, axes = drawing.panels(columns)
    axes[0][0].set_title("panel")
    title = " ".join(["Upscaled models against wide ones"] * words)
    marks = [("3 reproduced", "reproduced"), ("12 not reproduced", "not reproduced")]
    drawing.finish(figure, title, marks * bool(found), "scale: smoke")
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent() for text in figure.texts[:-1]]
    boxes += [box.get_window_extent(renderer) for box in figure.artists]
    assert len(boxes) == 1 + bool(found)
    panel = axes[0][0].get_tightbbox()
    for box in boxes:
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width
        assert panel.y1 <= box.y0 and box.y1 <= figure.bbox.height
    assert len(boxes) == 1 or boxes[1].y1 <= boxes[0].y0, "what it is of, then how it fared"
    drawing.plt.close(figure)


@pytest.mark.parametrize("label", ["embedded", "embedded+wikitext2=folder-3de02ad3+covtype=real"])
def test_a_picture_is_the_plot_its_title_and_one_line(label):
    figure, axes = drawing.panels(1)
    axes[0][0].set_xlabel("step")
    last = f"effective_theory/table_vit, reduced scale, {label} data, cpu, data.csv 0123456789ab"
    drawing.finish(figure, "title", [], last)
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.texts] == ["title", last]
    line = figure.texts[1].get_window_extent()
    assert line.y0 >= 0 and line.x1 <= figure.bbox.width
    assert line.y1 <= axes[0][0].get_tightbbox().y0
    drawing.plt.close(figure)


def test_the_texts_of_a_table_lie_inside_their_cells():
    printed = "d^-1/2  (measured d^-0.500)"
    remark = "the width's gain, 0.194 nats, is below 5 standard errors of it, of ratio 1 alone"
    rows = [["LVP", "lr (Adam)", printed, printed, printed], ["SP", "lr", "1", "1", remark]]
    heads = ["", "", "embedding", "output", "hidden\nweights"]
    figure = drawing.of_table(Table(heads, rows, "a | b"))
    drawing.finish(figure, "title", [], "scale: smoke")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    for cell in axes.tables[0].get_celld().values():
        text, box = cell.get_text().get_window_extent(), cell.get_window_extent()
        assert box.x0 < text.x0 - 5 and text.x1 + 5 < box.x1
        assert box.y0 < text.y0 and text.y1 < box.y1
        assert box.x0 > 0 and box.x1 < figure.bbox.width
    drawing.plt.close(figure)


def test_a_table_is_text_in_markdown_and_csv():
    table = Table(["", "initial\nstd"], [["lr* wd*", "0.02 | 0.0200"]], "printed | as built")
    assert table.csv() == b",initial std\nlr* wd*,0.02 | 0.0200\n"
    assert table.markdown() == [
        "|  | initial<br>std |",
        "|---|---|",
        "| lr\\* wd\\* | 0.02 \\| 0.0200 |",
        "",
        "printed | as built",
    ]


def test_a_cell_is_no_formula_of_matplotlib_nor_html_nor_one_of_a_spreadsheet():
    """Found in review: `$\\frac{$` ended in a traceback."""
    texts = ["$\\frac{$", "<b onmouseover=alert(1)>", "=cmd|'/C calc'!A0", "-2+cmd|' /C calc'!A0"]
    table = Table(["text"], [[text] for text in texts], "$\\frac{$")
    figure = drawing.of_table(table)
    figure.draw_without_rendering()
    drawing.plt.close(figure)
    assert table.csv().decode().splitlines()[3:] == [f"'{text}" for text in texts[2:]]
    numbers = [["-0.5 [-1.2, +3]"], ["-"], ["+0.25"], ["-1 within 0.3"]]
    assert table.csv().count(b"'-") == 1 and b"'" not in Table(["text"], numbers).csv()
    assert "| \\<b onmouseover=alert(1)> |" in table.markdown()
    assert "a < b" in Table(["text"], [["a < b"]]).markdown()[2]


def test_powers_of_a_picture_are_superscripts():
    assert powers("n^-1/2 | n^-0.500") == "n$^{-1/2}$ | n$^{-0.500}$"
    assert powers("1  (measured d^0.000)") == "1  (measured d$^{0.000}$)"
    assert powers("3e-05, 0.02, 2e+03") == r"3$\times 10^{-5}$, 0.02, 2$\times 10^{3}$"
    assert powers("one-rate, $5") == r"one-rate, \$5"
    rows = [["LVP", "d^-1/2  (measured d^-0.500)"]]
    figure = drawing.of_table(Table(["", "rate"], rows, ""))
    shown = [cell.get_text().get_text() for cell in figure.axes[0].tables[0].get_celld().values()]
    drawing.plt.close(figure)
    assert not any("^-" in text for text in shown)


def test_bars_are_the_intervals_and_a_value_without_one_has_a_mark_alone():
    figure, ((axes,),) = drawing.panels(1)
    drawing.bars(axes, [1, 2], [(3, 2, 5), (4, math.nan, math.nan)])
    ((marks, _, (ends,)),) = axes.containers
    assert marks.get_ydata().tolist() == [3, 4]
    assert ends.get_segments()[0][:, 1].tolist() == [2, 5]
    assert len(ends.get_segments()[1]) == 0
    drawing.plt.close(figure)


def test_guides_are_named_powers_from_one_point_and_the_paper_s_is_its_colour():
    figure, ((axes,),) = drawing.panels(1)
    drawing.guides(axes, [4, 8, 16], 2.0, {"rule": -0.5, "flat": 0.0}, paper="rule")
    assert [line.get_ydata().tolist() for line in axes.lines] == [[2, 1], [2, 2]]
    assert [text.get_text() for text in axes.texts] == ["rule", "flat"]
    assert [line.get_color() == drawing.PAPER for line in axes.lines] == [True, False]
    drawing.plt.close(figure)


def test_what_a_cross_means_is_said_once_and_only_where_there_is_one():
    figure, ((axes,),) = drawing.panels(1)
    drawing.diverged(axes, [], "red")
    assert not axes.lines
    drawing.diverged(axes, [1], "red")
    drawing.diverged(axes, [1, 2], "blue")
    assert axes.get_legend_handles_labels()[1] == [drawing.DIVERGED]
    drawing.plt.close(figure)


@pytest.mark.parametrize(
    ("scale", "ends", "shown"),
    [("linear", (1e3, 3e4), "20k"), ("log", (1e3, 3e4), "2k"), ("log", (0.1, 2), "0.5")],
)
def test_ticks_are_plain_numbers(scale, ends, shown):
    figure, ((axes,),) = drawing.panels(1)
    axes.set_yscale(scale)
    axes.set_ylim(*ends)
    drawing.plain_ticks(axes.yaxis)
    figure.draw_without_rendering()
    assert shown in [label.get_text() for label in axes.get_yticklabels()]
    drawing.plt.close(figure)


def test_a_setting_with_an_order_is_a_ramp_whose_colours_stay():
    ramp = drawing.ramp([64, 16, 32, 16])
    assert [*ramp] == [16, 32, 64] and len({*ramp.values()}) == 3
    light = [sum(color) for color in ramp.values()]
    assert light == sorted(light), "from dark to light"


def test_a_legend_above_a_panel_lies_on_no_data_and_below_its_title():
    figure, ((panel,),) = drawing.panels(1)
    panel.set_title("what it is of")
    for label in ("one", "two", "three", "four", "five"):
        panel.plot([0, 1], [0, 1], label=label)
    drawing.legend_above(panel, 3, title="widths")
    figure.draw_without_rendering()
    legend, title = panel.get_legend().get_window_extent(), panel.title.get_window_extent()
    assert panel.bbox.y1 <= legend.y0 + 1 and legend.y1 <= title.y0 + 1
    drawing.plt.close(figure)
