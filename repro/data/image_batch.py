"""What is left to do with cropped images on the device, for all of a batch at once.

Mirroring and RandAugment's operations are Pillow's, step by step, in torch: the same bytes but for
a level here and there where Pillow computes in float64 (moved and rotated images). What is done to
which image, and how far, was drawn where the image was cropped (`repro.data.transforms`).
Shapes in names: N images, 3 colours, H rows, W columns, uint8; on any device, which is not waited
for.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import torch

from repro import backend

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's colours
FILL = tuple(round(255 * mean) for mean in MEAN)  # what moves in from outside an image
LEVELS = np.arange(256)  # of a byte
GREY, GREY_BITS = (19595, 38470, 7471), 16  # Pillow's weights of red, green, blue, in 1 / 2^16


class Operation(NamedTuple):
    """One of OPERATIONS, and how far: timm's argument for it, 0 where it has none."""

    name: str
    value: float = 0.0


Change = Callable[[torch.Tensor, Sequence[Operation]], torch.Tensor]


def carry_out(
    images_N3HW: torch.Tensor, operations: Sequence[Sequence[Operation | None]]
) -> torch.Tensor:
    """The images, changed in place: each by its own operations, one after the other."""
    for turn in zip_longest(*operations):
        rows: dict[Change, dict[int, Operation]] = defaultdict(dict)
        for row, operation in enumerate(turn):
            if operation:
                rows[OPERATIONS[operation.name]][row] = operation
        for change, chosen in rows.items():
            index = _sent([*chosen], images_N3HW, torch.int64)
            changed = change(images_N3HW.index_select(0, index), [*chosen.values()])
            images_N3HW.index_copy_(0, index, changed)
    return images_N3HW


