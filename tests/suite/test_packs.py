"""Archives of every kind of fault: one line, and nothing written."""

import gzip
import io
import json
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from repro.errors import UserError
from repro.files import seal
from repro.suite import packs
from repro.suite.cells import FORMAT
from repro.suite.plan import Cell
from repro.suite.runs import Run

STUDY = "embedding_lr/parametrizations"
RUN = Run("parametrization_exponents", 1, {"seed": 0}, {"seed": 0}, {})
ID = Cell(STUDY, {}, (RUN,)).id
NAME = f"results/smoke/embedded/{STUDY}/all-{ID[:12]}.json"
MADE = {
    "device": "cpu",
    "inputs": {},
    "host_cpu": "Intel(R) Xeon(R) CPU @ 2.20GHz",
    "versions": {"torch": "2.13.0+cpu", "tokenizers": None},
    "seconds": 0.5,
    "commit": None,
}


def cell(record=0.5, **changes) -> bytes:
    result = {"id": RUN.id, "spec": RUN.spec, "axes": RUN.axes, "datasets": {}, "provenance": MADE}
    runs = [result | {"records": [{"lr": record}]}]
    content = {"format": FORMAT, "id": ID, "study": STUDY, "axes": {}, "runs": runs}
    return json.dumps(seal(content | changes)).encode()


@pytest.fixture(autouse=True)
def asked_for(monkeypatch):
    """The one cell is what figures are asked for."""
    asked = {NAME: Cell(STUDY, {}, (RUN,))}
    monkeypatch.setattr(packs, "_asked_for", lambda suite: asked)
    return asked


def archive_of(members, path, mode="w:gz"):
    """members: (name, content) pairs; None makes a folder, a TarInfo is taken as it is."""
    with tarfile.open(path, mode) as tar:
        for name, content in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if content is None:
                member.type = member.type if name is member else tarfile.DIRTYPE
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return path


def special(kind, target=""):
    member = tarfile.TarInfo(NAME)
    member.type, member.linkname = kind, target
    return member


