"""Convolutions of the suite's ResNet: what each way costs, and whose bits it shares.

    uv run python benchmarks/convolutions.py [--arithmetic portable]

Ways: `onednn`, the task's; `deterministic`, with oneDNN's attribute of that name; `without onednn`,
torch's own, a product an image; `unfold`, the whole batch unfolded by torch and one product; `one
product`, the same with channels last in memory, patches and their gradients by slices; `shifts`, a
product for each of a kernel's places. The last four leave the products to MKL. Not here: oneDNN
with channels last. A step is then 0.98, 1.13 and 1.12 times as fast at widths 1/16, 1/8 and 1/4 (21
turns on a thread of an AMD EPYC, avx2, torch 2.13), with other bits, and at 1/16 it needs a way
round uxlfoundation/oneDNN's issue 6035: the gradient of the weight of a 1x1 convolution of stride 2
with 4 input channels writes where it must not under AVX2, and ends the process ("corrupted
double-linked list"). `F.conv2d(x[:, :, ::2, ::2], weight)` is the same shortcut and does not.

Times are of a training step on one thread, the process's own, the fastest of `--repeats`; the ways
take turns. The digest is of the weights after three steps: CPUs whose digests agree take a way
alike.

Found with torch 2.13 on one core of an Intel Xeon (AVX-512) under avx2, other work beside it, ms:

| | 1/16, 8 px | 1/8, 8 px | 1/4, 8 px | 1/4, 32 px |
|---|---|---|---|---|
| onednn, deterministic | 20 | 33 | 70 | 182 |
| without onednn | 42 | 93 | 253 | 334 |
| unfold | 33 | 64 | 130 | 441 |
| one product | 25 | 40 | 82 | 280 |
| shifts | 30 | 44 | 87 | 305 |

and with the CPU telling programs, by trapped `cpuid`, that it was another: Intel with and without
AVX-512 and with three other sets of caches, AMD of Zen 2, 3, 4 and 5. Under avx2 `onednn` gave one
digest on all of them, `without onednn` others by cache size and maker, the rest others by maker,
as MKL does. Under portable all gave one digest, but `without onednn`. So oneDNN stays: what moved
the ResNet's figures between CPUs was the size of their noise, then found in float32.
"""

import argparse
import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from repro.lineage import arithmetic

if __name__ == "__main__" and "--arithmetic" in sys.argv:  # before torch is imported
    arithmetic.apply(sys.argv[sys.argv.index("--arithmetic") + 1])
else:
    arithmetic.apply(arithmetic.DEFAULT)

import torch
import torch.nn.functional as F
from torch import nn

from repro import models

CASES = ((1 / 16, 8, 128), (1 / 8, 8, 128), (1 / 4, 8, 128), (1 / 4, 32, 32))


