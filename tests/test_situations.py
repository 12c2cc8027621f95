"""Unlucky and hostile situations, a row each: how one is made, what is called in it, what it says.

The next one is a row of SITUATIONS. It runs in a work folder of its own, in this process, at smoke
scale on a small text; situations that need more than that have tests of their own.
"""

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from figure_files import make

from repro import files
from repro.__main__ import main
from repro.core import catalog
from repro.core.cells import MOST
from repro.core.suite import Suite, load
from repro.data.needs import Tokens
from repro.files import read_sealed
from repro.products import records
from repro.products.picture import folder_of

FIGURE = "embedding_lr/table3"  # its runs count parameters: they read nothing and train nothing


@dataclass(frozen=True)
class Place:
    """Where a situation is made: the work folder is the present one, `Path()`.

    drawn: a results/ in which FIGURE is built.
    """

    suite: Suite
    patch: pytest.MonkeyPatch
    drawn: Path

    @property
    def words(self) -> list[str]:
        """The configuration, for a call."""
        return ["--config", *self.suite.config.arguments()]

    def write(self, path, content: bytes = b"half") -> None:
        """Put a file there."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)


@dataclass(frozen=True)
class Situation:
    """A row. make: puts the situation there. call: words of the command line; the configuration is
    added. says: part of the one line of the error, "" where the call must succeed. leaves: pattern
    -> the bytes of the one file of that name afterwards, None where there must be none. status: of
    the process, 1 where it says something."""

    name: str
    make: Callable[[Place], object]
    call: Sequence[str]
    says: str = ""
    leaves: Mapping[str, bytes | None] = field(default_factory=dict)
    status: int | None = None


NO_TEMPORARIES = {"**/.*": None, "**/*.lock": None}


def as_it_is(place: Place) -> None:
    """An empty work folder."""


def drawn(place: Place) -> None:
    """The figure is built, but not published."""
    shutil.copytree(place.drawn, "results", dirs_exist_ok=True)


def made(place: Place) -> Path:
    """The folder of the figure's files."""
    return folder_of(place.suite, FIGURE)


def cell(place: Place) -> Path:
    """The file of the figure's one cell."""
    ((found,),) = place.suite.figure_cells(FIGURE).values()
    return place.suite.paths.cell(found)


def one_run(place: Place) -> Path:
    """The file of one of the figure's finished runs."""
    ((found,),) = place.suite.figure_cells(FIGURE).values()
    name = found.runs[0].id
    return place.suite.paths.runs / name[:2] / f"{name}.json"


def half_written(*folders: Callable[[Place], Path], after: Callable[[Place], None] = as_it_is):
    """What a killed job leaves: its own temporary folder, and a library's file beside."""

    def make(place: Place) -> None:
        after(place)
        for folder in folders:
            place.write(folder(place) / ".train-x1y2z3" / "train.txt")
            place.write(folder(place) / ".tmpAbCdEf")

    return make


def prepared(place: Place) -> Path:
    return place.suite.paths.manifest("wikitext2").parent


def tokenized(place: Place) -> Path:
    return place.suite.paths.tokens(Tokens("wikitext2", 256, "bpe")).parent


def fetched(place: Place) -> None:
    assert main(["fetch", "wikitext2", *place.words]) == 0


def changed_manifest(change: Callable[[str], str]):
    """The text is prepared, and its manifest is changed then."""

    def make(place: Place) -> None:
        fetched(place)
        manifest = place.suite.paths.manifest("wikitext2")
        manifest.write_text(change(manifest.read_text()))

    return make


def author_wrote(function: str, line: str):
    """The figure's file defines a function so, on its line 7."""

    def make(place: Place) -> None:
        drawn(place)
        module, figure = catalog.figure_module(FIGURE), catalog.figure(FIGURE)
        source = "\n" * 5 + f"def {function}(*given):\n    {line}\n"
        exec(compile(source, module.__file__, "exec"), written := {})
        changed = replace(figure, **{function: written[function]})
        place.patch.setattr(catalog, "figure", lambda name: changed)

    return make


def text_is_a_folder(place: Place) -> None:
    train_text(place).unlink()
    train_text(place).mkdir()


