"""The augmentation recipe of Dinan, Yaida & Zhang (arXiv 2304.02034), II.1.A, part by part.

They use that of the released ConvNeXt code, from timm: random resized crop, flip, RandAugment,
normalisation, Random Erasing; then Mixup or CutMix on the batch. timm and torchvision draw from the
global generators of Python, NumPy and torch. Here these are seeded for every image by (seed, step,
row) and restored afterwards, so an image does not depend on the process that makes it or a resume.

A process passes on an image as it is decoded, cropped and augmented, in bytes, and which rectangle
is to be erased: a quarter of the memory, and the device normalises all images of a batch at once.
Where the device is a GPU, what changes an image once it is cropped is left to it too.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F

from repro.cores import usable_cores
from repro.data.augmentation import Normalize
from repro.data.batches import ArrayBatches, Batches, Epochs, OrderedBatches
from repro.data.image_batch import MEAN, STD, Finish
from repro.data.image_folder import ImageFiles
from repro.data.transforms import (
    Augmented,
    Cropping,
    Transform,
    evaluation_cropping,
    evaluation_transform,
    seeded,
    training_cropping,
    training_transform,
)
from repro.errors import UserError

MIXED = 128  # images a GPU has at once in ConvNeXt's recipe, 4,096 on 32 GPUs
IMAGE_STREAM, MIX_STREAM = 2, 3  # keep these seeds different from those of the order of rows
EVALUATION_BATCH = 500
CHUNK = 64  # images a worker passes on at once: 10 MB at 224 x 224


class ArrayImages:
    """Images from an array (rows, 3, height, width) uint8, with the interface of `ImageFiles`."""

    def __init__(self, images: np.ndarray, labels: np.ndarray):
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.labels)

    def image(self, row: int):
        """One image, a PIL image in RGB."""
        from PIL import Image

        return Image.fromarray(np.ascontiguousarray(self.images[row].transpose(1, 2, 0)))

    def pixels(self, row: int) -> torch.Tensor:
        """One image, (3, height, width) uint8."""
        return torch.from_numpy(self.images[row])


class _Drawn(torch.utils.data.Dataset):
    """(step, row) -> (transformed image, label), which depends on these and the seed alone.

    A UserError is returned as an item: raised in a worker it would reach the user as a traceback.
    """

    def __init__(
        self, images: ImageFiles | ArrayImages, transform: Transform | Cropping, seed: int
    ):
        self.images, self.transform, self.seed = images, transform, seed
        self.read = images.pixels if isinstance(transform, Cropping) else images.image

    def __getitem__(self, key: tuple[int, int]) -> tuple[Augmented, int] | UserError:
        step, row = key
        try:
            with seeded(self.seed, step, row, IMAGE_STREAM):
                image = self.transform(self.read(row))
        except UserError as error:
            return error
        return image, int(self.images.labels[row])


def _loader(dataset: _Drawn, keys: Iterator, device: torch.device, workers: int | None):
    """Images of the listed keys, in order, in chunks on the device; raises workers' UserErrors."""
    if workers is None:
        workers = usable_cores() if isinstance(dataset.images, ImageFiles) else 0
    loader = torch.utils.data.DataLoader(
        dataset,
        batch_sampler=keys,
        num_workers=workers,
        generator=torch.Generator(),  # otherwise it would draw from the global one
        collate_fn=_collate,
        pin_memory=device.type == "cuda",
    )
    finish = Finish(device)
    for batch in loader:
        if isinstance(batch, UserError):
            raise batch
        operations, boxes, *rest = batch
        images, pixels, labels = (tensor.to(device, non_blocking=True) for tensor in rest)
        yield finish(images, operations, boxes, pixels), labels


def _collate(items: list) -> tuple | UserError:
    """(operations, boxes, images, pixels of the boxes, labels), see `Finish`."""
    for item in items:
        if isinstance(item, UserError):
            return item
    drawn, labels = zip(*items, strict=True)
    erased = [(row, *found) for row, one in enumerate(drawn) for found in one.erased]
    boxes = [(row, top, left, *pixels.shape[1:]) for row, top, left, pixels in erased]
    return (
        [one.operations for one in drawn],
        torch.tensor(boxes, dtype=torch.int64).view(-1, 5),
        torch.stack([one.image for one in drawn]),
        torch.cat([torch.empty(0), *(pixels.flatten() for *_, pixels in erased)]),
        torch.tensor(labels),
    )


