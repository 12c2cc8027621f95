import pytest

from repro.judge import drawing

CLAIM = {
    "claim": "fig3.sqrt-d-rule",
    "statement": "The optimum falls with width",
    "source": "Figure 3",
    "quantity": "slope of log eta_E* against log d",
    "expected": "below -0.2",
    "measured": -0.386,
    "low": -0.524,
    "high": -0.256,
    "n": 3,
    "seen": "cannot be told",
    "binds": True,
    "verdict": "cannot be told",
    "chosen_after_seeing": "",
    "reason": "reported only",
}


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("words", [1, 4, 8])
def test_a_title_lies_inside_the_figure_and_above_the_panels(columns, words):
    figure, axes = drawing.panels(columns)
    axes[0][0].set_title("panel")
    title = " ".join(["Upscaled models against wide ones"] * words)
    drawing.finish(figure, title, "A caption.", [], "scale: smoke")
    figure.draw_without_rendering()
    title = figure.texts[0].get_window_extent()
    panel = axes[0][0].get_tightbbox()
    assert title.x0 >= 0 and title.x1 <= figure.bbox.width
    assert panel.y1 <= title.y0 and title.y1 <= figure.bbox.height
    drawing.plt.close(figure)


@pytest.mark.parametrize("words", [1, 40, 120])
def test_the_caption_stands_between_the_panels_and_the_claims(words):
    figure, axes = drawing.panels(2)
    axes[0][0].set_xlabel("step")
    caption = " ".join(["cost in $"] * words)
    drawing.finish(figure, "title", caption, [CLAIM], "scale: smoke")
    figure.draw_without_rendering()
    _, *lines = figure.texts
    claim = next(i for i, line in enumerate(lines) if CLAIM["claim"] in line.get_text())
    assert " ".join(line.get_text() for line in lines[:claim]) == caption
    boxes = [line.get_window_extent() for line in lines]
    assert boxes[0].y1 <= axes[0][0].get_tightbbox().y0
    assert all(above.y0 > below.y0 for above, below in zip(boxes, boxes[1:], strict=False))
    assert boxes[-1].y0 >= 0
    drawing.plt.close(figure)


@pytest.mark.parametrize("characters", range(40, 160, 7))
def test_a_claim_breaks_neither_in_its_numbers_nor_in_its_verdict(characters):
    lines = [line.replace(drawing.UNBROKEN, " ") for line in drawing.claim_lines(CLAIM, characters)]
    for words in ("-0.386 [-0.524, -0.256]", "n = 3", "CANNOT BE TOLD"):
        assert sum(words in line for line in lines) == 1


def test_n_is_printed_where_all_seeds_agree():
    agreed = CLAIM | {"low": -0.386, "high": -0.386}
    text = " ".join(drawing.claim_lines(agreed, 200)).replace(drawing.UNBROKEN, " ")
    assert "measured -0.386, n = 3: CANNOT BE TOLD" in text


def test_the_texts_of_a_table_lie_inside_their_cells():
    figure, axes = drawing.panels(1, width=8.4, height=1)
    printed = "d^-1/2  (measured d^-0.500)"
    rows = [["LVP", "lr (Adam)", printed, printed, printed]]
    drawing.table(axes[0, 0], rows, ["", "", "embedding", "output", "hidden\nweights"])
    drawing.finish(figure, "title", "caption", [], "scale: smoke")
    figure.draw_without_rendering()
    for cell in axes[0, 0].tables[0].get_celld().values():
        text, box = cell.get_text().get_window_extent(), cell.get_window_extent()
        assert box.x0 < text.x0 - 5 and text.x1 + 5 < box.x1
    drawing.plt.close(figure)