NO_CELL = "is no cell; nothing was unpacked"
MEMBERS = {
    "out of results": ([("../evil.json", b"{}")], NO_CELL),
    "out of results further in": ([("results/../../evil.json", b"{}")], NO_CELL),
    "absolute": ([("/results/smoke/a/b/evil.json", b"{}")], NO_CELL),
    "code": ([("results/code.py", b"")], NO_CELL),
    "no name": ([("", b"{}")], NO_CELL),
    "name that clears the screen": ([(NAME.replace("all", "\033[2J"), cell())], NO_CELL),
    "id that clears the screen": ([(NAME, cell(id="\033[2J"))], "this suite, id is '.x1b.2J'"),
    "a number beyond numbers": (
        [(NAME, cell().replace(b'"lr": 0.5', b'"lr": 1e999'))],
        "holds what JSON cannot",
    ),
    "name of two lines": ([(NAME.replace("all", "a\nb"), cell())], NO_CELL),
    "symbolic link": ([(special(tarfile.SYMTYPE, "/etc/passwd"), None)], NO_CELL),
    "hard link": ([(special(tarfile.LNKTYPE, "/etc/passwd"), None)], NO_CELL),
    "pipe": ([(special(tarfile.FIFOTYPE), None)], NO_CELL),
    "folder of no cell": ([("results/a/b/c/d.checkpoints", None)], NO_CELL),
    "edited": ([(NAME, cell().replace(b'"axes": {}', b'"axes": {"a": 1}'))], "was changed after"),
    "not a number": ([(NAME, b'{"a": NaN}')], "NaN is no number of JSON"),
    "deep": ([(NAME, b"[" * 200_000)], "is not valid JSON"),
    "a long number": ([(NAME, b"1" * 5_000)], "is not valid JSON"),
    "no object": ([(NAME, b"[1]")], "holds no checksum of its own"),
    "sealed, with no id": ([(NAME, cell(id=None))], "was not written by this suite"),
    "sealed, with no runs": ([(NAME, cell(runs=5))], "was not written by this suite"),
    "a name too long": ([(NAME.replace("all", "a" * 250), cell())], NO_CELL),
    "another format": ([(NAME, cell(format=0))], "is no cell of this suite's format"),
    "another's name": ([(NAME.replace(ID[:12], "f" * 12), cell())], "is the name of another cell"),
    "another study's": ([(NAME.replace("parametri", "freq"), cell())], "is the name of another"),
    "a product's name": ([(NAME.rpartition("/")[0] + "/claims.json", cell())], "another cell"),
    "a faulty cell behind a good one": ([(NAME, cell()), ("results/x.json", b"{}")], NO_CELL),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_an_archive_with_anything_but_whole_cells_writes_nothing(tmp_path, suite, name):
    members, message = MEMBERS[name]
    archive = archive_of(members, tmp_path / "cells.tar.gz")
    refused(archive, message, suite)


def refused(archive, message, suite):
    with pytest.raises(UserError, match=message) as caught:
        packs.unpack(suite, archive)
    assert str(caught.value).isprintable()
    assert not list(Path().iterdir())


def test_a_bomb_is_refused_before_it_is_read(tmp_path, suite):
    """A member that says it has more than a cell may have; 2 MB of zeros unpack to 2 GB."""
    header = tarfile.TarInfo(NAME)
    header.size = packs.MAX_BYTES + 1
    (tmp_path / "cells.tar.gz").write_bytes(gzip.compress(header.tobuf()))
    refused(tmp_path / "cells.tar.gz", "more than a cell may", suite)


def header(kind, size, name="@LongLink"):
    """What begins a member of a kind, whose content is not there."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf()


def sparse_map():
    """GNU's list of the parts of a file with holes, which goes on without end."""
    first = bytearray(header(tarfile.GNUTYPE_SPARSE, 0, NAME))
    first[482] = 1  # more of it follows
    more = bytearray(512)
    more[:24], more[504] = b"00000000001\0" * 2, 1
    first[148:156] = b" " * 8
    first[148:156] = b"%06o\0 " % sum(first[:512])
    return bytes(first) + bytes(more) * 3_000


LONG = {
    "a name": lambda: header(tarfile.GNUTYPE_LONGNAME, 3 * 2**30) + bytes(2**22),
    "a link's name": lambda: header(tarfile.GNUTYPE_LONGLINK, 3 * 2**30) + bytes(2**22),
    "words of one": lambda: header(tarfile.XHDTYPE, 3 * 2**30) + bytes(2**22),
    "words of all": lambda: header(tarfile.XGLTYPE, 3 * 2**30) + bytes(2**22),
    "a list of holes": sparse_map,
    "names of names": lambda: (header(tarfile.GNUTYPE_LONGNAME, 512) + b"a" * 512) * 2_000,
}


@pytest.mark.parametrize("place", ["first", "behind a cell"])
@pytest.mark.parametrize("name", LONG)
def test_what_is_said_of_a_cell_is_counted_before_it_is_read(tmp_path, suite, name, place):
    """Found in review: 7 MB that said to have a name of 1.5 GB took as much memory."""
    archive = tmp_path / "cells.tar.gz"
    data = io.BytesIO()
    if place != "first":
        with tarfile.open(fileobj=data, mode="w") as tar:
            member = tarfile.TarInfo(NAME)
            member.size = len(cell())
            tar.addfile(member, io.BytesIO(cell()))
            end = tar.offset
        data.seek(end)
        data.truncate()
    data.write(LONG[name]())
    archive.write_bytes(gzip.compress(data.getvalue(), 1))
    tracemalloc.start()
    try:
        refused(archive, "says more of a cell than|is not a readable pack|is no cell", suite)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def test_members_are_not_kept(tmp_path, suite):
    """A few megabytes say of millions of folders that they are there."""
    archive = tmp_path / "cells.tar.gz"
    archive.write_bytes(gzip.compress(header(tarfile.DIRTYPE, 0, "results") * 1_500, 1))
    tracemalloc.start()
    try:
        refused(archive, "holds no cell; copy or pack it again", suite)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("mode", "damage"),
    [
        ("w:gz", lambda data: data[:100]),
        ("w:gz", lambda data: data[:40] + b"\x00\xff" * 8 + data[56:]),
        ("w:xz", lambda data: data[:60] + b"\x00\xff" * 8 + data[76:]),
        ("w:bz2", lambda data: data[:60]),
        ("w", lambda data: data[:300]),
        ("w", lambda data: b"no archive"),
        ("w", lambda data: b""),
    ],
)
def test_a_broken_archive_is_named(tmp_path, suite, mode, damage):
    archive = archive_of([(NAME, cell())], tmp_path / "cells.tar", mode)
    archive.write_bytes(damage(archive.read_bytes()))
    refused(archive, "cells.tar: is not a readable pack .*copy it again", suite)