def pipe_in_place_of(file: Callable[[Place], Path], after: Callable[[Place], None] = as_it_is):
    """Nobody ever writes into the pipe, so that whoever opens it waits."""

    def make(place: Place) -> None:
        after(place)
        file(place).unlink()
        os.mkfifo(file(place))

    return make


def train_text(place: Place) -> Path:
    return Path(place.suite.source("wikitext2").folder) / "train.txt"


def text_without_end(place: Place) -> None:
    train_text(place).unlink()
    train_text(place).symlink_to("/dev/zero")


def text_without_blanks(place: Place) -> None:
    train_text(place).write_text("ab" * 600_000)
    fetched(place)


def opening_fails(error: Exception):
    """As a job begins to train, something says that there is none left."""

    def make(place: Place) -> None:
        def refuse(*given, **named):
            raise error

        place.patch.setattr("repro.core.execute.run_cell", refuse)

    return make


def disk_is_read_only(place: Place) -> None:
    def refuse(path, *options, **more):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))

    place.patch.setattr(os, "mkdir", refuse)


def no_rights(place: Place) -> None:
    """As on CIFS."""

    def refuse(path, *options, **more):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), os.fspath(path))

    drawn(place)
    place.patch.setattr(os, "chmod", refuse)


def sigterm_while_writing(place: Place) -> None:
    place.patch.setattr(files.os, "fsync", lambda number: signal.raise_signal(signal.SIGTERM))


def nobody_reads(place: Place) -> None:
    """As `| head` that has read enough."""
    read, write = os.pipe()
    os.close(read)
    place.patch.setattr(sys, "stdout", os.fdopen(write, "w"))


def cache_out_of_reach(place: Place) -> None:
    import datasets

    def refuse(*given, **named):
        raise PermissionError(errno.EACCES, "Permission denied", "/unreadable")

    for split in ("train", "valid"):
        place.write(f"text/{split}.jsonl", b'{"text": "%s"}\n' % split.encode())
    place.patch.setattr(datasets, "load_dataset", refuse)


def user_s_matplotlib(place: Place) -> None:
    """A matplotlibrc that asks for LaTeX, as it lies there when matplotlib is first imported."""
    import matplotlib

    drawn(place)
    place.patch.setitem(matplotlib.rcParams, "text.usetex", True)


def brought(change: Callable[[dict], object]):
    """The figure's cell was carried here, changed by somebody who sealed it again."""

    def make(place: Place) -> None:
        content = read_sealed(place.drawn.parent / cell(place), files.CELL_SEAL)
        change(content)
        place.write(cell(place), json.dumps(files.seal(content)).encode())

    return make


def brought_as(change: Callable[[bytes], bytes]):
    """The same of a file whose bytes are others."""

    def make(place: Place) -> None:
        place.write(cell(place), change((place.drawn.parent / cell(place)).read_bytes()))

    return make


def too_large(place: Place) -> None:
    """A cell's file of holes, one byte larger than may be read."""
    place.write(cell(place))
    os.truncate(cell(place), MOST + 1)


def said_of_a_run(key: str, value: object):
    """An entry of a run's provenance."""
    return brought(lambda content: content["runs"][0]["provenance"].update({key: value}))


def recorded_by_a_run(value: object):
    """An entry of a record."""
    return brought(lambda content: content["runs"][0]["records"][0].update({"mu": value}))


def words_for_numbers(place: Place) -> None:
    """Of the figure's cell: in one of its records, sealed again."""
    drawn(place)
    content = read_sealed(cell(place), files.CELL_SEAL)
    content["runs"][0]["records"][1]["lr"] = "a half"
    files.write_sealed(cell(place), content, files.CELL_SEAL)


def device_in(where: str):
    """The figure is built, of a device that a path could be made of, and its manifest fits."""

    def make(place: Place) -> None:
        drawn(place)
        place.patch.setattr(records, "RECORDS", Path.cwd() / "records")
        path = made(place) / "provenance.json"
        content = files.read_json(path)
        for entry in content["made"]:
            entry["device"] = where
        files.write_json(path, content)
        manifest = made(place) / "manifest.json"
        found = files.read_json(manifest)
        found["files"][path.name] = files.sha256_file(path)
        files.write_json(manifest, found)

    return make


