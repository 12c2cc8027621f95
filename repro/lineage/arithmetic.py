"""The arithmetic of runs on a CPU: which vector instructions libraries use. No torch at import.

A library adds up the terms of a matrix product in an order that suits the CPU's vector registers.
So the last digits of a run differ between kinds of CPU and, where training is chaotic, soon the
first ones too. To choose from:

avx2: every library uses AVX2, which x86-64 CPUs have had since 2013. Runs are equal on CPUs on
which MKL takes the same kernels. Whose they are, Intel's or AMD's, is part of its name; on
an AMD CPU they are Intel's wherever there is a C compiler (`repro.lineage.mkl`). Between the two
846 of 1,572 shapes of float32 products are equal, for which STRICT is needed (417 without it),
among them all that the ResNet uses.
portable: runs are equal on both makers' CPUs without that; a training step takes up to three times
as long.
native: each CPU's fastest instructions, and MKL's own choice of kernels.
"""

import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from repro.errors import UserError
from repro.lineage import foreign, mkl

# Instruction sets of numpy's own loops: the names of its releases 2.0 to 2.3, then those since 2.4.
# numpy ignores names it does not know.
_AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4"

# Arithmetic -> environment variables, which libraries read when they are loaded: torch's loops, its
# matrix products (MKL), its convolutions (oneDNN), numpy's loops, its matrix products (OpenBLAS).
SETTINGS: dict[str, dict[str, str]] = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2,STRICT",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": _AVX512,
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "portable": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": f"AVX2 FMA3 {_AVX512} X86_V3",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
    "native": {},
}
DEFAULT = "avx2"
UNKNOWN = "unknown"
VARIABLES = tuple(SETTINGS["avx2"])


def apply(asked: str) -> str:
    """Set this process's and its children's environment to an arithmetic, before torch is imported.

    asked: a name in SETTINGS; native is used instead if this CPU does not support it.
    Returns a line that tells the user so, or that MKL keeps to kernels of its own on this CPU; ""
    if the arithmetic is the one asked for, on Intel's kernels. Raises UserError as
    `set_environment`.
    """
    name, notice = set_environment(asked)
    if name == "avx2" and maker() != "Intel" and "torch" not in sys.modules:
        why = mkl.ask_for_intels_kernels()
        if why:
            notice = (
                f"arithmetic={asked}: last digits will differ from those of the records: MKL takes "
                f"kernels of its own on {maker()}'s CPUs, and {why} to change that"
            )
    return notice


def set_environment(asked: str) -> tuple[str, str]:
    """The part of `apply` that is enough where torch is not used. Returns what `choose` does.

    Raises UserError if torch or numpy was already imported under another arithmetic.
    """
    name, notice = choose(asked)
    if _environment() != SETTINGS[name]:
        for library in ("torch", "numpy"):
            if library in sys.modules:
                raise UserError(
                    f"arithmetic={asked}: {library} was imported under another arithmetic; start a "
                    "new process"
                )
        for variable in VARIABLES:
            os.environ.pop(variable, None)
        os.environ.update(SETTINGS[name])
    return name, notice


def choose(asked: str) -> tuple[str, str]:
    """(the arithmetic asked for, "") or, if this CPU cannot use it, ("native", the reason)."""
    if asked == "native":
        return asked, ""
    machine = platform.machine()
    if machine.lower() not in ("x86_64", "amd64"):
        why = f"this CPU is no x86-64 ({machine})"
    elif asked == "avx2" and not {"avx2", "fma"} <= _instructions():
        why = "this CPU has no AVX2"
    else:
        return asked, ""
    return "native", f"arithmetic={asked}: {why}; taking native, whose last digits are its own"


def in_force(device: str) -> str:
    """The arithmetic of this process, as a run's provenance names it.

    device: "cpu" or "cuda". Where results are equal is named in brackets: for avx2 for whose
    CPUs MKL's kernels are, for native the CPU's model.
    Raises UserError if the environment, or the instructions torch uses under it, match none of
    SETTINGS.
    """
    if device != "cpu":
        return "cuda"
    import torch

    environment = _environment()
    names = [name for name, wanted in SETTINGS.items() if wanted == environment]
    capability = torch.backends.cpu.get_cpu_capability().lower()
    if not names or environment.get("ATEN_CPU_CAPABILITY", capability) != capability:
        variables = " ".join(f"{key}={value}" for key, value in environment.items())
        raise UserError(
            f"the environment's {variables!r}, under which torch computes with {capability}, "
            f"is none of the arithmetics {', '.join(SETTINGS)}; unset it and give "
            "--config arithmetic=NAME"
        )
    name = names[0]
    if name == "avx2":
        return f"{name} ({'Intel' if mkl.takes_avx2() else maker()})"
    return f"native ({cpu_model()}, {capability})" if name == "native" else name


def refuse_half(precision: str, name: str) -> None:
    """Raise UserError on a precision of 16 bits under another arithmetic of a CPU than native: its
    products are up to 250 times as slow as float32's, since their kernels need AVX-512.

    name: as `in_force` returns it.
    """
    if precision in ("bfloat16", "float16") and name != "cuda" and not name.startswith("native"):
        raise UserError(
            f"precision {precision}: a CPU has no fast kernels for it under arithmetic={name}; "
            "train on a GPU, or choose a scale whose precision is float32"
        )


def of(provenance: Mapping) -> str:
    """The arithmetic that a run's provenance names.

    Older ones name none: there it is "cuda" if the run's device was a GPU, UNKNOWN if a CPU.
    """
    return provenance.get("arithmetic") or (UNKNOWN if provenance["device"] == "cpu" else "cuda")


def maker() -> str:
    """Who made the CPU: "AMD", "Intel", or another name as the system gives it."""
    vendor = _cpuinfo().get("vendor_id") or platform.processor() or "unknown maker"
    return next((name for name in ("AMD", "Intel") if name in vendor), foreign.plain(vendor))


def cpu_model() -> str:
    """The CPU's model name, or its architecture where the system does not give one."""
    info = _cpuinfo()
    arm = " ".join(info[key] for key in ("CPU implementer", "CPU part") if key in info)
    return foreign.plain(info.get("model name") or f"{platform.machine()} {arm}".strip())


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def _instructions() -> set[str]:
    """Names of this CPU's instruction sets. Where they are not listed (no Linux), it has AVX2."""
    return set(_cpuinfo().get("flags", "avx2 fma").split())


@cache
def _cpuinfo() -> dict[str, str]:
    """Entries of /proc/cpuinfo for the first processor; empty where there is no such file."""
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
