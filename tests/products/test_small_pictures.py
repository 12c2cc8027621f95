"""The pictures for 430 pixels: letters that one reads there, and kept wherever the large one is."""

import pandas as pd
import pytest
from matplotlib.text import Text

from repro.core import catalog
from repro.core.names import SMALL
from repro.errors import UserError
from repro.files import write_bytes, write_json
from repro.lineage.checkout import ROOT
from repro.products import built, published, records
from repro.verdicts import drawing
from repro.verdicts.figure import figure_named

NAMES = [name for name in catalog.figure_names() if figure_named(name).small]
PIXELS = 430  # of what a README shows side by side, and about those of a phone
LEAST = 9.5  # pixels of a letter's height that one reads
SHOWN = "effective_theory/positions"  # has one


def words_of(figure):
    """The texts that a picture shows, and their places in it, as fractions."""
    figure.draw_without_rendering()
    texts = (text for text in figure.findobj(Text) if text.get_visible() and text.get_text())
    size = figure.bbox.size
    return [(text, text.get_window_extent().get_points() / size) for text in texts]


@pytest.mark.parametrize("name", NAMES)
def test_letters_of_a_small_picture_are_readable_at_430_pixels(name):
    base = ROOT / "records" / "overnight" / "embedded" / "cpu" / name
    drawing.style()
    shown = figure_named(name)
    figure = shown.small(pd.read_csv(base.with_suffix(".csv")), "overnight")
    drawing.finish(figure, shown.title, (), f"{name}, overnight scale, embedded data")
    assert len([axes for axes in figure.axes if axes.axison]) == 1
    inch = PIXELS / figure.get_size_inches()[0]
    words = words_of(figure)
    for text, ((left, low), (right, high)) in words:
        assert text.get_fontsize() / drawing.POINTS * inch >= LEAST, text.get_text()
        assert text.get_clip_on() or -0.01 <= min(left, low) <= max(right, high) <= 1.01
    assert any("overnight scale" in text.get_text() for text, _ in words)


def test_every_record_of_such_a_figure_has_its_small_picture():
    for name in NAMES:
        for base in records.RECORDS.rglob(f"{name}.json"):
            assert base.with_suffix(SMALL).exists()
            listed = records.sums(base.parents[1])
            assert f"{name}{SMALL}" in listed, "digests vouch for it"
    every = {f"{p.parent.name}/{p.name}" for p in records.RECORDS.rglob(f"*{SMALL}")}
    assert every == {f"{name}{SMALL}" for name in NAMES}


def test_a_small_picture_that_is_gone_is_drawn_again_and_one_that_was_edited_is_named(
    tmp_path, monkeypatch
):
    folder = tmp_path / SHOWN / "key"
    small = folder / published.small_of(SHOWN)
    for name in (*published.files(SHOWN), small.name):
        write_bytes(folder / name, published.BEGINS.get(name[-4:], b'{"files":\n[]}'))
    write_json(folder / published.MANIFEST, published.manifest_of(folder, SHOWN, folder.name))
    monkeypatch.setattr(built, "folder_of", lambda suite, name: folder)
    monkeypatch.setattr(built, "cell_paths", lambda suite, name: [])
    assert (
        built.outdated(None, SHOWN) == []
        and small.name in published.checked_manifest(folder)["files"]
    )
    write_bytes(small, b"edited")
    with pytest.raises(UserError, match="positions.small.png: is not what manifest.json says"):
        published.checked_manifest(folder)
    small.unlink()
    assert built.outdated(None, SHOWN) == [folder / published.MANIFEST]


def test_a_record_loses_the_small_picture_that_its_figure_no_longer_draws(tmp_path):
    base = tmp_path / "records" / "paper" / "fig1"
    base.parent.mkdir(parents=True)
    small = base.with_suffix(SMALL)
    small.write_bytes(b"drawn before")
    records._note_digests(base.parents[1], [small])
    assert [*records.sums(base.parents[1])] == [f"paper/fig1{SMALL}"]
    records._put_small(tmp_path, base)
    records._note_digests(base.parents[1], [small])
    assert not small.exists() and records.sums(base.parents[1]) == {}
