"""claims.json: every judged claim at all scales and on all data, for a program to read. No torch.

`repro record` and `repro rejudge` write it into records/, and a report has its own. Its schema is
docs/claims-schema.json, which `python -m repro.products.claims_json` prints.
"""

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from repro.core import discovery
from repro.core.study import SCALES
from repro.errors import UserError
from repro.files import REMEDY, json_bytes, read_json, sha256_file
from repro.lineage.provenance import devices
from repro.verdicts import badge as badges
from repro.verdicts import claims, words
from repro.verdicts.judged_claims import JudgedClaim
from repro.verdicts.printed import targets_of
from widthwise.hints import misfit


class Target(TypedDict):
    """A number that the paper prints, to hold the measured value against."""

    value: str  # as printed, with the paper's digits; `<` or `>` where it says only a side
    number: float  # the value as a number, without that sign
    unit: str  # in plain words; `1` where there is none
    place: str  # where the paper prints it
    what: str  # what it is of; may be a part of the claim's quantity


class FiledClaim(JudgedClaim):
    """A judged claim, the printed numbers beside the measured one, and what it was measured on."""

    targets: list[Target]  # the numbers that the paper prints for it
    device: str  # of its runs: `cpu`, or the GPU's model
    data_sha256: str  # SHA-256 of the figure's data.csv, which it was measured on
    picture_sha256: str  # SHA-256 of the figure's picture, a PNG
    registered: str  # whether it was fixed before its runs, in the register's words
    seeds: list[int]  # of the figure's runs
    runs: int  # how many the figure is made of
    command: str  # what builds the figure anew


class FiledPaper(TypedDict):
    """A paper whose claims they are."""

    slug: str  # its folder; `paper` of a claim
    title: str  # in its own words
    authors: list[str]  # each as `Hayou, Soufiane`
    arxiv: str  # its number
    version: int  # of the text that is judged


class Filed(TypedDict):
    """Every judged claim; null stands for a number that is not finite."""

    schema_version: int  # of this file: 1 was a bare list of claims
    commit: str  # of the checkout that wrote it, its changes not counted; "" where git says none
    papers: list[FiledPaper]  # the papers there are, without the suite's own benchmark
    claims: list[FiledClaim]  # by scale, data, device and figure


VERSION = 2
# Key -> the only values it has.
CHOICES = {
    "kind": claims.KINDS,
    "seen": (*words.SEEN, words.NOTHING),
    "verdict": words.VERDICTS,
    "scale": SCALES,
}


def check_rows(rows: object, path: object, remedy: str = REMEDY) -> list[JudgedClaim]:
    """Judged claims that a file holds. Raises UserError, naming it and the place, where they are
    not those that this suite writes."""
    if wrong := misfit(rows, list[JudgedClaim], "claims"):
        raise UserError(f"{path}: was not written by this suite, {wrong}; {remedy}")
    found: Any = rows
    for row in found:
        if other := [key for key, choices in CHOICES.items() if row[key] not in choices]:
            raise UserError(f"{path}: {row['claim']}: no {other[0]} is {row[other[0]]!r}; {remedy}")
    return found


def read_rows(path: Path) -> list[JudgedClaim]:
    """The judged claims of a figure's claims.json; raises UserError as `check_rows`."""
    return check_rows(read_json(path), path)


TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
KEY = re.compile(r"^    (\w+): .+  # (.+)$", re.MULTILINE)  # with its comment


def filed(row: JudgedClaim, provenance: Mapping, data: Path, picture: Path) -> FiledClaim:
    """A claim's entry. provenance: of its figure. data, picture: its data.csv and PNG."""
    return FiledClaim(
        **row,
        targets=[
            Target(value=t.value, number=t.number, unit=t.unit, place=t.place, what=t.what)
            for t in targets_of(row["paper"], row["claim"])
        ],
        device=", ".join(devices(provenance["made"])),
        data_sha256=sha256_file(data),
        picture_sha256=sha256_file(picture),
        registered=badges.badge(row, provenance).word,
        seeds=sorted(provenance.get("seeds", [])),
        runs=sum(entry["runs"] for entry in provenance["made"]),
        command=f"uv run snakemake figures/{row['figure']}.pdf --config {_settings(row)}",
    )


def verifies(row: JudgedClaim) -> str:
    """The call that makes a record's runs anew, and holds them against it."""
    return f"uv run snakemake verify --config figures={row['figure']} {_settings(row)}"


def _settings(row: JudgedClaim) -> str:
    """The configuration of a claim's runs; of other data than a word has, with the folder to be
    named."""
    data, *others = row["data"].split("+")
    words = [f"scale={row['scale']}"]
    words += [f"data={data}"] if data != "embedded" else []
    words += [f"{o.partition('=')[0]}=FOLDER" if "=folder" in o else o for o in others]
    return " ".join(words)


def whole(claims: Sequence[FiledClaim], commit: str) -> Filed:
    """The file. commit: of the checkout."""
    own = (paper for paper in discovery.papers().values() if not paper.ours)
    papers = [
        FiledPaper(
            slug=p.slug, title=p.title, authors=[*p.authors], arxiv=p.arxiv, version=p.version
        )
        for p in own
    ]
    return Filed(schema_version=VERSION, commit=commit, papers=papers, claims=[*claims])


def schema() -> dict:
    """The JSON Schema of the file; a key's description is its comment."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "claims.json",
    }
    return head | _object(Filed)


def _object(kind: Any) -> dict:
    """The schema of a TypedDict."""
    properties = {
        key: _type(value) | _choices(key) | {"description": _comments(kind)[key]}
        for key, value in get_type_hints(kind).items()
    }
    return {
        "type": "object",
        "description": inspect.cleandoc(kind.__doc__).partition("\n")[0],
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _type(value: Any) -> dict:
    if is_typeddict(value):
        return _object(value)
    if get_origin(value) is list:
        return {"type": "array", "items": _type(*get_args(value))}
    several = [TYPES[each] for each in get_args(value)]
    return {"type": several or TYPES[value]}


def _choices(key: str) -> dict:
    return {"enum": [*CHOICES[key]]} if key in CHOICES else {}


def _comments(kind: Any) -> dict[str, str]:
    """Key of a TypedDict -> its comment. It does not know what it extends before Python 3.12."""
    sources = (JudgedClaim, kind) if kind is FiledClaim else (kind,)
    return dict(KEY.findall("".join(map(inspect.getsource, sources))))


if __name__ == "__main__":
    print(json_bytes(schema()).decode(), end="")
