"""What is done to one image of the recipe where it is decoded, by timm and torchvision.

`Transform` does all of it to a Pillow image, and runs on a CPU are made of its bytes. `Cropping` is
for the workers that feed a GPU: it crops and resizes by torch, and draws the rest, which the GPU
does to a batch at once (`repro.data.image_batch`). Both draw the same crop, operations and
rectangles. The crop's bytes are the same within rounding: torch keeps its weights in 16 bits.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from repro.data.image_batch import FILL, OPERATIONS, Operation


@contextmanager
def seeded(*key: int):
    """Context with all global generators seeded by a key of integers, and restored after it."""
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    first, second, third = map(int, np.random.SeedSequence(key).generate_state(3))
    random.seed(first)
    np.random.seed(second)
    torch.default_generator.manual_seed(third)
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        torch.set_rng_state(kept[2])


class Augmented(NamedTuple):
    """An image (3, height, width) uint8, and what is left to do to it: rectangles to erase once it
    is normalised, (top, left, their pixels (3, height, width) float32), and before that operations,
    one after the other."""

    image: torch.Tensor
    erased: Sequence[tuple[int, int, torch.Tensor]] = ()
    operations: Sequence[Operation | None] = ()


class _Rectangles:
    """What timm's Random Erasing does to an image, if it is given this in the image's place."""

    dtype = torch.float32

    def __init__(self, size: torch.Size):
        self.shape = size
        self.found: list[tuple[int, int, torch.Tensor]] = []

    def size(self) -> torch.Size:
        return self.shape

    def __setitem__(self, where: tuple[slice, slice, slice], pixels: torch.Tensor) -> None:
        _, rows, columns = where
        self.found.append((rows.start, columns.start, pixels))


def rectangles(erase: Callable | None, size: torch.Size) -> list[tuple[int, int, torch.Tensor]]:
    """What is to be erased of an image of this size. erase: timm's Random Erasing, or None."""
    drawn = _Rectangles(size)
    if erase is not None:
        erase(drawn)
    return drawn.found


@dataclass(frozen=True)
class Transform:
    """PIL image -> `Augmented`, of which the rectangles alone are left to do. change: PIL image ->
    uint8 (3, height, width). erase: timm's Random Erasing, or None."""

    change: Callable
    erase: Callable | None = None

    def __call__(self, image) -> Augmented:
        pixels = self.change(image)
        return Augmented(pixels, rectangles(self.erase, pixels.size()))


