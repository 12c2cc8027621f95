"""What differs between a CPU and a GPU, in one place: models, tasks and data name no device.

A CPU's runs are deterministic, and every branch for it computes the bits that are on record. What
is here for a GPU alone computes the same numbers within rounding, faster: none of it was ever
measured on one.
"""

import math
import os
import re
import shutil
import sysconfig
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from repro.errors import UserError

PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
COLLECTIVES = {"cpu": "gloo", "cuda": "nccl"}
# Entries of a chunk of the loss, by device; fewer logits than that take torch's own loss. On a CPU
# 2 MB of float32, what a core keeps in its second cache (256 rows on one core of a Xeon, ms: 512
# classes 1.0 by torch, 1.2 here; 2,048: 6.4 and 3.0; 8,192: 24 and 10). On a GPU 256 MB, which fill
# it; there the aim is memory, 2 bytes a logit in bfloat16 where torch takes 14. Not measured.
CHUNK = {"cpu": 2**19, "cuda": 2**26}
# A row of a matrix that a GPU's fast kernels read has a whole number of this many entries: 128
# bytes of bfloat16.
ALIGNED = 64
DRIVER = "/proc/driver/nvidia/version"


# A device


def select(name: str, threads: int) -> torch.device:
    """The device `name` ("cpu" or "cuda"), with `threads` CPU threads.

    A run on a CPU is deterministic: its thread count is fixed by its spec.
    Raises UserError when CUDA is asked for and not there, with what torch says of it.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device cuda: {why_no_cuda()}; or run with --device cpu")
    torch.set_num_threads(threads)
    # Adam's averages for rare tokens decay into denormal numbers, which CPUs handle slowly.
    torch.set_flush_denormal(True)
    return torch.device(name)


def why_no_cuda() -> str:
    """Why torch sees no CUDA device, in its own words, its CUDA, the driver, and what to do."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA: see docs/running.md"
    said = "no CUDA device is visible"
    with warnings.catch_warnings(record=True) as told:  # of some faults torch warns alone
        warnings.simplefilter("always")
        try:
            torch.cuda.init()
        except (RuntimeError, AssertionError) as error:
            said = str(error)
        else:
            said = str(told[-1].message) if told else said
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = f", CUDA_VISIBLE_DEVICES={shown!r}" if shown is not None else ""
    return (
        f"torch {torch.__version__} (CUDA {torch.version.cuda}, driver {driver() or 'unknown'}"
        f"{hidden}) says: {' '.join(said.split())}; see what nvidia-smi says, and docs/running.md "
        "for an older driver"
    )


def driver() -> str | None:
    """The release of NVIDIA's kernel driver, as its module says it: "570.124.06"."""
    try:
        with open(DRIVER) as file:
            found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", file.read())
    except OSError:
        return None
    return found[1] if found else None


def is_gpu(device: torch.device) -> bool:
    """Whether it works as a GPU does: so does the meta device, which has shapes without values."""
    return device.type != "cpu"


def describe(device: torch.device) -> str:
    """`cpu`, or the GPU's name in lower case with dashes, as in the paths under records/."""
    if not is_gpu(device):
        return "cpu"
    name = torch.cuda.get_device_name(device).lower()
    return re.sub(r"[^a-z0-9()+._-]", "-", name)  # `repro.lineage.foreign` takes no other


def software(device: str) -> dict[str, str | None]:
    """What a GPU's results depend on besides torch, name -> release; {} on a CPU."""
    if device != "cuda":
        return {}
    return {
        "driver": driver(),
        "cuda": torch.version.cuda,
        "cudnn": str(torch.backends.cudnn.version()),
        "triton": _release("triton"),
    }


def capability(device: str) -> str | None:
    """A GPU's compute capability, "9.0": for its kernels all models that share it are alike. None
    of a CPU."""
    if device != "cuda":
        return None
    return ".".join(map(str, torch.cuda.get_device_capability()))


