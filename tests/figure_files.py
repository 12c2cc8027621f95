"""A figure made without Snakemake, for the tests."""

from repro.files import read_json, write_bytes, write_json
from repro.products import picture, published, records, run_table
from repro.products.built import picture_folder


def make(suite, name):
    """Reduce, draw and publish a figure, whose runs are finished; the folder of its picture."""
    run_table.reduce(suite, name)
    folder = draw(suite, name)
    published.publish(folder)
    return folder


def draw(suite, name):
    """Draw a figure that is reduced; the folder of its picture."""
    folder = picture_folder(suite, name)
    picture.draw(folder)
    return folder


def from_record(suite, name, change=lambda made: None):
    """The table of a figure as if it had been reduced here, from its record; its folder.

    change: of what is said of its runs.
    """
    (base,) = records.recorded(suite, name)
    folder = run_table.table_folder(suite, name)
    made = read_json(base.with_suffix(".json"))["provenance"]
    change(made)
    write_bytes(folder / "data.csv", base.with_suffix(".csv").read_bytes())
    write_json(folder / "provenance.json", made | run_table.made_of(suite, name) | {"files": []})
    return folder
