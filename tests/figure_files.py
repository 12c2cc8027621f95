"""A figure made without Snakemake, for the tests."""

from repro.files import read_json, write_bytes, write_json
from repro.products import picture, published, records, run_table
from repro.products.published import manifest_of


def make(suite, name):
    """Make and publish a figure, whose runs are finished; its folder."""
    folder = picture.make(suite, name)
    published.publish(folder)
    return folder


def draw(suite, name):
    """Draw a figure of the table that was put there; its folder."""
    folder = picture.folder_of(suite, name)
    made = read_json(folder / "provenance.json")
    picture.write_figure(folder, name, folder / "data.csv", made)
    write_json(folder / "manifest.json", manifest_of(folder, name, folder.name))
    return folder


def from_record(suite, name, change=lambda made: None):
    """The table of a figure as if it had been made here, from its record; its folder.

    change: of what is said of its runs.
    """
    (base,) = records.recorded(suite, name)
    folder = picture.folder_of(suite, name)
    made = read_json(base.with_suffix(".json"))["provenance"]
    change(made)
    write_bytes(folder / "data.csv", base.with_suffix(".csv").read_bytes())
    write_json(folder / "provenance.json", made | run_table.made_of(suite, name) | {"files": []})
    return folder
