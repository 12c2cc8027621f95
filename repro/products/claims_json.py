"""claims.json: all tests and readings at all scales and on all data, for a program to read.
No torch.

`repro record`, also with --again, writes it into records/, and a report has its own. Its schema is
docs/claims-schema.json, which `python -m repro.products.claims_json` prints.
"""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from repro.core import discovery
from repro.core.study import SCALES
from repro.errors import UserError
from repro.files import REMEDY, json_bytes, sha256_file
from repro.lineage.provenance import devices
from repro.verdicts import answers, power, statements, words
from repro.verdicts import badge as badges
from repro.verdicts.results import SEEN, Bound, Judged, Results, Row, Taken
from widthwise.hints import misfit


class FiledTest(Judged):
    """A test that binds, at its scale and on its data."""

    device: str  # of its runs: `cpu`, or the GPU's model
    registered: str  # whether it was fixed before its runs, in the register's words


class FiledReading(Taken):
    """A number that is held against nothing at its scale, or that is a test at another."""

    device: str  # of its runs: `cpu`, or the GPU's model


class FiledFigure(TypedDict):
    """A figure at one scale on one data source: what its tests and readings are of."""

    figure: str  # `<paper>/<figure>`
    scale: str  # of its runs
    data: str  # of its runs
    device: str  # of its runs
    data_sha256: str  # SHA-256 of its data.csv
    picture_sha256: str  # SHA-256 of its picture, a PNG
    seeds: list[int]  # of its runs
    runs: int  # how many it is made of
    chosen_after_seeing: str  # settings chosen after seeing results; "" where none were
    command: str  # what builds it anew


class FiledStatement(TypedDict):
    """What a paper states."""

    paper: str  # its slug, its folder
    statement: str  # its id, unique within the paper
    text: str  # what is said, in our words
    source: str  # where the paper says it; `ours` where it is the suite's
    quote: str  # the paper's words there, at most fifteen; may be ""


class FiledPaper(TypedDict):
    """A paper whose statements they are."""

    slug: str  # its folder; what a figure's name begins with
    title: str  # in its own words
    authors: list[str]  # each as `Hayou, Soufiane`
    arxiv: str  # its number
    version: int  # of the text that is judged


class Filed(TypedDict):
    """All that was tested and read; null stands for a number that is not finite."""

    schema_version: int  # of this file: 1 was a bare list, 2 a list of claims under `claims`
    commit: str  # of the checkout that wrote it, its changes not counted; "" where git says none
    papers: list[FiledPaper]  # the papers there are, without the suite's own benchmark
    statements: list[FiledStatement]  # of all papers and the benchmark
    figures: list[FiledFigure]  # by scale, data, device and name
    tests: list[FiledTest]  # in the order of the figures
    readings: list[FiledReading]  # in the order of the figures


VERSION = 3
# Key -> the only values it has.
CHOICES: Mapping[str, Sequence[str]] = {
    "kind": answers.KINDS,
    "status": (*words.STATUSES,),
    "code": (*words.DOUBTS,),
    "seen": ("", *SEEN),
    "basis": answers.BASES,
    "role": (power.PAPER, power.RIVAL, power.EDGE),
    "scale": SCALES,
}


def check_results(saved: Mapping, path: object, remedy: str = REMEDY) -> Results:
    """What a file holds of a figure's tests and readings. Raises UserError, naming it and the
    place, where they are not those that this suite writes."""
    found: Any = {key: saved.get(key) for key in Results.__annotations__}
    if wrong := misfit(found, Results, "results"):
        raise UserError(f"{path}: was not written by this suite, {wrong}; {remedy}")
    for row in [*found["tests"], *found["readings"]]:
        name, bound = row.get("test") or row["reading"], row["bound"]
        if bool(bound) != bool(row.get("seen", bound)) or (bound and _is_cut(bound)):
            raise UserError(f"{path}: {name}: its bound is there in part; {remedy}")
        parts = [row, bound or {}, *row.get("doubts", ()), *row.get("laws", ())]
        for key, choices in CHOICES.items():
            if other := [part[key] for part in parts if part.get(key, choices[0]) not in choices]:
                raise UserError(f"{path}: {name}: no {key} is {other[0]!r}; {remedy}")
    return found