def _release(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def device_count() -> int:
    """How many GPUs this process sees."""
    return torch.cuda.device_count()


def use(number: int) -> None:
    """Have this process work on the GPU of this number."""
    torch.cuda.set_device(number)


def memory(device: str) -> float:
    """Bytes of this process's GPU; infinite on a CPU."""
    if device != "cuda":
        return math.inf
    return torch.cuda.get_device_properties(device).total_memory


@cache
def can_compile() -> bool:
    """Whether torch.compile makes kernels for this GPU. It needs Triton, and that a C compiler and
    Python's headers; what else may be missing, a kernel that is compiled shows."""
    header = Path(sysconfig.get_path("include"), "Python.h")
    there = find_spec("triton") and any(map(shutil.which, ("cc", "gcc", "clang")))
    return bool(there) and header.exists() and compiles_a_kernel()


def compiles_a_kernel(device: str = "cuda") -> bool:
    """Whether a kernel of one line is compiled, and right; else a line says what torch said."""
    try:
        x = torch.arange(4.0, device=device)
        return torch.compile(lambda x: 2 * x + 1)(x).tolist() == [1, 3, 5, 7]
    except Exception as error:  # of torch's compiler, of Triton, of a C compiler
        said = (str(error).strip() or "no reason").splitlines()[0]
        print(f"nothing is compiled here: {type(error).__name__}: {said}", flush=True)
        return False


def compiled_note() -> Path:
    """Where `benchmarks/gpu.sh` notes whether compiled models are right on this GPU by this torch;
    of this user, so that all nodes of a cluster read it."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "repro")
    return folder / f"compiled-{describe(torch.device('cuda'))}-torch-{torch.__version__}.txt"


def wrong_when_compiled() -> str:
    """What `benchmarks/gpu.sh` found wrong with compiled models on this GPU; "" if nothing, or if
    nobody asked."""
    note = compiled_note()
    return note.read_text().strip() if note.exists() else ""


# Its generators


def generator(device: torch.device | str, seed: int) -> torch.Generator:
    """A generator of the device; of a CPU for the meta device, which has shapes alone."""
    kind = torch.device(device).type
    return torch.Generator("cpu" if kind == "meta" else device).manual_seed(seed)


def reseeds(device: torch.device) -> bool:
    """Whether dropout is seeded anew for every microbatch. A single process on a CPU keeps drawing
    from one stream instead, because recorded results do."""
    return device.type == "cuda"


def generator_state(device: torch.device) -> torch.Tensor | None:
    """The state of a GPU's own generator; None on a CPU, whose is torch's."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def set_generator_state(device: torch.device, state: torch.Tensor | None) -> None:
    """Continue from what `generator_state` returned."""
    if device.type == "cuda" and state is not None:
        torch.cuda.set_rng_state(state.cpu(), device)


# What a step computes


def autocast(device: torch.device, precision: str):
    """Context in which a forward pass runs at `precision`; sets TF32 on CUDA.

    Raises UserError on an unknown precision.
    """
    if precision not in PRECISIONS:
        raise UserError(f"precision {precision!r} is unknown: choose from {', '.join(PRECISIONS)}")
    if device.type == "cuda":
        # By the older of torch's two names for it: beside the newer one, which a user may have set,
        # torch's compiler raises (pytorch #166387).
        allow = precision != "float32"
        torch.backends.cuda.matmul.allow_tf32 = allow
        torch.backends.cudnn.allow_tf32 = allow
    half = precision in ("bfloat16", "float16")
    if not half and not torch.is_autocast_enabled(device.type):
        return nullcontext()  # torch's own costs a small model's step a hundredth to do nothing
    return torch.autocast(device.type, getattr(torch, precision) if half else None, enabled=half)


def to_device(tensor: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """A tensor of the CPU on the device, without waiting for what is queued there."""
    device = torch.device(device)
    if device.type == "cuda":
        tensor = tensor.pin_memory()  # only from such pages does a copy not wait
    return tensor.to(device, non_blocking=True)


def square_root(square: torch.Tensor) -> torch.Tensor:
    """The square root of a single number, rounded as IEEE 754 asks: torch takes MKL's on a CPU,
    which in float64 differs in the last digit between makers of CPUs."""
    if is_gpu(square.device):
        return square.sqrt()  # no reading of a GPU's number, which would wait for it
    return torch.tensor(math.sqrt(square), dtype=square.dtype)


def times(tensor: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """tensor * factor, a single number; on a CPU without the product where it is 1. A GPU would
    have to be waited for to know that."""
    if not is_gpu(factor.device) and factor == 1:
        return tensor
    return tensor * factor


def chunk(device: torch.device) -> float:
    """From how many logits on the loss goes chunk by chunk, and how many a chunk has."""
    return CHUNK.get(device.type, math.inf)


def readout(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x (..., D) @ weight (V, D) transposed: logits (..., V).

    A vocabulary such as GPT-2's 50,257 makes rows of logits that no fast kernel of a GPU can read,
    and this product and both its gradients fall back to slow ones. There the weight gets rows of
    zeros up to a multiple of ALIGNED, and their logits are cut off again: nobody sees them.
    """
    missing = -len(weight) % ALIGNED
    if not missing or not is_gpu(x.device):
        return F.linear(x, weight)
    kind = x.device.type
    if kind != "meta" and torch.is_autocast_enabled(kind):  # torch raises for the meta device
        weight = weight.to(torch.get_autocast_dtype(kind))  # half of the bytes to copy
    return F.linear(x, F.pad(weight, (0, 0, 0, missing)))[..., : len(weight)]


# Attention. Shapes in names: B batch, H heads, G key-value heads, T and S time, C a head's width.


def attention(
    q_BHTC: torch.Tensor,
    k_BHSC: torch.Tensor,
    v_BHSC: torch.Tensor,
    *,
    mask: torch.Tensor | None,
    causal: bool,
    scale: float | None,
    dropout: float,
) -> torch.Tensor:
    """Scaled dot-product attention, (B, H, T, C). mask: which keys are seen, bool; not with causal.

    dropout: of the probabilities.
    """
    if dropout and not is_gpu(q_BHTC.device) and q_BHTC.dtype == torch.float32:
        return attention_dropping(q_BHTC, k_BHSC, v_BHSC, scale, causal, mask, dropout)
    return F.scaled_dot_product_attention(
        q_BHTC,
        k_BHSC,
        v_BHSC,
        attn_mask=mask,
        dropout_p=dropout,
        is_causal=causal,
        scale=scale,
    )


def attention_dropping(
    q_BHTC, k_BHSC, v_BHSC, scale: float | None, causal: bool, mask, dropout: float
) -> torch.Tensor:
    """`F.scaled_dot_product_attention` with dropout on a CPU: the same bits, three quarters of its
    time. Torch has no fused kernel there, and its fallback looks for queries that see no key; here
    every query sees one."""
    root = math.sqrt(q_BHTC.shape[-1] ** -0.5 if scale is None else scale)
    logits = (q_BHTC * root) @ (k_BHSC.mT * root)
    if causal:
        logits += torch.full(logits.shape[-2:], -torch.inf).triu_(1)
    if mask is not None:
        logits += torch.zeros(mask.shape).masked_fill_(~mask, -torch.inf)
    return F.dropout(logits.softmax(-1), dropout) @ v_BHSC


def sliding_window(length: int, window: int, device=None) -> torch.Tensor:
    """Which keys a query sees, (T, T) bool: itself and the window - 1 before it."""
    position = torch.arange(length, device=device)
    behind = position[:, None] - position
    return (behind >= 0) & (behind < window)


BLOCK_ENTRIES = 16


def window_mask(length: int, window: int, entries: int, device: torch.device) -> Any:
    """What `attention_in_window` takes for `length` positions: None where the window holds them
    all, else `sliding_window`. Where a GPU can compile kernels it is the same by blocks, so that
    blocks of which nothing is seen cost nothing. entries: of a head; torch 2.13 has no kernel by
    blocks for fewer than BLOCK_ENTRIES."""
    if window >= length:
        return None
    if device.type == "cuda" and entries >= BLOCK_ENTRIES and can_compile():
        return _block_mask(length, window, device)
    return sliding_window(length, window, device)


@cache
def _block_mask(length: int, window: int, device: torch.device) -> Any:
    """One object for every layer and step: the compiler knows a mask's function by identity."""
    from torch.nn.attention.flex_attention import create_block_mask

    def seen(batch, head, query, key):
        return (query >= key) & (query - key < window)

    return create_block_mask(seen, None, None, length, length, device=device)


def attention_in_window(
    q_BHTC: torch.Tensor, k_BGTC: torch.Tensor, v_BGTC: torch.Tensor, mask: Any
) -> torch.Tensor:
    """Causal attention, (B, H, T, C), of queries whose heads share key-value heads by groups of
    H / G that lie beside each other. mask: of `window_mask`."""
    if mask is not None and not isinstance(mask, torch.Tensor):
        # Transposed heads have strides that inductor's kernels by blocks read wrongly on a CPU
        # (torch 2.13); no GPU was asked.
        q, k, v = (each.contiguous() for each in (q_BHTC, k_BGTC, v_BGTC))
        return _flex_attention()(q, k, v, block_mask=mask, enable_gqa=True)
    # Torch's fused kernels take groups without a mask and in half precision only.
    grouped = mask is None and is_gpu(q_BHTC.device) and q_BHTC.itemsize == 2
    if not grouped:
        group = q_BHTC.shape[1] // k_BGTC.shape[1]
        k_BGTC, v_BGTC = (each.repeat_interleave(group, dim=1) for each in (k_BGTC, v_BGTC))
    return F.scaled_dot_product_attention(
        q_BHTC, k_BGTC, v_BGTC, attn_mask=mask, is_causal=mask is None, enable_gqa=grouped
    )


def _flex_attention() -> Any:
    """Torch's attention by blocks, compiled: outside of a compiled function on its own."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention if torch.compiler.is_compiling() else _compiled(flex_attention)


@cache
def _compiled(function: Callable) -> Any:
    return torch.compile(function)