@dataclass(frozen=True)
class Cropping:
    """Image (3, height, width) uint8 -> `Augmented` of (resolution, resolution).

    crop: timm's random resized crop; None for the centre, once the shorter side has `resize`
    pixels. flip: whether to mirror with probability 1/2. augment: `noting`, or None. erase: timm's
    Random Erasing, or None.
    """

    resolution: int
    resize: int
    crop: Any = None
    flip: bool = False
    augment: Callable | None = None
    erase: Callable | None = None

    def __call__(self, pixels: torch.Tensor) -> Augmented:
        from torchvision.transforms.v2 import functional

        side = self.resolution
        if self.crop:
            top, left, height, width = self.crop.get_params(
                pixels, self.crop.scale, self.crop.ratio
            )
            image = resized(pixels[:, top : top + height, left : left + width], side, side)
        else:
            size = [self.resize * n // min(pixels.shape[1:]) for n in pixels.shape[1:]]
            image = functional.center_crop(resized(pixels, *size), [side, side])
        operations: list[Operation | None] = []
        if self.flip:
            operations.append(Operation("Mirror") if torch.rand(1) < 0.5 else None)
        if self.augment:
            self.augment(operations)
        return Augmented(image, rectangles(self.erase, image.size()), operations)


def resized(pixels: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """An image (3, height, width) uint8 of another size, bicubic as Pillow's: along rows, rounded
    to bytes, then along columns."""
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms.v2 import functional

    for size in ([pixels.shape[1], width], [height, width]):
        pixels = functional.resize(pixels, size, InterpolationMode.BICUBIC, antialias=True)
    return pixels


def training_transform(data: Mapping, resolution: int) -> Transform:
    """PIL image -> `Augmented` of (resolution, resolution), random at every call.

    data: "crop", smallest and largest share of the image's area that a random resized crop keeps,
    None for no crop; "flip", whether to mirror with probability 1/2; "randaugment", timm's string
    or None; "erasing", the probability of one rectangle of random pixels.
    """
    from torchvision.transforms import InterpolationMode, v2

    bicubic = InterpolationMode.BICUBIC
    centre = [v2.Resize(resolution, bicubic), v2.CenterCrop(resolution)]
    parts = [_random_crop(data, resolution) or v2.Compose(centre)]
    if data["flip"]:
        parts.append(v2.RandomHorizontalFlip())
    if data["randaugment"]:
        parts.append(_mended(_rand_augment(data, resolution)))
    return Transform(v2.Compose([*parts, v2.ToImage(), _plain]), _erasing(data))


def training_cropping(data: Mapping, resolution: int) -> Cropping | None:
    """The `Cropping` that draws what `training_transform` does; None where RandAugment has an
    operation that is not among those for a batch."""
    augment = noting(_rand_augment(data, resolution)) if data["randaugment"] else None
    if augment and any(_known(operation) not in OPERATIONS for operation in augment.ops):
        return None
    crop = _random_crop(data, resolution)
    return Cropping(resolution, resolution, crop, data["flip"], augment, _erasing(data))


def _random_crop(data: Mapping, resolution: int):
    from timm.data.transforms import RandomResizedCropAndInterpolation

    if not data["crop"]:
        return None
    return RandomResizedCropAndInterpolation(
        resolution, scale=data["crop"], interpolation="bicubic"
    )


def _rand_augment(data: Mapping, resolution: int):
    from PIL import Image
    from timm.data.auto_augment import rand_augment_transform

    settings = {
        "translate_const": int(0.45 * resolution),  # timm's share of the side
        "img_mean": FILL,  # fills what moves in
        "interpolation": Image.Resampling.BICUBIC,
    }
    return rand_augment_transform(data["randaugment"], settings)


def _erasing(data: Mapping):
    from timm.data.random_erasing import RandomErasing

    if not data["erasing"]:
        return None
    return RandomErasing(data["erasing"], mode="pixel", max_count=1, device="cpu")


def _mended(augment):
    """timm's RandAugment with `_posterize`."""
    for operation in augment.ops:
        if operation.name.startswith("Posterize"):
            operation.aug_fn = _posterize
    return augment


def _posterize(image, bits: int, **_):
    """timm's posterize. Its strongest asks for 0 bits: black in old Pillow, an error in new."""
    from PIL import ImageOps

    return ImageOps.posterize(image, bits) if bits else image.point(lambda level: 0)


def noting(augment):
    """timm's RandAugment, which takes a list in place of an image and adds to it what it drew."""
    for operation in augment.ops:
        operation.aug_fn = partial(_note, _known(operation))
    return augment


def _known(operation) -> str:
    """The name of timm's operation; how far it goes, by which timm has several of a kind, is drawn
    here."""
    return operation.name.removesuffix("Increasing")


def _note(name: str, drawn: list, *value: float, **_) -> list:
    drawn.append(Operation(name, *value))
    return drawn


def evaluation_transform(data: Mapping, resolution: int) -> Transform:
    """PIL image -> `Augmented` of (resolution, resolution): resized, centre crop.

    data: "evaluation_resize", the shorter side in pixels before the crop; None: the resolution.
    """
    from torchvision.transforms import InterpolationMode, v2

    resize = v2.Resize(data["evaluation_resize"] or resolution, InterpolationMode.BICUBIC)
    return Transform(v2.Compose([resize, v2.CenterCrop(resolution), v2.ToImage(), _plain]))


def evaluation_cropping(data: Mapping, resolution: int) -> Cropping:
    """The `Cropping` in place of `evaluation_transform`."""
    return Cropping(resolution, data["evaluation_resize"] or resolution)


def _plain(image: torch.Tensor) -> torch.Tensor:
    return image.as_subclass(torch.Tensor)
