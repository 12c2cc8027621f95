"""Scales and data of which there are results or records, besides those that are configured."""

from collections.abc import Mapping
from pathlib import Path

from repro.core import catalog, config, discovery
from repro.core.study import SCALES
from repro.core.suite import Suite
from repro.products.records import RECORDS, read_record, recorded_at

FOLDER = Path("FOLDER")  # in the place of a folder that is not here


class OnRecord(Suite):
    """The suite on data that are on record, of which a folder need not be on this machine.

    known: dataset -> its identity, as the records say. words: dataset -> the same in words.
    """

    def __init__(self, chosen: config.Config, known: Mapping[str, dict], words: Mapping[str, str]):
        self._known, self._words = known, words
        super().__init__(chosen)

    def identity(self, dataset_name: str) -> Mapping:
        """As the records say, of a folder; else a dataset's own."""
        return self._known.get(dataset_name) or super().identity(dataset_name)

    def described(self, dataset_name: str) -> str:
        """As the records say, of a folder."""
        return self._words.get(dataset_name) or super().described(dataset_name)


def others(suite: Suite) -> list[Suite]:
    """Other scales and data of which there may be results or records, the largest scale first;
    without the scale that proves the pipeline alone, and of a user's own folder what is on record,
    as only a configuration can name where it lies."""
    folders = [folder for root in (RECORDS, Path("results")) for folder in root.glob("*/*/")]
    places = dict.fromkeys((folder.parent.name, folder.name) for folder in sorted(folders))
    known = [(scale, label) for scale, label in places if scale in SCALES[1:]]
    known.sort(key=lambda place: -SCALES.index(place[0]))
    found = (of_place(*place) for place in known if place != (suite.config.scale, suite.label))
    return [each for each in found if each]


def of_place(scale: str, label: str) -> Suite | None:
    """The suite at a scale on data with this label; None where nothing says what they are."""
    data, *parts = label.split("+")
    kinds = dict(part.split("=", 1) for part in parts if "=" in part)
    if data not in config.SOURCES or len(kinds) < len(parts):
        return None
    named = {name: kind for name, kind in kinds.items() if kind in config.SOURCES}
    folders = {name for name, kind in kinds.items() if config.FOLDER_LABEL.fullmatch(kind)}
    if len(named) + len(folders) < len(kinds) or not {*kinds} <= {*discovery.dataset_names()}:
        return None
    chosen = config.parse({"scale": scale, "data": data, **named}, discovery.dataset_names())
    if not folders:
        return Suite(chosen)
    return of_folders(chosen, folders, label)


def of_folders(chosen: config.Config, folders: set[str], label: str) -> Suite | None:
    """The suite on folders of a user's, as the records of that label say; None without any."""
    saved = [
        read_record(base)["provenance"]
        for name in catalog.figure_names()
        for base in recorded_at(chosen.scale, label, name)
    ]
    known = {name: each for made_of in saved for name, each in made_of["datasets"].items()}
    if not folders <= {*known}:
        return None
    # A figure of one dataset has that dataset's words.
    words = {
        n: each["data"] for each in saved for n in each["datasets"] if len(each["datasets"]) == 1
    }
    kept = [{name: each[name] for name in folders if name in each} for each in (known, words)]
    suite = OnRecord(config.in_folders(chosen, folders, FOLDER), *kept)
    return suite if suite.label == label else None