NO_TABLE = {"results/**/data.csv": None}

SITUATIONS = [
    # Names that are none
    Situation("no study", as_it_is, ["train", "foo", "x"], "unknown study 'foo'"),
    Situation(
        "a study without its stage",
        as_it_is,
        ["train", "upscaling/mlp_sgd", "x"],
        "unknown stage 'upscaling/mlp_sgd': choose from ",
    ),
    Situation(
        "a stage of a study that has none",
        as_it_is,
        ["train", "embedding_lr/width/tune", "x"],
        "unknown stage 'embedding_lr/width/tune': embedding_lr/width has no stages",
    ),
    Situation("no figure", as_it_is, ["make", "../x"], "unknown figure '../x': choose from "),
    # Too early
    Situation(
        "a page whose figures are not built",
        as_it_is,
        ["page", "table3"],
        f"figures/{FIGURE}.pdf: is not built yet; build the page with uv run snakemake "
        "figures/table3.pdf --config scale=smoke wikitext2=",
    ),
    Situation(
        "a figure that is not built, at another scale than the usual",
        as_it_is,
        ["record"],
        f"make it with uv run snakemake figures/{FIGURE}.pdf --config scale=smoke ",
    ),
    # Something else is in a file's or a folder's place
    Situation(
        "results is a file",
        lambda place: place.write("results"),
        ["run", FIGURE],
        ": Not a directory; a file is on the way there where a folder should be",
    ),
    Situation(
        "results is a dangling link",
        lambda place: Path("results").symlink_to("nowhere"),
        ["run", FIGURE],
        "results: File exists; a file or a broken link is where a folder should be",
    ),
    Situation(
        "a text is a folder",
        text_is_a_folder,
        ["fetch", "wikitext2"],
        "train.txt: Is a directory; a folder is where a file should be, move it away",
    ),
    Situation(
        "the site's file is a folder",
        lambda place: place.patch.setenv("REPRO_SITE", str(Path.cwd())),
        ["show", "cost"],
        "is a folder where the site's file should be",
    ),
    Situation(
        "a run's lock is a folder",
        lambda place: one_run(place).with_suffix(".lock").mkdir(parents=True),
        ["run", FIGURE],
        ".lock: Is a directory; a folder is where a file should be, move it away",
    ),
    *(
        Situation(
            f"{name} is a pipe",
            pipe_in_place_of(file, after),
            call,
            f"{file_name}: is a pipe where a file should be; put a file there",
        )
        for name, file, after, call, file_name in (
            ("a text", train_text, as_it_is, ["fetch", "wikitext2"], "train.txt"),
            ("a cell", cell, drawn, ["make", FIGURE], ".json"),
        )
    ),
    Situation(
        "a text without an end",
        text_without_end,
        ["fetch", "wikitext2"],
        "train.txt: is a device where a file should be; put a file there",
    ),
    Situation(
        "a text without blanks and line ends",
        text_without_blanks,
        ["fetch", "wikitext2", "256"],
        "train.txt: more than 1,000,000 characters without a blank or a line end between them",
        {"**/tokens.json": None},
    ),
    Situation(
        "a text that is validated on itself",
        lambda place: shutil.copy(train_text(place), train_text(place).with_name("valid.txt")),
        ["fetch", "wikitext2"],
        "train.txt, which is trained on; give valid other data, or remove it",
        {"**/manifest.json": None},
    ),
    # Disks
    Situation(
        "a read-only disk",
        disk_is_read_only,
        ["run", FIGURE],
        "Read-only file system; the disk is read-only, choose another folder",
    ),
    Situation(
        "the cache of a library cannot be written",
        cache_out_of_reach,
        ["fetch", "fineweb", "--config", "scale=smoke", "fineweb=text"],
        "fineweb: the cache of Hugging Face's datasets cannot be written "
        "(/unreadable: Permission denied); set HF_HOME to a folder that can",
    ),
    # Sealed, and yet not what the suite writes
    Situation(
        "a finished run that lacks its provenance",
        lambda place: files.write_sealed(one_run(place), {"id": ""}, files.CELL_SEAL),
        ["run", FIGURE],
        ".json: was not written by this suite, it lacks 'spec'; delete it and run",
    ),
    Situation(
        "a cell without its runs",
        lambda place: (
            drawn(place),
            files.write_sealed(cell(place), {"format": 1}, files.CELL_SEAL),
        ),
        ["make", FIGURE],
        ".json: was not written by this suite, it lacks 'id'; delete it and run",
    ),
    # Sealed by somebody else: what a cell says becomes part of paths, pages and lines
    *(
        Situation(
            f"a cell from elsewhere whose {key} {what}",
            said_of_a_run(key, value),
            ["make", FIGURE],
            f"provenance has '{key}': {ascii(value)[:40]}",
            NO_TABLE,
        )
        for key, what, value in (
            ("device", "leads out of records/", "../../../x"),
            ("device", "is an absolute path", "/elsewhere/x"),
            ("device", "is the folder above", ".."),
            ("device", "has a NUL", "cpu\0"),
            ("device", "has control characters", "cpu\033[2J"),
            ("device", "has a second line", "cpu\n"),
            ("device", "is none of this suite's names", "cuda:H100"),
            ("device", "is too long for a folder", "a" * 300),
            ("device", "is missing", None),
            ("commit", "clears the screen", "\033[2J"),
            ("commit", "is HTML", "<b onmouseover=alert(1)>"),
            ("versions", "is a number", 2),
            ("versions", "clear the screen", {"torch": "\033[2J"}),
            ("versions", "have names of HTML", {"<script>": "2.0"}),
            ("host_cpu", "clears the screen", "AMD \033[2J"),
            ("host_cpu", "is HTML", "<img src=x onerror=alert(1)>"),
            ("arithmetic", "is HTML", "avx2 <script>"),
            ("seconds", "are no number", "1"),
            ("seconds", "are beyond numbers", 10**400),
            ("inputs", "are no mapping", []),
            ("code_sha256", "is none", "\033[2J"),
            ("surprise", "is a list", ["a"]),
        )
    ),
    *(
        Situation(
            f"a cell from elsewhere {what}",
            brought(change),
            ["make", FIGURE],
            says,
            NO_TABLE,
        )
        for what, change, says in (
            (
                "with another axis",
                lambda content: content["axes"].update(width=1),
                "its study or axes are not those of cell",
            ),
            (
                "with another run's axes",
                lambda content: content["runs"][0].update(axes={"seed": 7}),
                "its study or axes are not those of cell",
            ),
            (
                "of another spec",
                lambda content: content["runs"][0]["spec"].update(model="huge"),
                "its settings are not those of run",
            ),
            (
                "of another dataset",
                lambda content: content["runs"][0].update(datasets={"wikitext2": {}}),
                "its settings are not those of run",
            ),
            (
                "that says it was tuned",
                lambda content: content["runs"][0].update(tuned={"\033[2J": 1}),
                "its settings are not those of run",
            ),
            (
                "without records",
                lambda content: content["runs"][0].update(records=[]),
                "has no records",
            ),
            (
                "whose record is a number",
                lambda content: content["runs"][0].update(records=[1]),
                "was not written by this suite, records[0] is 1",
            ),
            (
                "without its provenance's entries",
                lambda content: content["runs"][0].update(provenance={}),
                "provenance has ",
            ),
        )
    ),
    *(
        Situation(
            f"a cell from elsewhere {what}",
            brought_as(change),
            ["make", FIGURE],
            says,
            NO_TABLE,
        )
        for what, change, says in (
            ("with NaN", lambda data: b'{"a": NaN}', "NaN is no number of JSON"),
            ("that is deep", lambda data: b"[" * 200_000, "is not valid JSON"),
            ("with a long number", lambda data: b"1" * 5_000, "is not valid JSON"),
            ("that is a list", lambda data: b"[1]", "holds no checksum of its own"),
            ("that was cut", lambda data: data[:-99], "is not valid JSON"),
            (
                "with a number beyond numbers",
                lambda data: data.replace(b'"seconds": ', b'"seconds": 1e999, "b": ', 1),
                "holds what JSON cannot",
            ),
        )
    ),
    *(
        Situation(
            f"a cell from elsewhere with another {key}",
            brought(lambda content, key=key, value=value: content.update({key: value})),
            ["make", FIGURE],
            says,
            NO_TABLE,
        )
        for key, value, says in (
            ("format", 0, "is no cell of this suite's format"),
            ("id", "\033[2J", "was not written by this suite, id is '\\x1b[2J'"),
            ("id", "f" * 64, "holds cell 'ffffffffffff', not "),
            ("id", None, "was not written by this suite"),
            ("runs", 5, "was not written by this suite"),
            ("study", "embedding_lr/frequencies", "its study or axes are not those of cell"),
        )
    ),
    Situation(
        "a cell from elsewhere that is too large",
        too_large,
        ["make", FIGURE],
        "has 268,435,457 bytes, more than a cell may (268,435,456)",
        NO_TABLE,
    ),
    *(
        Situation(
            f"a cell from elsewhere whose record has {what}",
            recorded_by_a_run(value),
            ["make", FIGURE],
            f"a record has 'mu': {ascii(value)[:40]}",
            NO_TABLE,
        )
        for what, value in (
            ("a spreadsheet's formula", "=cmd|'/C calc'!A0"),
            ("HTML", "<script>alert(1)</script>"),
            ("a link", "[here](javascript:alert)"),
            ("what clears the screen", "\033[2J"),
            ("a number of 400 digits", 10**400),
        )
    ),
    *(
        Situation(f"a disk without rights, {call[0]}", no_rights, call)
        for call in (["fetch", "wikitext2"], ["report"])
    ),
    Situation(
        "a figure outside of figures/",
        as_it_is,
        ["make", "../x"],
        "unknown figure '../x'",
    ),
    Situation(
        "a provenance.json that is cut",
        lambda place: (drawn(place), (made(place) / "provenance.json").write_text("{")),
        ["show", "table3.parameters"],
        "delete it and run the same command again with snakemake",
    ),
    Situation(
        "a provenance.json of other cells",
        lambda place: (drawn(place), (made(place) / "provenance.json").write_text('{"cells": 5}')),
        ["show", "table3.parameters"],
        "provenance.json: is not what manifest.json says",
    ),
    Situation(
        "a cell with words where numbers belong",
        words_for_numbers,
        ["make", FIGURE],
        "record 1 has 'lr': 'a half', which it cannot be; delete it",
    ),
    Situation(
        "a figure that fails at length",
        author_wrote("measure", "raise ValueError('a' * 5000)"),
        ["make", FIGURE],
        f"measure failed: ValueError: {'a' * 300}...",
    ),
    Situation(
        "warnings made errors",
        lambda place: (
            author_wrote("measure", "raise ImportError('loaded twice')")(place),
            place.patch.setattr(sys, "warnoptions", ["error"]),
        ),
        ["make", FIGURE],
        "ImportError: loaded twice; PYTHONWARNINGS or -W makes errors of libraries' warnings",
    ),
    *(
        Situation(
            f"a device of a provenance.json {what}",
            device_in(where),
            ["record", "--unclean"],
            "which this suite never writes; delete it",
            {"records/**/*": None, "x/**/*": None},
        )
        for what, where in (
            ("leads out of records/", "../../../../x"),
            ("is an absolute path", "/nowhere/x"),
        )
    ),
    # What is prepared under resources/ is sealed as well
    *(
        Situation(
            f"the manifest of a text is {harm}",
            changed_manifest(change),
            ["fetch", "wikitext2", "256"],
            says,
            {"**/tokens.json": None},
        )
        for harm, change, says in (
            ("emptied", lambda text: "", "manifest.json: is not valid JSON"),
            ("cut", lambda text: text[:40], "manifest.json: is not valid JSON"),
            ("an empty object", lambda text: "{}", "manifest.json: holds no checksum of its own"),
            ("a list", lambda text: "[1]", "manifest.json: holds no checksum of its own"),
            ("edited", lambda text: text.replace("train", "valid"), "changed after it was written"),
        )
    ),
    # What a process may have
    Situation(
        "too few files may be open",
        opening_fails(OSError(errno.EMFILE, os.strerror(errno.EMFILE))),
        ["run", FIGURE],
        "Too many open files; too few files may be open at once, allow more with ulimit -n 4096",
    ),
    *(
        Situation(
            f"too little memory, says {type(error).__name__}",
            opening_fails(error),
            ["run", FIGURE],
            f"run: needs more memory than it may have ({str(error) or 'none left'}); free some",
        )
        for error in (
            MemoryError(),
            ImportError("libtorch_cpu.so: failed to map segment from shared object"),
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"),
        )
    ),
    # Guards that no number opens
    *(
        Situation(
            f"{number} processes for a run",
            as_it_is,
            [*call, "--ranks", number],
            f"--ranks {number}: give 1 or more, how many processes share a run",
        )
        for number, call in (("0", ["run", FIGURE]), ("-3", ["run", FIGURE]))
    ),
    # An author's mistake
    *(
        Situation(
            f"{function} of a figure fails",
            author_wrote(function, "return [][len(given)]"),
            ["make", FIGURE],
            f"figures/{FIGURE}.py, line 7: {function} failed: IndexError: list index out of range",
        )
        for function in ("reduce", "measure", "table")
    ),
    # Matplotlib as somebody else set it up
    Situation("matplotlib's settings of a user", user_s_matplotlib, ["make", FIGURE]),
    # What killed jobs left, and how they end
    Situation(
        "a killed fetch",
        half_written(prepared),
        ["fetch", "wikitext2"],
        leaves=NO_TEMPORARIES,
    ),
    Situation(
        "a killed tokenization",
        half_written(tokenized, after=fetched),
        ["fetch", "wikitext2", "256"],
        leaves=NO_TEMPORARIES,
    ),
    Situation(
        "a figure that was killed",
        half_written(made, after=drawn),
        ["make", FIGURE],
        leaves=NO_TEMPORARIES,
    ),
    Situation(
        "SIGTERM while a file is written",
        sigterm_while_writing,
        ["fetch", "wikitext2"],
        "ended by SIGTERM; run the same command again to go on",
        leaves=NO_TEMPORARIES | {"**/*.txt": None},
        status=143,
    ),
    Situation("nobody reads what is printed", nobody_reads, ["show"], status=141),
]


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory, lasting_text):
    folder = tmp_path_factory.mktemp("drawn")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = ["scale=smoke", f"wikitext2={lasting_text}"]
        assert main(["run", FIGURE, "--config", *words]) == 0
        make(load(words), FIGURE)
    return folder / "results"