class OneProduct(torch.autograd.Function):
    """A convolution without bias as one product over all patches of a batch.

    (B, C, H, W), (O, C, k, k), stride -> (B, O, H / stride, W / stride), channels last in memory,
    padded by k // 2.
    """

    @staticmethod
    def forward(ctx, x, weight, stride):
        k, channels = weight.shape[-1], x.shape[1]
        padded = F.pad(x.permute(0, 2, 3, 1), (0, 0, *(k // 2,) * 4))
        patches = padded.unfold(1, k, stride).unfold(2, k, stride)  # (B, H', W', C, k, k)
        size = patches.shape[:3]
        patches = patches.permute(0, 1, 2, 4, 5, 3).reshape(-1, k * k * channels)
        matrix = weight.permute(2, 3, 1, 0).reshape(k * k * channels, -1)
        ctx.save_for_backward(patches, matrix)
        ctx.shapes = padded.shape, size, k, stride
        return (patches @ matrix).view(*size, -1).permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx, gradient):
        patches, matrix = ctx.saved_tensors
        padded, (_, rows, columns), k, stride = ctx.shapes
        flat = gradient.permute(0, 2, 3, 1).reshape(-1, matrix.shape[1])
        of_weight = (patches.T @ flat).view(k, k, padded[3], -1).permute(3, 2, 0, 1)
        if not ctx.needs_input_grad[0]:
            return None, of_weight, None
        of_patches = (flat @ matrix.T).view(*gradient.shape[:1], rows, columns, k, k, padded[3])
        of_input = gradient.new_zeros(padded)
        for i in range(k):
            for j in range(k):
                place = of_input[
                    :, i : i + stride * rows : stride, j : j + stride * columns : stride
                ]
                place += of_patches[:, :, :, i, j]
        inner = of_input[:, k // 2 : padded[1] - k // 2, k // 2 : padded[2] - k // 2]
        return inner.permute(0, 3, 1, 2), of_weight, None


class Shifts(torch.autograd.Function):
    """The same as a sum of products, one for each of a kernel's k x k places."""

    @staticmethod
    def forward(ctx, x, weight, stride):
        k = weight.shape[-1]
        padded = F.pad(x.permute(0, 2, 3, 1), (0, 0, *(k // 2,) * 4))
        ctx.save_for_backward(padded, weight)
        ctx.stride = stride
        places = list(_places(padded, weight, stride))
        size = places[0][0].shape[:3]
        out = padded.new_zeros(size.numel(), weight.shape[0])
        for place, matrix in places:
            out.addmm_(place.reshape(-1, place.shape[-1]), matrix.T)
        return out.view(*size, -1).permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx, gradient):
        padded, weight = ctx.saved_tensors
        k = weight.shape[-1]
        flat = gradient.permute(0, 2, 3, 1).reshape(-1, weight.shape[0])
        of_weight, of_input = torch.empty_like(weight), torch.zeros_like(padded)
        places = zip(
            _places(padded, weight, ctx.stride),
            _places(of_input, of_weight, ctx.stride),
            strict=True,
        )
        for (place, matrix), (into, of_matrix) in places:
            of_matrix.copy_(flat.T @ place.reshape(-1, place.shape[-1]))
            if ctx.needs_input_grad[0]:
                into += (flat @ matrix).view(into.shape)
        inner = of_input[:, k // 2 : padded.shape[1] - k // 2, k // 2 : padded.shape[2] - k // 2]
        return inner.permute(0, 3, 1, 2), of_weight, None


def _places(padded: torch.Tensor, weight: torch.Tensor, stride: int) -> Iterator[tuple]:
    """What each place of a kernel sees, (B, H', W', C), and its matrix, (O, C)."""
    k = weight.shape[-1]
    rows, columns = ((padded.shape[axis] - k) // stride + 1 for axis in (1, 2))
    for i in range(k):
        for j in range(k):
            seen = padded[:, i : i + stride * rows : stride, j : j + stride * columns : stride]
            yield seen, weight[:, :, i, j]


def unfold(x: torch.Tensor, weight: torch.Tensor, stride: int) -> torch.Tensor:
    """The same by torch's unfold, on its usual layout."""
    k, height, width = weight.shape[-1], x.shape[2] // stride, x.shape[3] // stride
    patches = F.unfold(x, k, padding=k // 2, stride=stride).transpose(0, 1)  # (C k k, B, H' W')
    flat = weight.flatten(1) @ patches.flatten(1)
    return flat.view(-1, len(x), height, width).transpose(0, 1).contiguous()


# Way -> (what takes a convolution's place, whether the layout is channels last, oneDNN's settings)
WAYS: dict[str, tuple[Callable | None, bool, dict | None]] = {
    "onednn": (None, False, None),
    "deterministic": (None, False, {"enabled": True, "deterministic": True}),
    "without onednn": (None, False, {"enabled": False}),
    "unfold": (unfold, False, None),
    "one product": (OneProduct.apply, True, None),
    "shifts": (Shifts.apply, True, None),
}


def taken(way: Callable | None):
    """A context in which nn.Conv2d convolves as `way` does."""
    if way is None:
        return nullcontext()
    return patch.object(nn.Conv2d, "forward", lambda conv, x: way(x, conv.weight, conv.stride[0]))


def stepper(width: float, pixels: int, batch: int, last: bool) -> tuple[nn.Module, Callable]:
    """The suite's ResNet, and a call that takes a step of SGD on random images."""
    settings = {"name": "resnet", "classes": 100, "width": width, "base_width": 1 / 16}
    model = models.build(settings, "muP-multiplier")
    models.draw(model, "muP-multiplier", seed=0)
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch, 3, pixels, pixels, generator=generator)
    labels = torch.randint(100, (batch,), generator=generator)
    if last:
        model, images = (x.to(memory_format=torch.channels_last) for x in (model, images))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return model, step


def measure(case: tuple[float, int, int], repeats: int) -> dict[str, tuple[float, str]]:
    """Way -> (seconds a step, digest of the weights after three); the ways take turns."""
    steppers = {way: stepper(*case, last) for way, (_, last, _) in WAYS.items()}
    best, digests = dict.fromkeys(WAYS, math.inf), {}
    for turn in range(3 + repeats):
        for way, (model, step) in steppers.items():
            function, _, flags = WAYS[way]
            with torch.backends.mkldnn.flags(**flags) if flags else nullcontext(), taken(function):
                start = time.process_time()
                step()
                seconds = time.process_time() - start
            if turn == 2:
                weights = (p.detach().contiguous().numpy() for p in model.parameters())
                digests[way] = hashlib.sha256(b"".join(w.tobytes() for w in weights)).hexdigest()[
                    :8
                ]
            if turn:  # the first one makes what the others use again
                best[way] = min(best[way], seconds)
    return {way: (best[way], digests[way]) for way in WAYS}


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--arithmetic", choices=arithmetic.SETTINGS, default=arithmetic.DEFAULT)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--cases", type=int, default=len(CASES), help="only the first so many")
    arguments = parser.parse_args(words)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    print(f"{arithmetic.cpu_model()}, torch {torch.__version__}, {arithmetic.in_force('cpu')}")
    cases = CASES[: arguments.cases]
    titles = [f"width {w:g}, {pixels} px, batch {batch}" for w, pixels, batch in cases]
    print(f"| ms a step; digest | {' | '.join(titles)} |")
    print("|---" * (len(cases) + 1) + "|")
    found = [measure(case, arguments.repeats) for case in cases]
    for way in WAYS:
        entries = " | ".join(f"{each[way][0] * 1e3:.1f}; {each[way][1]}" for each in found)
        print(f"| {way} | {entries} |", flush=True)


if __name__ == "__main__":
    main()