class AugmentedBatches(Epochs):
    """Endless batches of (images (batch, 3, resolution, resolution), labels), one image at a time.

    The order is that of `Epochs`; a batch does not depend on earlier ones or on the number of
    workers (None: one per core for files, no workers for arrays).
    """

    def __init__(self, images, transform, batch_size, seed, device, workers: int | None = None):
        super().__init__(len(images), batch_size, seed)
        self.dataset = _Drawn(images, transform, seed)
        self.device, self.workers = device, workers

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Batches number step, step + 1, ..."""
        keys = (
            [(number, row) for row in rows.tolist()]
            for number, index in self._from_step(step, "cpu")
            for rows in index.split(CHUNK)
        )
        chunks = _loader(self.dataset, keys, self.device, self.workers)
        while True:
            images, labels = zip(*islice(chunks, -(-self.batch_size // CHUNK)), strict=True)
            yield torch.cat(images), torch.cat(labels)


class ImagesInOrder:
    """Every image once, in order, in chunks, for evaluation; may be iterated over repeatedly."""

    def __init__(self, images, transform, device, workers: int | None = None):
        self.dataset = _Drawn(images, transform, 0)
        self.device, self.workers = device, workers

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        rows = torch.arange(len(self.dataset.images)).split(CHUNK)
        keys = ([(0, row) for row in chunk.tolist()] for chunk in rows)
        return _loader(self.dataset, keys, self.device, self.workers)


class Mixer:
    """timm's Mixup or CutMix of a batch, each with probability 1/2.

    (images, labels (batch,), step) -> (images, targets (batch, classes)), which depend on these and
    the seed alone. Every MIXED images are mixed among themselves, by a draw of their own, as those
    of one GPU are in the released code. mixup, cutmix: parameters of the Beta distribution; 0 turns
    it off. The loss does label smoothing, which gives the same result.
    """

    def __init__(self, mixup: float, cutmix: float, classes: int, seed: int):
        from timm.data.mixup import Mixup

        self.seed = seed
        self.mix = Mixup(mixup, cutmix, label_smoothing=0.0, num_classes=classes)

    def __call__(self, images, labels, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        mixed, targets = [], []
        for number, part in enumerate(zip(images.split(MIXED), labels.split(MIXED), strict=True)):
            with seeded(self.seed, step, MIX_STREAM, *([number] if number else [])):
                ours, theirs = self.mix(*part)
            mixed.append(ours)
            targets.append(theirs)
        return torch.cat(mixed), torch.cat(targets)


class MixedBatches:
    """Batches passed through a `Mixer`."""

    def __init__(self, batches: Batches, mixer: Mixer):
        self.batches, self.mixer = batches, mixer

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Batches number step, step + 1, ..."""
        for number, (images, labels) in enumerate(self.batches.from_step(step), step):
            yield self.mixer(images, labels, number)


def training_batches(
    dataset: str,
    images,
    data: Mapping,
    model: Mapping,
    seed: int,
    device,
    on_device: bool = False,
) -> Batches:
    """Endless augmented batches of images: `ImageFiles`, or `ArrayImages`.

    data: "batch_size", `training_transform`'s keys, and "mixup" and "cutmix", None for neither.
    model: "resolution", "classes". on_device: what changes an image once it is cropped is left to
    the device.
    Raises UserError when there are fewer images than a batch, a label is not among the model's
    classes, or Mixup or CutMix should pair the images of a batch of odd size.
    """
    size, resolution = data["batch_size"], model["resolution"]
    if len(images) < size:
        raise UserError(
            f"{dataset}: {len(images)} images are fewer than one batch of {size}: use more images "
            "or a smaller batch"
        )
    if images.labels.max() >= model["classes"]:
        raise UserError(
            f"{dataset}: {images.labels.max() + 1} classes for a model of {model['classes']}: use "
            "another scale, or a folder of fewer classes"
        )
    if any(data[key] for key in ("crop", "flip", "randaugment", "erasing")) or not _fits(
        images, resolution
    ):
        cropping = training_cropping(data, resolution) if on_device else None
        transform = cropping or training_transform(data, resolution)
        batches: Batches = AugmentedBatches(images, transform, size, seed, device)
    else:
        normalize = Normalize(np.array(MEAN), np.array(STD), device)
        batches = ArrayBatches(
            dataset, images.images, images.labels, size, seed, device, lambda x, _: normalize(x)
        )
    if not (data["mixup"] or data["cutmix"]):
        return batches
    if size % 2:
        raise UserError(f"a batch of {size} images has no pairs to mix: use an even batch_size")
    mixer = Mixer(data["mixup"] or 0.0, data["cutmix"] or 0.0, model["classes"], seed)
    return MixedBatches(batches, mixer)


def evaluation_batches(images, data: Mapping, resolution: int, device, on_device: bool = False):
    """Every image once, resized and cropped as `evaluation_transform` says. on_device: as in
    `training_batches`."""
    if data["evaluation_resize"] is None and _fits(images, resolution):
        normalize = Normalize(np.array(MEAN), np.array(STD), device)
        return OrderedBatches(images.images, images.labels, EVALUATION_BATCH, device, normalize)
    transform = (evaluation_cropping if on_device else evaluation_transform)(data, resolution)
    return ImagesInOrder(images, transform, device)


def _fits(images: ImageFiles | ArrayImages, resolution: int) -> bool:
    """Whether images are stored at the model's resolution."""
    return isinstance(images, ArrayImages) and images.images.shape[2:] == (resolution, resolution)


def cross_entropy(label_smoothing: float) -> Callable:
    """(model, (images, labels or label probabilities)) -> mean cross-entropy in nats."""

    def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        logits = model(batch[0]).float()
        return F.cross_entropy(logits, batch[1], label_smoothing=label_smoothing)

    return loss
