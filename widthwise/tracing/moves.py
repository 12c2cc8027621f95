"""Where the dimensions of an operator's results come from: one table, by which roles are told and
blocks of units that are copied together (`widthwise.upscaling.dimensions`).

A tensor is anything that has a shape.
"""

from collections.abc import Mapping, Sequence
from typing import Any

RESHAPED = {"view", "_unsafe_view", "reshape", "_reshape_alias"}
# Every dimension stays; along one of them a result has a part.
PARTS = {"slice", "narrow", "split", "split_with_sizes", "chunk"}
PARTS |= {"unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"}
# Dimensions change places, come and go; `moved` says how.
MOVED = {"t", "transpose", "swapaxes", "permute", "unsqueeze", "squeeze"}
MOVED |= {"select", "unbind", "unfold"}
ADDING = {"addmm", "baddbmm", "addmv"}  # what is added comes first
MATRICES = {"mm", "bmm", "mv", "dot"} | ADDING
EXPERTS = "_grouped_mm"  # (tokens, in) and (experts, in, out)
LOOKUPS = {"index", "_unsafe_index", "index_select", "embedding", "embedding_bag"}
TAKEN = {"gather", "take_along_dim"}  # an entry for each of the index'
REDUCED = {"sum", "mean", "amax", "amin", "var", "std", "logsumexp", "any", "all", "prod", "argmax"}
REDUCED |= {"var_mean", "std_mean", "linalg_vector_norm", "norm", "max", "min", "argmin", "cumsum"}
ATTENTION = "_scaled_dot_product"  # how the names of torch's own begin
# What comes out is what went in, in another shape.
VIEWS = (RESHAPED | MOVED) - {"select", "unbind", "unfold"}
VIEWS |= {"contiguous", "clone", "_to_copy", "alias", "detach"}
# Of degree one in the first tensor they are given; others are indices and masks.
FIRST = VIEWS | MOVED | RESHAPED | PARTS | LOOKUPS | TAKEN
FIRST |= {"sum", "mean", "cumsum", "relu", "neg", "native_dropout", "copy", "expand", "repeat"}
FIRST |= {"flip", "roll", "view_as_real", "view_as_complex", "masked_fill", "constant_pad_nd"}
ALIKE = {"add", "sub", "cat", "stack", "where", "written"}  # of the degree that all have
PRODUCTS = MATRICES | {EXPERTS, "mul"}
# What has a gain and a bias behind what is normalized -> their places.
NORMS = {
    **dict.fromkeys(("native_group_norm", "native_batch_norm", "cudnn_batch_norm"), (1, 2)),
    **dict.fromkeys(("_batch_norm_with_update", "_batch_norm_no_update"), (1, 2)),
    **dict.fromkeys(("_fused_rms_norm", "rms_norm"), (2,)),
    "native_layer_norm": (2, 3),
}


def moved(name: str, args: Sequence, shape: Sequence[int]) -> list[int | None]:
    """For each dimension of a result the one of the tensor that it is; None: a new one."""
    n = len(shape)
    dims: list[int | None] = [*range(n)]
    if name == "t":
        return dims[::-1]
    if name in ("transpose", "swapaxes"):
        i, j = args[1] % n, args[2] % n
        dims[i], dims[j] = dims[j], dims[i]
    elif name == "permute":
        return [d % n for d in args[1]]
    elif name == "unsqueeze":
        return put_in(dims, args[1] % (n + 1))
    elif name == "squeeze":
        gone = {d for d in range(n) if shape[d] == 1}
        if len(args) > 1:
            gone &= {d % n for d in _several(args[1])}
        return [d for d in range(n) if d not in gone]
    elif name == "unfold":  # a window runs along what it slides over
        return [*dims, args[1] % n]
    elif name in ("select", "unbind"):
        return [d for d in range(n) if d != picked(args, n)]
    return dims


def picked(args: Sequence, n: int) -> int:
    """The dimension of n that `select`, `unbind` take out, `stack` puts in, `cat` is along."""
    return (args[1] if len(args) > 1 else 0) % n


def put_in(dims: Sequence[int | None], place: int) -> list[int | None]:
    """Dimensions with a new one at a place."""
    return [*dims[:place], None, *dims[place:]]


def factors(name: str, args: Sequence) -> Sequence:
    """The two that a product of matrices is of."""
    return args[1:3] if name in ADDING else args[:2]


def looked_up(name: str, args: Sequence) -> list[int]:
    """The dimensions of a tensor along which entries are looked up."""
    if name in ("index", "_unsafe_index"):
        return [d for d, index in enumerate(args[1]) if index is not None]
    by_place = name in ("index_select", "gather") or name == "take_along_dim"
    return [args[1] % len(args[0].shape)] if by_place and isinstance(args[1], int) else [0]


def split_along(name: str, args: Sequence, kwargs: Mapping, n: int) -> int:
    """The dimension of n along which a result is a part."""
    last = args[1:] if name in ("slice", "narrow") else args[2:]
    return (last[0] if last else kwargs.get("dim", 0)) % n


def reduced(name: str, args: Sequence, kwargs: Mapping, n: int) -> list[int]:
    """The dimensions of n that a reduction goes over."""
    place = 2 if name in ("linalg_vector_norm", "norm") else 1
    dims = args[place] if len(args) > place else kwargs.get("dim")
    if dims is None or isinstance(dims, bool) or dims == []:
        return [*range(n)]
    return [d % n for d in _several(dims)]


def _several(dims: Any) -> Sequence[int]:
    return dims if isinstance(dims, (list, tuple)) else [dims]
