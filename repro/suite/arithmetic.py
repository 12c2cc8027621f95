"""The instructions a CPU computes with. No torch at import.

Libraries sum a product's terms in an order that suits the CPU's vector registers. So runs differ in
their last digits between kinds of CPU, and chaotic runs soon in their first.

avx2: every library uses AVX2, which x86-64 CPUs have had since 2013. Runs are equal on all CPUs of
one maker, AMD or Intel, whose name is therefore part of the arithmetic's: MKL takes MKL_CBWR=AVX2
on Intel's alone and chooses its kernels itself on AMD's. With STRICT more of its float32 products
are the same on both (846 of 1,572 shapes tried, 417 without; the ResNet's among them), not all.
portable: equal on both makers' CPUs; a training step takes up to three times as long.
native: what each CPU does fastest.
"""

import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from repro.errors import UserError

# Of numpy's own loops: names of its releases 2.0 to 2.3, then those since 2.4; it passes over what
# it does not know.
_AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4"

# Arithmetic -> environment variables, read as libraries load: torch's loops, its matrix products
# (MKL), its convolutions (oneDNN), numpy's loops and its matrix products (OpenBLAS).
SETTINGS: Mapping[str, Mapping[str, str]] = {
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
_VARIABLES = tuple(SETTINGS[DEFAULT])


def apply(asked: str) -> str:
    """Set this process's and its children's environment to an arithmetic, before torch is imported.

    asked: a name in SETTINGS; where this CPU has not got it, native is taken.
    Returns a line for the user where it is not the one asked for, else "".
    Raises UserError where torch or numpy was imported under another one.
    """
    name, notice = choose(asked)
    if _environment() != SETTINGS[name]:
        for library in ("torch", "numpy"):
            if library in sys.modules:
                raise UserError(
                    f"arithmetic={asked}: {library} was imported under another arithmetic; start a "
                    "new process"
                )
        for variable in _VARIABLES:
            os.environ.pop(variable, None)
        os.environ.update(SETTINGS[name])
    return notice


def choose(asked: str) -> tuple[str, str]:
    """(The arithmetic asked for or native, why it is not the one asked for, else "")."""
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

    device: "cpu" or "cuda". The name has the maker of the CPU in brackets, or native's the CPU's
    own, where its results are equal on no more than those.
    Raises UserError where the environment, or what torch made of it, is none of SETTINGS.
    """
    if device != "cpu":
        return "cuda"
    import torch

    environment = _environment()
    names = [name for name, wanted in SETTINGS.items() if wanted == environment]
    taken = torch.backends.cpu.get_cpu_capability().lower()
    if not names or environment.get("ATEN_CPU_CAPABILITY", taken) != taken:
        said = " ".join(f"{key}={value}" for key, value in environment.items())
        raise UserError(
            f"the environment's {said!r}, under which torch computes with {taken}, is none of the "
            f"arithmetics {', '.join(SETTINGS)}; unset it and give --config arithmetic=NAME"
        )
    equal_on = {"avx2": maker(), "native": f"{cpu_model()}, {taken}"}
    return f"{names[0]} ({equal_on[names[0]]})" if names[0] in equal_on else names[0]


def of(made: Mapping) -> str:
    """The arithmetic a run's provenance names. Those written before it was named: a GPU's run is
    cuda's, a CPU's is UNKNOWN."""
    return made.get("arithmetic") or (UNKNOWN if made["device"] == "cpu" else "cuda")


def maker() -> str:
    """Who made the CPU: "AMD", "Intel", or what the system says."""
    said = _cpuinfo().get("vendor_id") or platform.processor() or "unknown maker"
    return next((name for name in ("AMD", "Intel") if name in said), said)


def cpu_model() -> str:
    """The CPU as it names itself, or its architecture where the system does not say."""
    found = _cpuinfo()
    arm = " ".join(found[key] for key in ("CPU implementer", "CPU part") if key in found)
    return found.get("model name") or f"{platform.machine()} {arm}".strip()


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}


def _instructions() -> set[str]:
    """Names of this CPU's instructions; AVX2's where the system, not Linux, does not list them."""
    return set(_cpuinfo().get("flags", "avx2 fma").split())


@cache
def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first processor."""
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
