"""What `make` draws, and what it places: gains, ramps, decays, tables of sines, gates' biases.

Drawn is what other random numbers change, is centred and has no order; all else is placed, and is
at every width as `make` gives it there. So a module is made twice, with other random numbers, even
where `make` seeds them itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from widthwise.errors import UserError
from widthwise.identity import identity, named
from widthwise.statistics import student_tail
from widthwise.tracing.draws import DRAWN, FewDraws
from widthwise.tracing.making import made, on_meta, shapes_of

FEW = 64  # entries: of fewer, two draws are held against Student's law
ALIKE, SURE, CHANCE = 0.1, 4.5, 1e-4


class Anew(TorchDispatchMode):
    """Within it, operators draw from a seed of its own, whatever `make` seeds."""

    def __init__(self, seed: int):
        super().__init__()
        self.seed = (seed << 20) % 2**62

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        self.seed += 1
        if (own := kwargs.get("generator")) is not None:
            kwargs["generator"] = torch.Generator(own.device).manual_seed(self.seed)
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(self.seed)
            return func(*args, **kwargs)


def anew(make: Callable, size: Any, seed: int, few: bool = True) -> nn.Module:
    """The module of a size with random numbers of a seed. few: for its spreads alone."""
    with torch.random.fork_rng(), Anew(seed), FewDraws() if few else nullcontext():
        torch.manual_seed(seed)
        return made(make, size)


def placed(model: nn.Module, others: Callable[[int], nn.Module]) -> tuple[set[str], set[str]]:
    """Parameters that are placed, and those whose draws are left to `make`, as they are frozen or
    share entries; others: seed -> the same module with random numbers of its own.

    Where nothing differs at all, as of weights from a file, no more is known than from one module.
    """
    own = [(name, p) for name, p in named(model) if not p.is_meta and p.numel()]
    whole, parts = set[str](), {name for name, p in named(model) if not p.requires_grad}
    again = [dict(named(others(1)))]
    if all(torch.equal(p, again[0][name]) for name, p in own):
        return whole, parts
    if any(p.numel() < FEW and not torch.equal(p, again[0][name]) for name, p in own):
        again += [dict(named(others(seed))) for seed in (2, 3)]
    padding = {
        id(m.weight): m.padding_idx
        for m in model.modules()
        if isinstance(m, nn.Embedding) and m.padding_idx is not None
    }
    for name, p in own:
        draws = [p.detach(), *(each[name].detach() for each in again)]
        shared = draws[0] == draws[1]
        if id(p) in padding:
            shared[padding[id(p)]] = False
        if bool(shared.all()):
            whole |= {name} if bool(p.any()) else set()
        elif _ordered(draws) or _apart(draws[0], shared & (draws[0] != 0)):
            whole.add(name)
        elif _apart(draws[0], shared):
            parts.add(name)
    return whole, parts - whole


def norms_of(model: nn.Module, whole: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Placed parameter -> the drawn one, and its axis, that it has the norms along, as a gain of
    weight normalization has."""
    own = {name: p.detach() for name, p in named(model) if p.is_floating_point()}
    return {
        name: (other, axis)
        for name in own.keys() & whole
        for other, values in own.items()
        for axis in range(values.ndim if values.ndim > 1 and other not in whole else 0)
        if values.shape[axis] == own[name].numel() > 1
        and torch.allclose(norms(values, axis), own[name].flatten(), rtol=1e-3)
    }


def norms(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """The norms along an axis."""
    dim = [other for other in range(tensor.ndim) if other != axis]
    return torch.linalg.vector_norm(tensor, dim=dim)


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """Entries that are drawn, and not repeated (`FewDraws`)."""
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tensor.flatten()[:DRAWN].double()


def _ordered(draws: Sequence[torch.Tensor]) -> bool:
    """Whether draws of one tensor are not centred, or alike. By the sum of the products of two,
    which is 0 but for chance of what is drawn apart and as often above 0 as below; of few entries
    their mean and correlation by Student's law."""
    values = [_flat(each) for each in draws]
    both = values[0] * values[1]
    total, spread = float(both.sum()), float(both.square().sum()) ** 0.5
    if total > SURE * spread and total > ALIKE * float(values[0].norm() * values[1].norm()):
        return True
    few = len(values[0])
    if few >= FEW:
        return False
    every = torch.cat(values)
    mean = float(every.mean()) / (float(every.std()) / len(every) ** 0.5)
    if 2 * student_tail(abs(mean), len(every) - 1) < CHANCE:
        return True
    r = float(torch.corrcoef(torch.stack(values[:2]))[0, 1]) if few > 2 else 0.0
    return r > 0 and student_tail(r * ((few - 2) / max(1 - r * r, 1e-9)) ** 0.5, few - 2) < CHANCE


def _apart(values: torch.Tensor, shared: torch.Tensor) -> bool:
    """Whether so many entries are shared that it is no chance, as it is of few numbers."""
    count = int(shared.sum())
    if count <= 1 + 1e-5 * values.numel():
        return False
    some = _flat(values)[:4096]
    some = some[some != 0]
    return len(some) < 2 or len(some.unique()) > 0.8 * len(some)


def ratios(model: nn.Module, shapes: Mapping[str, tuple[int, ...]]) -> list[float]:
    """How often as long axes are as at the base, most frequent first; 1 where all are alike.
    shapes: of the parameters there."""
    found = Counter(
        here / there
        for name, p in named(model)
        for here, there in zip(p.shape, shapes.get(name, ()), strict=False)
        if there and here != there
    )
    return [ratio for ratio, _ in found.most_common()] or [1.0]


def sizes_of(found: Iterable[float], base: Any, deep: float) -> Iterator[Any]:
    """What `make` may have been given for a model of these ratios; deep: its depth over the
    base's."""
    width = base["width"] if isinstance(base, Mapping) else base
    for ratio in found:
        wide = round(width * ratio) if isinstance(width, int) else width * ratio
        if not isinstance(base, Mapping):
            yield wide
        else:
            depth = {"depth": round(base["depth"] * deep)} if "depth" in base else {}
            yield {**base, "width": wide, **depth}


def values_of(
    model: nn.Module, make: Callable | None, sizes: Iterable[Any], seed: int
) -> dict[str, torch.Tensor]:
    """Parameters and buffers as `make` gives them for a model; none where that cannot be told."""
    if make is None:
        return {}
    shapes = shapes_of(model)
    for size in sizes:
        fresh = on_meta(make, size)
        if fresh is not None and shapes_of(fresh) != shapes:
            continue
        with suppress(*([UserError] if fresh is None else [])):  # of a size that make cannot be of
            fresh = anew(make, size, seed, few=False)
            if shapes_of(fresh) == shapes:
                buffers = {identity(fresh, name): b for name, b in fresh.named_buffers()}
                return {**dict(named(fresh)), **buffers}
    return {}


@torch.no_grad()
def give(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Give a tensor, or the shards of one, values."""
    if (mesh := getattr(tensor, "device_mesh", None)) is not None:
        from torch.distributed.tensor import DTensor, distribute_tensor

        assert isinstance(tensor, DTensor)
        values = distribute_tensor(values.to(tensor.device), mesh, tensor.placements)
    tensor.copy_(values)
