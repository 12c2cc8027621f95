"""Processes of a call keep what Python compiled, also where they may not or cannot beside it."""

import os
import sys
from pathlib import Path

import pytest

from repro.workflow import bytecode


@pytest.mark.parametrize(
    ("compiled", "forbidden", "writable", "checkout", "apart"),
    [
        (False, False, True, True, False),  # as uv installs it: the first call writes it
        (False, True, True, True, True),  # an image with PYTHONDONTWRITEBYTECODE
        (False, False, False, True, True),  # a shared environment
        (True, True, False, True, False),  # an image built with --compile-bytecode
        (True, False, False, False, True),  # and the checkout in it
    ],
)
def test_bytecode_is_kept_beside_its_source_or_in_the_work_folder(
    tmp_path, monkeypatch, compiled, forbidden, writable, checkout, apart
):
    library, work = tmp_path / "torch" / "__init__.py", tmp_path / "work"
    places = {library.parent: writable, bytecode.ROOT: checkout}
    if compiled:
        (library.parent / "__pycache__").mkdir(parents=True)
        (library.parent / "__pycache__" / f"__init__.{sys.implementation.cache_tag}.pyc").touch()
    monkeypatch.setattr(bytecode, "_library", lambda: library)
    monkeypatch.setattr(os, "access", lambda path, mode: places[path])
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", forbidden)
    monkeypatch.delenv(bytecode.PREFIX, raising=False)
    if forbidden:
        monkeypatch.setenv(bytecode.FORBIDS, "1")
    bytecode.keep(work)
    assert bytecode.FORBIDS not in os.environ and not sys.dont_write_bytecode
    expected = str(work) if apart else None
    assert (os.environ.get(bytecode.PREFIX), sys.pycache_prefix) == (expected, expected)


def test_a_prefix_of_the_user_s_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    bytecode.keep(Path("work"))
    assert sys.pycache_prefix == str(tmp_path)