def _sent(values: object, images: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Values as a tensor where the images are."""
    return backend.to_device(torch.as_tensor(values, dtype=dtype), images.device)


def _values(operations: Sequence[Operation], images: torch.Tensor) -> torch.Tensor:
    """How far, (N, 1, 1, 1) float32."""
    return _sent([each.value for each in operations], images, torch.float32)[:, None, None, None]


def mirror(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Left is right."""
    return images_N3HW.flip(-1)


# A new level for each of 256, whatever lies beside


def _table(operation: Operation) -> np.ndarray:
    """The new levels, (256,), of an operation that does not look at the image."""
    name, value = operation
    if name == "Invert":
        return 255 - LEVELS
    if name == "Posterize":  # keeps the highest bits; of 0 old Pillow made black (`transforms`)
        return LEVELS & ~(2 ** (8 - int(value)) - 1)
    if name == "Solarize":
        return np.where(value <= LEVELS, 255 - LEVELS, LEVELS)
    if name == "SolarizeAdd":
        return np.where(LEVELS < 128, np.minimum(LEVELS + int(value), 255), LEVELS)
    scaled = np.float32(value) * LEVELS.astype(np.float32)  # Brightness
    return scaled.clip(0, 255).astype(np.int64)


def by_table(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Levels changed as `_table` says."""
    tables = np.stack([_table(operation) for operation in operations])
    return _looked_up(images_N3HW, _sent(tables, images_N3HW, torch.uint8)[:, None])


def _looked_up(images_N3HW: torch.Tensor, tables: torch.Tensor) -> torch.Tensor:
    """Images with their levels changed by tables (N, 3 or 1, 256) uint8."""
    tables = tables.expand(-1, 3, -1)
    return tables.gather(2, images_N3HW.flatten(2).long()).view_as(images_N3HW)


def auto_contrast(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Of every colour the lowest level becomes 0 and the highest 255."""
    low, high = (f(images_N3HW.flatten(2), 2, keepdim=True) for f in (torch.amin, torch.amax))
    span = high.double() - low
    scale = span.new_full((), 255.0) / span  # a plain number would be divided by way of 1 / span
    levels = torch.arange(256, device=images_N3HW.device)
    found = (levels * scale - low * scale).clamp(0, 255)
    return _looked_up(images_N3HW, torch.where(high > low, found, levels).to(torch.uint8))


def equalize(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Of every colour all levels become equally frequent, as far as that goes."""
    flat = images_N3HW.flatten(2).long()
    counts = torch.zeros(*flat.shape[:2], 256, dtype=torch.int64, device=flat.device)
    counts.scatter_add_(2, flat, torch.ones_like(flat))
    highest = counts.gather(2, flat.amax(2, keepdim=True))  # how often the highest level is there
    step = (flat.shape[2] - highest) // 255
    below = counts.cumsum(2) - counts
    found = ((step // 2 + below) // step.clamp(min=1)).clamp(max=255)
    levels = torch.arange(256, device=flat.device)
    return _looked_up(images_N3HW, torch.where(step > 0, found, levels).to(torch.uint8))


# Between an image and a duller one, or beyond


def _blend(dull: torch.Tensor, images: torch.Tensor, operations) -> torch.Tensor:
    """dull + value (images - dull), cut to bytes."""
    factor = _values(operations, images)
    return (dull + factor * (images.float() - dull)).clamp_(0, 255).to(torch.uint8)


def _grey(images_N3HW: torch.Tensor) -> torch.Tensor:
    """(N, 1, H, W) int32."""
    red, green, blue = images_N3HW.to(torch.int32).split(1, 1)
    sum_ = GREY[0] * red + GREY[1] * green + GREY[2] * blue
    return (sum_ + 2 ** (GREY_BITS - 1)) >> GREY_BITS


def colour(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Away from grey, or towards it."""
    return _blend(_grey(images_N3HW).float(), images_N3HW, operations)


def contrast(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Away from the image's mean grey, or towards it."""
    grey = _grey(images_N3HW).flatten(1)
    count = grey.shape[1]
    mean = (2 * grey.sum(1) + count) // (2 * count)  # rounded half up
    return _blend(mean.float()[:, None, None, None], images_N3HW, operations)


def sharpness(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Away from the smoothed image, or towards it: 5 parts itself, 1 of each of 8 neighbours; the
    outermost pixels are not smoothed."""
    whole = images_N3HW.to(torch.int32)
    pairs = whole[..., :-2] + whole[..., 1:-1] + whole[..., 2:]
    sums = pairs[..., :-2, :] + pairs[..., 1:-1, :] + pairs[..., 2:, :]
    sums += 4 * whole[..., 1:-1, 1:-1]
    dull = images_N3HW.float()
    dull[..., 1:-1, 1:-1] = ((2 * sums + 13) // 26).float()  # of 13 parts, rounded
    return _blend(dull, images_N3HW, operations)


# Pixels from elsewhere


def move(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Sheared or translated along rows."""
    height, width = images_N3HW.shape[2:]
    slopes = [each.value if each.name.startswith("Shear") else 0.0 for each in operations]
    shifts = [each.value * width if each.name.startswith("Trans") else 0.0 for each in operations]
    slope, shift = (
        _sent(each, images_N3HW, torch.float64)[:, None, None] for each in (slopes, shifts)
    )
    x = _centres(width, images_N3HW)
    x_N1HW = (x + slope * _centres(height, images_N3HW)[:, None] + shift)[:, None]
    at, part = _taps(x_N1HW - 0.5)
    taps = [images_N3HW.gather(3, i.expand_as(images_N3HW)) for i in _around(at, width)]
    return _filled(_cubic(taps, part), (x_N1HW >= 0) & (x_N1HW < width))


def move_down(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Sheared or translated along columns."""
    return move(images_N3HW.mT.contiguous(), operations).mT


def rotate(images_N3HW: torch.Tensor, operations: Sequence[Operation]) -> torch.Tensor:
    """Rotated about the centre, counter-clockwise, by degrees."""
    height, width = images_N3HW.shape[2:]
    matrices = [_rotation(each.value, width / 2, height / 2) for each in operations]
    numbers = _sent(matrices, images_N3HW, torch.float64).view(-1, 6, 1, 1, 1).unbind(1)
    x, y = _centres(width, images_N3HW), _centres(height, images_N3HW)[:, None]
    x_N1HW, y_N1HW = (a * x + b * y + c for a, b, c in (numbers[:3], numbers[3:]))
    inside = (x_N1HW >= 0) & (x_N1HW < width) & (y_N1HW >= 0) & (y_N1HW < height)
    (column, across), (row, down) = _taps(x_N1HW - 0.5), _taps(y_N1HW - 0.5)
    columns, flat = [*_around(column, width)], images_N3HW.flatten(2)
    lines = []
    for start in (width * i for i in _around(row, height)):
        at = [(start + i).flatten(2).expand_as(flat) for i in columns]
        lines.append(_cubic([flat.gather(2, i).view_as(images_N3HW) for i in at], across))
    return _filled(_cubic(lines, down), inside)


def _rotation(degrees: float, x: float, y: float) -> tuple[float, ...]:
    """Where a pixel comes from, with (x, y) fixed: a, b, c, d, e, f of (a x + b y + c, d x + e y +
    f). With Pillow's rounding."""
    angle = -math.radians(degrees % 360.0)
    cosine, sine = round(math.cos(angle), 15), round(math.sin(angle), 15)
    back = round(-math.sin(angle), 15)
    return (cosine, sine, cosine * -x + sine * -y + x, back, cosine, back * -x + cosine * -y + y)


def _centres(count: int, images: torch.Tensor) -> torch.Tensor:
    """The pixels' centres along a side, float64: in float32 the outermost ones might fall out."""
    return torch.arange(count, dtype=torch.float64, device=images.device) + 0.5


def _taps(place: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Whole part, int64, and what is left, float32, of where a pixel comes from."""
    whole = place.floor()
    return whole.long(), (place - whole).float()


def _around(at: torch.Tensor, count: int):
    """The four pixels around a place: one before `at`, and two after, none outside."""
    return ((at + step).clamp(0, count - 1) for step in (-1, 0, 1, 2))


def _cubic(taps: Sequence[torch.Tensor], part: torch.Tensor) -> torch.Tensor:
    """Between four pixels in a row, at `part` of the way from the second to the third; float32.

    In Pillow's order, which leaves a level that all four share as it is: results are cut, not
    rounded.
    """
    v1, v2, v3, v4 = (tap.float() for tap in taps)
    fourth = v4 - v3 + v2 - v1
    third = 2 * (v1 - v2) + v3 - v4
    return fourth.mul_(part).add_(third).mul_(part).add_(v3 - v1).mul_(part).add_(v2)


def _filled(found: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    """Bytes of what came from inside the image; elsewhere FILL."""
    fill = _sent(FILL, found, torch.uint8)[:, None, None]
    return torch.where(inside, found.clamp_(0, 255).to(torch.uint8), fill)


OPERATIONS: dict[str, Change] = {
    "Mirror": mirror,
    **dict.fromkeys(("Invert", "Posterize", "Solarize", "SolarizeAdd", "Brightness"), by_table),
    "AutoContrast": auto_contrast,
    "Equalize": equalize,
    "Color": colour,
    "Contrast": contrast,
    "Sharpness": sharpness,
    **dict.fromkeys(("ShearX", "TranslateXRel"), move),
    **dict.fromkeys(("ShearY", "TranslateYRel"), move_down),
    "Rotate": rotate,
}


class Finish:
    """What is left to do on the device: what was drawn for each image, to normalise, to erase.

    (images (batch, 3, height, width) uint8, operations, a sequence an image, boxes (rectangles, 5)
    int64 on the CPU, a row, top, left, height, width; their pixels, one after the other) -> float32
    (batch, 3, height, width).
    """

    def __init__(self, device: torch.device):
        mean, std = (torch.tensor(values, device=device) for values in (MEAN, STD))
        self.mean, self.std = mean[:, None, None], std[:, None, None]

    def __call__(
        self,
        images: torch.Tensor,
        operations: Sequence[Sequence[Operation | None]],
        boxes: torch.Tensor,
        pixels: torch.Tensor,
    ) -> torch.Tensor:
        images = carry_out(images, operations)
        # In torchvision's order of operations, and so in its bits.
        found = images.to(torch.float32).mul_(1 / 255).sub_(self.mean).div_(self.std)
        begin = 0
        for row, top, left, height, width in boxes.tolist():
            end = begin + 3 * height * width
            place = found[row, :, top : top + height, left : left + width]
            place.copy_(pixels[begin:end].view(3, height, width))
            begin = end
        return found
