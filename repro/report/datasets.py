"""What pages list of every dataset, read off the files of data/. No torch, no network."""

import textwrap
from collections.abc import Iterator

from repro.core import discovery
from repro.core.suite import load
from repro.verdicts.typeset import markdown


def names() -> list[str]:
    """The sentence of config/README.md."""
    *first, last = [f"`{name}`" for name in discovery.dataset_names()]
    return textwrap.wrap(f"Datasets are {', '.join(first)} and {last}.", 116)


def downloads() -> list[str]:
    """The table of docs/promises.md."""
    rows = [
        [f"`{name}`", said["source"], said["revision"], said["digest"]] for name, said in _listed()
    ]
    head = ["dataset", "source", "revision", "digest, and who publishes it"]
    return markdown([head, *rows])


def sizes() -> list[str]:
    """The table of docs/cost.md."""
    return _alike("dataset", "download, once", "download")


def folders() -> list[str]:
    """The table of docs/own-data.md."""
    return _alike("key", "what is in the folder", "folder")


def _alike(head: str, about: str, field: str) -> list[str]:
    """A table with a row for all datasets of which the same is said."""
    rows: dict[str, list[str]] = {}
    for name, said in _listed():
        rows.setdefault(said[field], []).append(f"`{name}`")
    return markdown([[head, about], *([", ".join(names), of] for of, names in rows.items())])


def _listed() -> Iterator[tuple[str, dict[str, str]]]:
    """Each dataset and what its file says of it; where it has no `LISTED`, what it is in words."""
    real = load(["data=real"])
    for name in discovery.dataset_names():
        listed = getattr(discovery.dataset(name), "LISTED", None)
        said = dict.fromkeys(("source", "revision", "digest", "download", "folder"), "")
        yield name, said | (vars(listed) if listed else {"source": real.described(name)})
