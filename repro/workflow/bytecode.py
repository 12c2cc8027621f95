"""Where a call's processes keep the bytecode of what they import. No torch.

Python compiles some 1,500 files for a job, which takes longer than a small cell's training, and
keeps them beside the sources. Many an image forbids that (PYTHONDONTWRITEBYTECODE), or cannot be
written to.
"""

import os
import sys
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from repro.lineage.checkout import ROOT

FORBIDS, PREFIX = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"
LIBRARY = "torch"  # stands for all that jobs import


def keep(folder: Path) -> None:
    """Have this process, and those that it starts, keep bytecode: beside the sources, or in this
    folder where they may not or cannot and it is not there already."""
    forbidden = os.environ.pop(FORBIDS, "")
    sys.dont_write_bytecode = False
    library = _library()
    lacking = not libraries_have_it() and (forbidden or not os.access(library.parent, os.W_OK))
    if not sys.pycache_prefix and (lacking or not os.access(ROOT, os.W_OK)):
        os.environ[PREFIX] = sys.pycache_prefix = str(folder.absolute())


def libraries_have_it() -> bool:
    """Whether that of the libraries lies beside them."""
    library = _library()
    return (library.parent / "__pycache__" / Path(cache_from_source(library.name)).name).exists()


def _library() -> Path:
    spec = find_spec(LIBRARY)
    return Path(spec.origin if spec and spec.origin else os.__file__)