@pytest.fixture
def place(suite, monkeypatch, drawn_once):
    return Place(suite, monkeypatch, drawn_once)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_situation(place, capsys, situation):
    situation.make(place)
    place.patch.setattr(sys.stderr, "isatty", lambda: True)
    words = [] if "--config" in situation.call else [*place.words, f"figures={FIGURE}"]
    capsys.readouterr()
    status = main([*situation.call, *words])
    error = capsys.readouterr().err
    assert status == (situation.status or int(bool(situation.says))), error
    if situation.says:
        assert situation.says in error
        assert error.startswith("error: ") and error.count("\n") == 1
    for pattern, content in situation.leaves.items():
        found = [path.read_bytes() for path in Path().glob(pattern) if path.is_file()]
        assert found == ([] if content is None else [content]), pattern


def test_an_author_s_mistake_is_traced_in_a_log_and_one_of_ours_everywhere(place, capsys):
    author_wrote("measure", "return {}[len(given)]")(place)
    words = ["make", FIGURE, *place.words]
    assert main(words) == 1
    *trace, last = capsys.readouterr().err.splitlines()
    assert trace[0] == "Traceback (most recent call last):" and "KeyError" in trace[-1]
    assert last.startswith(f"error: figures/{FIGURE}.py, line 7: measure failed: KeyError")

    def mistaken(*given):
        return open("no such file")

    place.patch.setattr("repro.products.picture.make", mistaken)
    with pytest.raises(FileNotFoundError):
        main(words)


def test_a_long_word_is_announced_before_its_pairs_are_merged(monkeypatch, capsys):
    from repro.data import tokenization

    monkeypatch.setattr(tokenization, "LONG_WORD", 5)
    tokenization.train_bpe(["a short text", "an unbroken"], 64)
    assert "has 8 characters, as in a text without blanks" in capsys.readouterr().out
