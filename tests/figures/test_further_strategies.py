"""A strategy that the paper does not have is added in a study alone: its figures have it too."""

import importlib
import sys

import pandas as pd
import pytest
from test_bart_figures import sweeps
from test_vit_figures import EQUAL, table

from figures.effective_theory import fig1, fig2, fig3, fig4
from repro.core import discovery
from repro.verdicts.drawing import plt

pytestmark = pytest.mark.usefixtures("measured_alone")


@pytest.fixture
def again(monkeypatch):
    """Import a module of the paper's anew, and all that it imports of its figures and studies."""
    papers = ("studies.effective_theory", "figures.effective_theory")
    for name in [name for name in sys.modules if name.startswith(papers)]:
        monkeypatch.delitem(sys.modules, name)
    known = (discovery.study, discovery._study_module)
    for cached in known:
        cached.cache_clear()
    yield importlib.import_module
    for name in [name for name in sys.modules if name.startswith(papers)]:
        del sys.modules[name]
    for cached in known:
        cached.cache_clear()


def values(figure, data):
    """What the figure measures, without the words beside it."""
    return {name: found.value for name, found in figure.measure(data, "reduced").items()}


def drawn(figure, data):
    """The legends' and panels' words of a figure."""
    made = figure.draw(data, "reduced")
    words = [panel.get_title() for panel in made.axes]
    for panel in made.axes:
        legend = panel.get_legend()
        words += [text.get_text() for text in legend.get_texts()] if legend else []
    plt.close(made)
    return " ".join(words)


def test_another_s_of_the_vit_is_searched_run_and_drawn(again):
    again("studies.effective_theory._strategies").STRATEGIES["s=0.25"] = "s=0.25"
    study = again("studies.effective_theory.vit")
    best = study.STAGES["s=0.25_best"]
    assert best.settings("reduced")["parametrization"] == "s=0.25"
    assert best.settings("reduced")["lr"].stage == "s=0.25_search"
    assert study.start("s=0.25", study.REDUCED)[0] == pytest.approx(2.0**-7 * 64**1.375)
    data = table(EQUAL | {"hybrid": 0.8, "maximal-update": 0.6})
    further = data[data["strategy"] == "hybrid"].assign(strategy="s=0.25")
    further["valid_accuracy"] += 0.1
    for before in (fig1, fig2):
        figure = again(before.__name__)
        assert any(stage.endswith("s=0.25_search") for stage in figure.FIGURE.studies)
        both = pd.concat([data, further], ignore_index=True)
        kept, found = values(before, data), values(figure, both)
        assert found == pytest.approx(kept, nan_ok=True), "the claims are of the paper's"
        assert "s=0.25" in drawn(figure, both)


def test_a_hybrid_bart_is_swept_and_drawn(again):
    shared = again("studies.effective_theory._bart")
    shared.STRATEGIES["hybrid"] = "hybrid"
    study = again("studies.effective_theory.bart").STAGES["hybrid"]
    assert study.settings("reduced")["parametrization"] == "hybrid"
    assert 2.0**-7 * 48**1.25 in [pytest.approx(lr) for lr in study.scales["reduced"].grid["lr"]], (
        "the matrices' rates are the standard ones"
    )
    data = pd.DataFrame(sweeps())
    further = data[data["strategy"] == "neural-tangent"].assign(strategy="hybrid")
    further["lr"] /= 48**0.25
    for before in (fig3, fig4):
        figure = again(before.__name__)
        both = pd.concat([data, further], ignore_index=True)
        kept, found = values(before, data), values(figure, both)
        assert found == pytest.approx(kept, nan_ok=True), "the claims are of the paper's"
        assert "hybrid" in drawn(figure, both)
