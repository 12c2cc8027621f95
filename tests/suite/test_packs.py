"""Archives of every kind of fault: one line, and nothing written."""

import gzip
import io
import json
import tarfile

import pytest

from repro.errors import UserError
from repro.files import seal
from repro.suite import packs
from repro.suite.cells import FORMAT

ID = "0123456789abcdef" * 4
STUDY = "embedding_lr/parametrizations"
NAME = f"results/smoke/embedded/{STUDY}/all-{ID[:12]}.json"


def cell(**changes) -> bytes:
    content = {"format": FORMAT, "id": ID, "study": STUDY, "axes": {}, "runs": []}
    return json.dumps(seal(content | changes)).encode()


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
    "a cell below a cell": (
        [(NAME, cell()), (f"{NAME}/x-{ID[:12]}.json", cell(study=f"{STUDY}/all-{ID[:12]}.json"))],
        "is a file where a folder should be",
    ),
    "a faulty cell behind a good one": ([(NAME, cell()), ("results/x.json", b"{}")], NO_CELL),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_an_archive_with_anything_but_whole_cells_writes_nothing(tmp_path, monkeypatch, name):
    members, message = MEMBERS[name]
    archive = archive_of(members, tmp_path / "cells.tar.gz")
    refused(archive, message, tmp_path, monkeypatch)


def refused(archive, message, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with pytest.raises(UserError, match=message) as caught:
        packs.unpack(archive)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "work").iterdir())


def test_a_bomb_is_refused_before_it_is_read(tmp_path, monkeypatch):
    """A member that says it has more than a cell may have; 2 MB of zeros unpack to 2 GB."""
    header = tarfile.TarInfo(NAME)
    header.size = packs.MAX_BYTES + 1
    (tmp_path / "cells.tar.gz").write_bytes(gzip.compress(header.tobuf()))
    refused(tmp_path / "cells.tar.gz", "more than a cell may", tmp_path, monkeypatch)


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
def test_a_broken_archive_is_named(tmp_path, monkeypatch, mode, damage):
    archive = archive_of([(NAME, cell())], tmp_path / "cells.tar", mode)
    archive.write_bytes(damage(archive.read_bytes()))
    refused(archive, "cells.tar: is not a readable pack .*copy it again", tmp_path, monkeypatch)


@pytest.mark.parametrize("prefix", ["", "./"])
def test_whole_cells_are_unpacked_and_those_there_are_kept(tmp_path, monkeypatch, prefix):
    """`./`: as `tar -C folder -czf cells.tar.gz .` names members."""
    checkpoints = NAME.replace(".json", ".checkpoints")
    members = [(prefix or "results", None), (prefix + NAME, cell()), (prefix + checkpoints, None)]
    archive = archive_of(members, tmp_path / "cells.tar.gz")
    monkeypatch.chdir(tmp_path)
    assert packs.unpack(archive) == 1
    assert (tmp_path / NAME).read_bytes() == cell()
    assert (tmp_path / checkpoints).is_dir()
    assert packs.unpack(archive) == 0


def test_what_is_no_archive_at_all_is_one_line(tmp_path):
    for path in (tmp_path, tmp_path / "gone"):
        with pytest.raises(UserError, match="does not exist, or is no file"):
            packs.unpack(path)
