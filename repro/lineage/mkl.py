"""MKL's kernels of Intel's CPUs, on AMD's too: so a run is equal on both. No torch at import.

torch's matrix products are MKL's, which obeys MKL_CBWR=AVX2 only where its own function
`mkl_serv_intel_cpu_true` says that Intel made the CPU, and takes other kernels elsewhere. The
dynamic linker gives a function to whoever defined it first. So a library of one line that defines
this one, loaded before torch, decides. AMD's CPUs carry out the same instructions: figures trained
there in this way are those of an Intel CPU byte for byte (docs/running.md).
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

_ANSWER = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"
_COMPILE = ("cc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-")
_PATIENCE = 60  # seconds; it takes a twentieth of one
# Of mkl_service.h: what mkl_cbwr_get is asked for, and its answer.
_BRANCH, _AVX2 = 1, 10


def ask_for_intels_kernels() -> str:
    """Let MKL obey MKL_CBWR on this CPU, whoever made it; to be called before torch is imported.

    Returns "" or why it cannot be done: mostly that there is no C compiler.
    """
    if not shutil.which("cc"):
        return "there is no C compiler (cc)"
    try:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "answer.so"
            subprocess.run(
                [*_COMPILE, "-o", str(library)], input=_ANSWER, text=True, errors="replace",
                check=True, capture_output=True, timeout=_PATIENCE,
            )  # fmt: skip
            ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    except subprocess.CalledProcessError as error:
        return f"the C compiler failed: {' '.join(error.stderr.split())}"
    except subprocess.TimeoutExpired:
        return f"the C compiler did not end within {_PATIENCE} seconds"
    except OSError as error:  # as where nothing in the folder may be executed
        return f"a library cannot be made: {error}"
    return ""


def takes_avx2() -> bool:
    """Whether MKL obeys MKL_CBWR=AVX2 in this process. Imports torch."""
    import torch

    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        # The name of mkl_cbwr_get inside MKL, and the only one that torch's copy of it exports.
        return library.mkl_serv_cbwr_get(_BRANCH) == _AVX2
    except (OSError, AttributeError):  # a torch without MKL
        return False
