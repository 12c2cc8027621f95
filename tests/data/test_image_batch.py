"""What a GPU's batches are made by, against Pillow, timm and torchvision image by image."""

import random
from functools import partial

import numpy as np
import pytest
import torch
from batch_streams import first, no_global_draws
from PIL import Image
from refusals import refused
from timm.data.auto_augment import rand_augment_transform

from repro.cost import Cost
from repro.data import recipe, transforms
from repro.data.image_batch import FILL, OPERATIONS, Finish, Operation, carry_out
from repro.data.image_folder import ImageFiles
from repro.training import ranks

DATA = {
    "crop": [0.08, 1.0],
    "flip": True,
    "randaugment": "rand-m9-mstd0.5-inc1",
    "erasing": 0.25,
    "evaluation_resize": 40,
}
SETTINGS = {"img_mean": FILL, "interpolation": Image.Resampling.BICUBIC}
MOVES = ("Rotate", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel")
CPU = torch.device("cpu")


def picture(seed, width=60, height=48):
    """A smooth picture with noise, in RGB."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=float)
    return Image.fromarray((smooth + rng.normal(0, 6, smooth.shape)).clip(0, 255).astype(np.uint8))


PICTURES = [*map(picture, range(10)), Image.new("RGB", (60, 48), (7, 7, 200))]  # one of one colour


def tensor(image):
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


def apart(found, expected):
    """The largest difference in levels, and the share of entries that differ."""
    levels = (found.int() - expected.int()).abs()
    return int(levels.max()), float((levels > 0).double().mean())


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - {"Mirror"}))
@pytest.mark.parametrize("strength", ["m9-mstd0.5-inc1", "m10-inc1", "m0-inc1", "m4-mstd3"])
def test_an_operation_on_a_batch_is_timm_s_on_each_image(name, strength):
    """By the same draws. Pillow moves pixels in float64, and cuts what it finds to a level."""

    def operation(augment):
        (found,) = (op for op in augment.ops if op.name.removesuffix("Increasing") == name)
        found.prob = 1.0
        return found

    theirs, ours = (
        operation(change(rand_augment_transform(f"rand-{strength}", dict(SETTINGS))))
        for change in (transforms._mended, transforms.noting)
    )
    expected, drawn = [], []
    for seed, image in enumerate(PICTURES):
        random.seed(seed)
        expected.append(tensor(theirs(image)))
        random.seed(seed)
        drawn.append(ours([]))
    assert {noted.name for (noted,) in drawn} == {name}
    found = carry_out(torch.stack([*map(tensor, PICTURES)]), drawn)
    levels, share = apart(found, torch.stack(expected))
    assert levels <= (name in MOVES) and share < 0.005


def test_images_of_a_batch_are_changed_each_by_its_own_operations():
    """Mirrored or not, no operation, one or two: as each would be in a batch of its own."""
    cropping = transforms.training_cropping(DATA | {"crop": None}, 48)
    drawn = []
    for seed in range(len(PICTURES)):
        with transforms.seeded(seed):
            drawn.append(cropping(tensor(PICTURES[seed])))
    images, operations = zip(*((one.image, one.operations) for one in drawn), strict=True)
    assert {len([op for op in each if op]) for each in operations} >= {0, 1, 2}
    together = carry_out(torch.stack(images), operations)
    alone = [
        carry_out(image[None].clone(), [each])
        for image, each in zip(images, operations, strict=True)
    ]
    assert torch.equal(together, torch.cat(alone))


def drawn_by(kind, data, seed, resolution, image):
    """Pixels, once finished without normalising, and rectangles."""
    transform = getattr(transforms, f"training_{kind}")(data, resolution)
    with transforms.seeded(seed):
        one = transform(tensor(image) if kind == "cropping" else image)
    return carry_out(one.image[None].clone(), [one.operations])[0], one.erased


def both(data, resolution, seeds):
    """Share of entries that differ, and the most levels, of each image by the two ways."""
    for seed in seeds:
        image = PICTURES[seed % len(PICTURES)]
        (found, erased), (expected, theirs) = (
            drawn_by(kind, data, seed, resolution, image) for kind in ("cropping", "transform")
        )
        assert [each[:2] for each in erased] == [each[:2] for each in theirs]
        assert all(torch.equal(a[2], b[2]) for a, b in zip(erased, theirs, strict=True))
        yield apart(found, expected)


def test_a_cropping_draws_what_the_transform_draws():
    """Of squares that need no resizing the images are the same; a level that a rotation left one
    off, an operation that equalizes may move further."""
    shares = [share for _, share in both(DATA | {"crop": None}, 48, range(120))]
    assert sum(share == 0 for share in shares) > 60 and max(shares) < 0.01


def test_crops_are_pillow_s_within_rounding():
    """Larger and smaller than the result: torch's weights have 16 bits, Pillow's 22."""
    plain = DATA | {"randaugment": None}
    for resolution in (20, 48):
        levels, shares = zip(*both(plain, resolution, range(60)), strict=True)
        assert max(levels) <= 2 and max(shares) < 0.02


@pytest.mark.parametrize("resize", [40, None, 32])
def test_an_evaluation_s_crops_are_pillow_s_within_rounding(resize):
    data = DATA | {"evaluation_resize": resize}
    for size in ((60, 48), (48, 60), (47, 61), (32, 32)):
        image = picture(0, *size)
        found = transforms.evaluation_cropping(data, 32)(tensor(image))
        expected = transforms.evaluation_transform(data, 32)(image)
        assert not found.operations and found.image.shape == expected.image.shape == (3, 32, 32)
        levels, share = apart(found.image, expected.image)
        assert levels <= 2 and share < 0.02


@pytest.fixture
def files(tmp_path):
    """Images in every way that ImageNet has them, and a damaged one at last."""
    kinds = {
        "a.JPEG": ("RGB", {"format": "JPEG"}),
        "b.JPEG": ("RGB", {"format": "JPEG", "progressive": True, "subsampling": 2}),
        "c.JPEG": ("L", {"format": "JPEG"}),
        "d.JPEG": ("CMYK", {"format": "JPEG"}),
        "e.JPEG": ("RGB", {"format": "PNG"}),
        "f.png": ("RGBA", {"format": "PNG"}),
    }
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned by 90 degrees, which nobody does
    for name, (mode, options) in kinds.items():
        picture(1).convert(mode).save(tmp_path / name, exif=turned, **options)
    whole = (tmp_path / "a.JPEG").read_bytes()
    (tmp_path / "g.JPEG").write_bytes(whole[: len(whole) // 2])
    return ImageFiles("imagenet", tmp_path, {".": [*kinds, "g.JPEG"]})


def test_an_image_s_pixels_are_those_of_pillow_whatever_its_file_is(files):
    for row in range(6):
        expected = tensor(files.image(row))
        assert torch.equal(files.pixels(row), expected) and expected.shape == (3, 48, 60)
    with refused(r"imagenet: .*g.JPEG cannot be decoded .*remove it"):
        files.pixels(6)
    files.paths[0] = "gone.JPEG"
    with refused(r"imagenet: .*gone.JPEG cannot be decoded .*remove it"):
        files.pixels(0)


@pytest.fixture
def batches(files):
    """Batches of six images by the way of a GPU; workers -> seed -> batches."""
    files.paths, files.labels = files.paths[:6], files.labels[:6]
    cropping = transforms.training_cropping(DATA, 32)
    return partial(recipe.AugmentedBatches, files, cropping, 6, device=CPU)


def test_a_batch_depends_on_seed_and_step_alone(batches):
    with no_global_draws():
        whole = first(batches(seed=1, workers=0), 0, 4)
    later = first(batches(seed=1, workers=2), 2, 2)
    for (images, labels), (others, their) in zip(whole[2:], later, strict=True):
        assert images.shape == (6, 3, 32, 32) and images.dtype == torch.float32
        assert torch.equal(images, others) and torch.equal(labels, their)
    assert not torch.equal(first(batches(seed=2, workers=0), 0, 1)[0][0], whole[0][0])


def test_a_gpu_changes_images_and_a_cpu_does_not(monkeypatch):
    from repro import backend

    monkeypatch.setattr(backend, "memory", lambda device: 80e9)
    for device, images in (("cuda", 4), ("cuda", 0), ("cpu", 4)):
        chosen = ranks.choose_layout(Cost(images=images), device)
        assert chosen.augment == (device == "cuda" and images > 0)


def test_an_operation_that_no_batch_knows_is_left_to_timm():
    assert transforms.training_cropping(DATA | {"randaugment": "rand-m9-t3a"}, 32) is None
    pictures = np.stack([tensor(image).numpy() for image in PICTURES[:4]])
    source = recipe.ArrayImages(pictures, np.arange(4))
    data = DATA | {"randaugment": "rand-m9-t3a", "batch_size": 2, "mixup": None, "cutmix": None}
    model = {"resolution": 32, "classes": 4}
    found, other = (
        recipe.training_batches("imagenet", source, data, model, 0, CPU, on_device)
        for on_device in (True, False)
    )
    assert torch.equal(first(found, 0, 1)[0][0], first(other, 0, 1)[0][0])


def test_images_are_normalised_after_they_are_changed():
    (image, *_) = (tensor(each) for each in PICTURES)
    none = torch.empty(0, 5, dtype=torch.int64), torch.empty(0)
    (found,) = Finish(CPU)(image[None].clone(), [[Operation("Invert")]], *none)
    (plain,) = Finish(CPU)(255 - image[None], [()], *none)
    assert torch.equal(found, plain)
