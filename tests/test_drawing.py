import pytest

from repro import drawing


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("words", [1, 4, 8])
def test_a_title_lies_inside_the_figure_and_above_the_panels(columns, words):
    figure, axes = drawing.panels(columns)
    axes[0][0].set_title("panel")
    title = " ".join(["Upscaled models against wide ones"] * words)
    drawing.finish(figure, title, [], "scale: smoke")
    figure.draw_without_rendering()
    title = figure.texts[0].get_window_extent()
    panel = axes[0][0].get_tightbbox()
    assert title.x0 >= 0 and title.x1 <= figure.bbox.width
    assert panel.y1 <= title.y0 and title.y1 <= figure.bbox.height
    drawing.plt.close(figure)