def _is_cut(bound: Bound) -> bool:
    """Whether of what a formula predicts some is there and some is not."""
    its = (bool(bound["formula"]), len(bound["predicted"]) == 2, bound["limit"] is not None)
    return any(its) != all(its) or len(bound["predicted"]) not in (0, 2)


TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
KEY = re.compile(r"^    (\w+): .+  # (.+)$", re.MULTILINE)  # with its comment


class Part(NamedTuple):
    """What claims.json has of one figure."""

    figure: FiledFigure
    tests: list[FiledTest]
    readings: list[FiledReading]


def filed(figure: str, results: Results, provenance: Mapping, data: Path, picture: Path) -> Part:
    """A figure's part. provenance: as `records.as_built`. data, picture: its data.csv and PNG."""
    device = ", ".join(devices(provenance["made"]))
    scale, label = provenance["scale"], provenance["label"]
    of = FiledFigure(
        figure=figure,
        scale=scale,
        data=label,
        device=device,
        data_sha256=sha256_file(data),
        picture_sha256=sha256_file(picture),
        seeds=sorted(provenance.get("seeds", [])),
        runs=sum(entry["runs"] for entry in provenance["made"]),
        chosen_after_seeing=provenance["chosen_after_seeing"],
        command=builds(figure, scale, label),
    )
    readings = [FiledReading(**row, device=device) for row in results["readings"]]
    return Part(of, filed_tests(results["tests"], provenance), readings)


def filed_tests(judged: Iterable[Judged], provenance: Mapping) -> list[FiledTest]:
    """Tests with what is said of them beside the verdict. provenance: of their figure."""
    device = ", ".join(devices(provenance["made"]))
    return [
        FiledTest(**row, device=device, registered=badges.badge(row, provenance).word)
        for row in judged
    ]


def builds(figure: str, scale: str, label: str) -> str:
    """The call that builds a figure at a scale on data."""
    return f"uv run snakemake figures/{figure}.pdf --config {_settings(scale, label)}"


def verifies(figure: str, scale: str, label: str) -> str:
    """The call that makes a record's runs anew, and holds them against it."""
    return f"uv run snakemake verify --config figures={figure} {_settings(scale, label)}"


def _settings(scale: str, label: str) -> str:
    """The configuration of runs; of other data than a word has, with the folder to be named."""
    data, *others = label.split("+")
    words = [f"scale={scale}"]
    words += [f"data={data}"] if data != "embedded" else []
    words += [f"{o.partition('=')[0]}=FOLDER" if "=folder" in o else o for o in others]
    return " ".join(words)


def whole(parts: Sequence[Part], commit: str) -> Filed:
    """The file. commit: of the checkout."""
    own = (paper for paper in discovery.papers().values() if not paper.ours)
    papers = [
        FiledPaper(
            slug=p.slug, title=p.title, authors=[*p.authors], arxiv=p.arxiv, version=p.version
        )
        for p in own
    ]
    stated = [
        FiledStatement(
            paper=slug,
            statement=each.statement,
            text=each.text,
            source=each.source,
            quote=each.quote,
        )
        for slug in discovery.papers()
        for each in statements.of_paper(slug).values()
    ]
    return Filed(
        schema_version=VERSION,
        commit=commit,
        papers=papers,
        statements=stated,
        figures=[part.figure for part in parts],
        tests=[row for part in parts for row in part.tests],
        readings=[row for part in parts for row in part.readings],
    )


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
    several = get_args(value)
    if any(map(is_typeddict, several)):
        return {"anyOf": [_type(each) for each in several]}
    return {"type": [TYPES[each] for each in several] or TYPES[value]}


def _choices(key: str) -> dict:
    return {"enum": [*CHOICES[key]]} if key in CHOICES else {}


def _comments(kind: Any) -> dict[str, str]:
    """Key of a TypedDict -> its comment, those that it inherits too."""
    sources = [each for each in (Row, Judged, Taken) if {*each.__annotations__} & {*_keys(kind)}]
    return dict(KEY.findall("".join(map(inspect.getsource, [*sources, kind]))))


def _keys(kind: Any) -> list[str]:
    return [*get_type_hints(kind)]


if __name__ == "__main__":
    print(json_bytes(schema()).decode(), end="")