@pytest.mark.parametrize("prefix", ["", "./"])
def test_whole_cells_are_unpacked_and_those_there_are_kept(tmp_path, suite, prefix):
    """`./`: as `tar -C folder -czf cells.tar.gz .` names members."""
    checkpoints = NAME.replace(".json", ".checkpoints")
    members = [(prefix or "results", None), (prefix + NAME, cell()), (prefix + checkpoints, None)]
    archive = archive_of(members, tmp_path / "cells.tar.gz")
    assert str(packs.unpack(suite, archive)) == "unpacked 1 new cells"
    assert Path(NAME).read_bytes() == cell()
    assert Path(checkpoints).is_dir()
    again = packs.unpack(suite, archive)
    assert str(again) == "unpacked 0 new cells\n1 are here already, with the same results"


def test_a_cell_that_differs_from_the_one_here_is_named_and_kept(tmp_path, suite):
    """Found in review: "unpacked 0 new cells", and not a word."""
    packs.unpack(suite, archive_of([(NAME, cell())], tmp_path / "ours.tar.gz"))
    found = packs.unpack(suite, archive_of([(NAME, cell(0.25))], tmp_path / "theirs.tar.gz"))
    assert (found.new, found.same, found.differing) == (0, 0, [NAME])
    assert f"{NAME}: has other results than in the archive; kept" in str(found)
    assert Path(NAME).read_bytes() == cell()


def test_only_what_was_asked_for_is_unpacked(tmp_path, suite, asked_for):
    """Found in review: a merger who asked for `transfer` got cells of `embedding_lr`."""
    other = NAME.replace("parametrizations", "frequencies")
    members = [(NAME, cell()), (other, cell(study="embedding_lr/frequencies"))]
    archive = archive_of([*members, (other.replace(".json", ".checkpoints"), None)], tmp_path / "a")
    found = packs.unpack(suite, archive)
    assert (found.new, found.left_out) == (1, [other])
    assert f"1 were left out, not of scale smoke, data {suite.label}, figures " in str(found)
    assert [path for path in Path().rglob("*") if path.is_file()] == [Path(NAME)]
    assert not Path(other).parent.exists()


def test_an_archive_of_which_nothing_was_asked_for_is_refused(tmp_path, suite, asked_for):
    asked_for.clear()
    archive = archive_of([(NAME, cell())], tmp_path / "cells.tar.gz")
    refused(archive, f"none of its 1 cells is of scale smoke, .*, {NAME} first; give the", suite)


def test_what_is_no_archive_at_all_is_one_line(tmp_path, suite):
    for path in (tmp_path, tmp_path / "gone"):
        with pytest.raises(UserError, match="does not exist, or is no file"):
            packs.unpack(suite, path)
