import os
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from batch_streams import first, no_global_draws
from PIL import Image
from refusals import refused
from suites import suite_of

from data import imagenet
from repro.core import config, discovery
from repro.core.suite import Suite
from repro.data import recipe
from repro.data.image_folder import load_index
from repro.data.prepare import prepare
from repro.data.source import Source

pytestmark = pytest.mark.long

CLASSES = ("n01440764", "n01443537", "n02102040")
DATA = {
    "batch_size": 4,
    "crop": [0.08, 1.0],
    "flip": True,
    "randaugment": "rand-m9-mstd0.5-inc1",
    "erasing": 0.25,
    "mixup": 0.8,
    "cutmix": 1.0,
    "evaluation_resize": 40,
}
MODEL = {"resolution": 32, "classes": 3}
CPU = torch.device("cpu")


def checkered(seed):
    rng = np.random.default_rng(seed)
    return np.kron(rng.integers(0, 256, (6, 6, 3)), np.ones((8, 10, 1))).astype(np.uint8)


def photograph(path, mode="RGB", size=(60, 48), seed=0):
    image = Image.fromarray(checkered(seed)).resize(size).convert(mode)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, format="PNG" if path.suffix == ".png" else "JPEG")


@pytest.fixture
def folder(tmp_path):
    """ImageNet's layout: three classes, four images each to train, one to validate."""
    root = tmp_path / "images"
    for c, name in enumerate(CLASSES):
        for i in range(4):
            photograph(root / "train" / name / f"{name}_{i}.JPEG", seed=10 * c + i)
        photograph(root / "val" / name / f"ILSVRC2012_val_{c}.JPEG", seed=100 + c)
    (root / "train" / CLASSES[0] / "README.txt").write_text("no image")
    return root


def forget(image_folder):
    """As of another process."""
    image_folder.list_folder.cache_clear()
    image_folder.survey.cache_clear()


def prepared(folder, destination):
    from repro.data import image_folder

    forget(image_folder)
    source = Source("folder", folder)
    prepare(imagenet, source, imagenet.identity(source), destination / "manifest.json")
    return destination / "manifest.json"


def index(folder, tmp_path):
    return load_index("imagenet", prepared(folder, tmp_path / "prepared"))


def test_a_folder_is_indexed_in_the_classes_order_and_read_where_it_lies(folder, tmp_path):
    photograph(folder / "train" / CLASSES[1] / "extra.png", seed=5)
    found = index(folder, tmp_path)
    assert found["train"].labels.tolist() == [0] * 4 + [1] * 5 + [2] * 4
    assert found["train"].paths[8] == f"{CLASSES[1]}/n01443537_3.JPEG"
    assert found["valid"].labels.tolist() == [0, 1, 2]
    exact = np.asarray(Image.open(folder / "train" / CLASSES[1] / "extra.png"))
    assert "extra.png" in found["train"].paths[4]
    np.testing.assert_array_equal(np.asarray(found["train"].image(4)), exact)
    sizes = [p.stat().st_size for p in (tmp_path / "prepared").iterdir() if not p.is_symlink()]
    assert sum(sizes) < 5_000, "an index, no copies"


def test_a_job_reads_the_folder_that_is_named_though_another_has_the_same_listing(
    folder, tmp_path, monkeypatch
):
    """Found in review: the second folder was never opened, and the footer named it."""
    from repro.__main__ import main
    from repro.core import execute

    other = shutil.copytree(folder, tmp_path / "other")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    read = []

    def look(cell, path, store, inputs, *arguments, **options):
        (manifest,) = inputs.values()
        read.append((manifest.parent / "images").resolve())
        return 0

    monkeypatch.setattr(execute, "run_cell", look)
    for images in (folder, other):
        words = ["--config", "scale=smoke", f"imagenet={images}"]
        suite = Suite(config.parse({"scale": "smoke", "imagenet": str(images)}, ["imagenet"]))
        cell = suite.cells("effective_theory/vit/standard_search")[0]
        (manifest,) = suite.needs(cell).values()
        if not manifest.exists():
            assert main(["fetch", "imagenet", *words]) == 0
        assert main(["train", cell.study, cell.name, *words]) == 0
    assert read == [folder, other]


def test_copies_of_other_sizes_are_other_data(folder, tmp_path):
    from repro.data import image_folder

    before = imagenet.identity(Source("folder", folder))
    photograph(folder / "train" / CLASSES[0] / f"{CLASSES[0]}_0.JPEG", size=(30, 24))
    forget(image_folder)
    assert imagenet.identity(Source("folder", folder)) != before


def test_manifests_of_one_listing_agree_wherever_it_lies(folder, tmp_path):
    """The digest of what a run read must not hold a machine's paths."""
    first = prepared(folder, tmp_path / "a").read_bytes()
    moved = folder.rename(tmp_path / "elsewhere")
    assert prepared(moved, tmp_path / "b").read_bytes() == first
    with refused("leads to .*images, which is not there any more; delete"):
        load_index("imagenet", tmp_path / "a" / "manifest.json")
    prepared(moved, tmp_path / "a")
    assert len(load_index("imagenet", tmp_path / "a" / "manifest.json")["train"]) == 12


def test_another_file_is_another_identity(folder):
    from repro.data import image_folder

    def identity():
        forget(image_folder)
        return imagenet.identity(Source("folder", folder))

    first = identity()
    assert identity() == first and first["images"] == {"train": 12, "valid": 3}
    (folder / "train" / CLASSES[0] / f"{CLASSES[0]}_0.JPEG").unlink()
    assert identity() != first


@pytest.fixture
def large(folder, tmp_path, monkeypatch):
    """The folder as if it were a large one that nobody has changed for a while; returns its
    identity and how often a file was asked for its size."""
    from repro.data import image_folder

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(image_folder, "REMEMBERED", 15)
    old = time.time() - 3_600
    for path in (*folder.glob("*/*"), *folder.glob("*")):
        os.utime(path, (old, old))
    sized = []
    real = image_folder._sizes
    monkeypatch.setattr(image_folder, "_sizes", lambda *given: sized.append(given) or real(*given))

    def identity():
        forget(image_folder)
        sized.clear()
        return imagenet.identity(Source("folder", folder)), len(sized)

    return identity


def test_a_large_folder_s_images_are_asked_for_once_not_by_every_command(folder, large):
    first, looked = large()
    assert looked == 6
    assert large() == (first, 0)
    assert imagenet.describe(Source("folder", folder)).startswith("images from folder images (12")
    memory = next(folder.parent.glob("resources/digests/*.json"))
    for harm in ("{ cut", memory.read_text().replace('"train": 12', '"train": 13')):
        memory.write_text(harm)
        assert large() == (first, 6)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: photograph(folder / "train" / CLASSES[0] / "new.JPEG"),
        lambda folder: (folder / "val" / CLASSES[1] / "ILSVRC2012_val_1.JPEG").rename(
            folder / "val" / CLASSES[1] / "renamed.JPEG"
        ),
        lambda folder: (folder / "train" / CLASSES[2] / f"{CLASSES[2]}_3.JPEG").unlink(),
    ],
)
def test_a_large_folder_that_changed_is_listed_again(folder, large, change):
    first, _ = large()
    change(folder)
    second, looked = large()
    assert second != first and looked == 6
    assert large() == (second, 6), "what has just changed may change still"


def test_a_large_folder_s_memory_gives_way_where_images_were_written_over(folder, large, tmp_path):
    """That changes no folder's time; the images' sizes are looked at before they are indexed."""
    first, _ = large()
    path = folder / "train" / CLASSES[0] / f"{CLASSES[0]}_0.JPEG"
    path.write_bytes(path.read_bytes() + b"\0")
    assert large() == (first, 0)
    with refused("images of .* were written over .*; run the same command"):
        prepared(folder, tmp_path / "prepared")
    assert not (tmp_path / "prepared" / "manifest.json").exists()
    second, looked = large()
    assert second != first and looked == 6
    prepared(folder, tmp_path / "prepared")


@pytest.mark.parametrize("mode", ["L", "CMYK", "P", "RGBA", "1"])
def test_every_mode_becomes_rgb(folder, tmp_path, mode):
    name = "odd.JPEG" if mode in ("L", "CMYK") else "odd.png"
    photograph(folder / "train" / CLASSES[0] / name, mode)
    found = index(folder, tmp_path)
    row = found["train"].paths.index(f"{CLASSES[0]}/{name}")
    image = found["train"].image(row)
    assert image.mode == "RGB" and image.size == (60, 48)
    drawn = recipe.training_transform(DATA, 32)(image).image
    assert drawn.shape == (3, 32, 32) and drawn.dtype == torch.uint8


def as_published(root):
    """Files as ILSVRC 2012 has them besides the usual: a PNG by the name of a JPEG, JPEGs of four
    inks, grey, turned or with damaged metadata; as the archives are extracted, with their lists."""
    turned = Image.Exif()
    turned[0x0112] = 6  # orientation: to be turned by 90 degrees
    pixels = checkered(3)
    rgb = Image.fromarray(pixels)
    kinds = {
        "n02105855_2933.JPEG": (rgb, {"format": "PNG"}),
        "n01739381_1309.JPEG": (rgb.convert("CMYK"), {}),
        "n02077923_14822.JPEG": (rgb.convert("L"), {}),
        "n04371774_5854.JPEG": (rgb, {"exif": turned}),
        "n04152593_17460.JPEG": (rgb, {"exif": b"Exif\0\0II*\0\xff\xff\xff\xff cut"}),
        "n02447366_23489.JPEG": (rgb, {"progressive": True, "subsampling": 2}),
    }
    for name, (image, options) in kinds.items():
        for place in (root / "train" / name[:9] / name, root / "val" / name[:9] / f"val_{name}"):
            place.parent.mkdir(parents=True, exist_ok=True)
            image.save(place, **{"format": "JPEG", "quality": 90} | options)
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    (root / "train" / "n01739381" / "n01739381.txt").write_text("a list, no image")
    (root / "val" / "ILSVRC2012_validation_ground_truth.txt").write_text("490\n361\n")
    return pixels, list(kinds)


@pytest.mark.filterwarnings("error:Corrupt EXIF")
def test_imagenet_s_odd_files_are_read_as_torchvision_reads_them(tmp_path):
    from torchvision.datasets import ImageFolder

    pixels, names = as_published(tmp_path / "images")
    found = index(tmp_path / "images", tmp_path)
    theirs = ImageFolder(tmp_path / "images" / "train")
    ours = found["train"]
    assert [tmp_path / "images" / "train" / path for path in ours.paths] == [
        Path(path) for path, _ in theirs.samples
    ]
    assert ours.labels.tolist() == theirs.targets and len(names) == len(ours) == 6
    for row, path in enumerate(ours.paths):
        with warnings.catch_warnings(action="ignore"):
            image = theirs[row][0]
        assert ours.image(row).mode == "RGB" and ours.image(row).size == (60, 48)
        np.testing.assert_array_equal(np.asarray(ours.image(row)), np.asarray(image))
        if path.endswith(names[0]):
            np.testing.assert_array_equal(np.asarray(image), pixels)
    batches = recipe.AugmentedBatches(
        ours, recipe.training_transform(DATA, 32), 6, 0, CPU, workers=1
    )
    ((images, labels),) = first(batches, 0, 1)
    assert images.shape == (6, 3, 32, 32) and sorted(labels.tolist()) == list(range(6))


def test_a_broken_image_is_named_from_a_worker_too(folder, tmp_path):
    path = folder / "train" / CLASSES[2] / f"{CLASSES[2]}_1.JPEG"
    path.write_bytes(path.read_bytes()[:200])
    found = index(folder, tmp_path)
    for workers in (0, 1):
        batches = recipe.AugmentedBatches(
            found["train"], recipe.training_transform(DATA, 32), 12, 0, CPU, workers
        )
        with refused(rf"imagenet: .*{path.name} cannot be decoded .*remove"):
            next(batches.from_step(0))


def empty_class(folder):
    for file in (folder / "val" / CLASSES[1]).iterdir():
        file.unlink()


def remove_class(folder):
    empty_class(folder)
    (folder / "val" / CLASSES[1]).rmdir()


def rename_class(folder):
    (folder / "val" / CLASSES[1]).rename(folder / "val" / "fish")


def flatten(folder):
    for name in CLASSES:
        for file in (folder / "val" / name).iterdir():
            file.rename(folder / "val" / file.name)
        (folder / "val" / name).rmdir()


def empty_valid(folder):
    flatten(folder)
    for file in (folder / "val").iterdir():
        file.unlink()


def one_class(folder):
    for split in ("train", "val"):
        for name in CLASSES[1:]:
            shutil.rmtree(folder / split / name)


def circle(folder):
    shutil.rmtree(folder / "val" / CLASSES[0])
    (folder / "val" / CLASSES[0]).symlink_to(folder / "val" / CLASSES[0])


def leads_nowhere(folder):
    (folder / "train" / CLASSES[0] / "lost.JPEG").symlink_to(folder / "gone.JPEG")


def pipe(folder):
    os.mkfifo(folder / "train" / CLASSES[0] / "endless.JPEG")


def no_valid(folder):
    (folder / "val").rename(folder / "validation")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_class, r"train has 3 classes, val has 2; .*val lacks \['n01443537'\]: give both"),
        (empty_class, r"val/n01443537 has no image .*remove the folder or extract"),
        (rename_class, r"val lacks \['n01443537'\] and .*train lacks \['fish'\]"),
        (flatten, r"val has 3 images but no class folders; expected .*sort its files"),
        (empty_valid, r"val is empty; expected train/<class>.* and val/<class>"),
        (no_valid, r"val does not exist; expected train/<class>"),
        (one_class, "has one class, nothing to tell apart"),
        (circle, rf"val/{CLASSES[0]} cannot be reached"),
        (pipe, r"endless.JPEG cannot be reached \(it is no file\); replace it"),
        (leads_nowhere, r"lost.JPEG cannot be reached .*replace it"),
    ],
)
def test_a_faulty_folder_is_named_with_the_fault(folder, damage, message):
    from repro.data import image_folder

    forget(image_folder)
    damage(folder)
    with refused(message) as caught:
        imagenet.identity(Source("folder", folder))
    assert str(caught.value).startswith("imagenet: ")


def test_the_real_one_without_a_folder_says_how_to_get_it():
    with refused(r"cannot be downloaded.*imagenet=FOLDER"):
        imagenet.image_folder(Source("real"))
    assert imagenet.identity(Source("real")) == {"source": "real"}, "data=real asks every dataset"


def test_the_words_tell_imagenet_from_a_few_images(folder, monkeypatch):
    source = Source("folder", folder)
    assert imagenet.describe(source).startswith("images from folder images (12 to train")
    monkeypatch.setattr(imagenet, "PUBLISHED", {"classes": 3, "train": 12, "valid": 3})
    assert imagenet.describe(source).startswith("ImageNet-1k from folder images (12 to train")


def test_the_embedded_images_are_the_published_ones():
    found = imagenet.arrays(Source("embedded"))
    for split, rows in (("train", 3_000), ("valid", 1_000)):
        assert found[split]["inputs"].shape == (rows, 3, 32, 32)
        assert np.bincount(found[split]["labels"]).tolist() == [rows // 10] * 10
    seen = {image.tobytes() for image in found["train"]["inputs"]}
    assert len(seen) == 3_000
    assert not seen & {image.tobytes() for image in found["valid"]["inputs"]}


def test_a_changed_generator_is_noticed(monkeypatch):
    monkeypatch.setattr(imagenet, "EMBEDDED", {"train": (20, 0)})
    with refused(r"imagenet \(synthetic\): split train has SHA-256"):
        imagenet.arrays(Source("embedded"))


# The recipe


@pytest.fixture
def images(folder, tmp_path):
    return index(folder, tmp_path)


def to_train(images, seed, data=DATA, model=MODEL):
    return recipe.training_batches("imagenet", images["train"], data, model, seed, CPU)


def equal(one, other):
    return all(
        torch.equal(a, b)
        for x, y in zip(one, other, strict=True)
        for a, b in zip(x, y, strict=True)
    )


def test_a_batch_depends_on_seed_and_step_alone(images):
    def batches(seed):
        return to_train(images, seed)

    whole = first(batches(1), 0, 5)
    assert equal(first(batches(1), 3, 2), whole[3:]), "a resumed run sees the same"
    assert not equal(first(batches(2), 3, 2), whole[3:])
    pixels, targets = whole[0]
    assert pixels.shape == (4, 3, 32, 32) and pixels.dtype == torch.float32
    torch.testing.assert_close(targets.sum(1), torch.ones(4))


def test_the_device_finishes_a_batch_in_the_bits_of_image_by_image(images):
    """torchvision's and timm's own steps on one image at a time, as before images were passed on in
    bytes."""
    from timm.data.random_erasing import RandomErasing
    from torchvision.transforms import v2

    transform = recipe.training_transform(DATA | {"erasing": 1.0}, 32)
    finish = v2.Compose(
        [v2.ToDtype(torch.float32, scale=True), v2.Normalize(recipe.MEAN, recipe.STD)]
    )
    erase = RandomErasing(1.0, mode="pixel", max_count=1, device="cpu")
    expected = []
    for row in range(12):
        with recipe.seeded(1, 0, row, recipe.IMAGE_STREAM):
            expected.append(erase(finish(transform.change(images["train"].image(row)))))
    order = torch.arange(12)
    keys = [[(0, row) for row in part.tolist()] for part in order.split(5)]
    drawn = recipe._Drawn(images["train"], transform, 1)
    found = [chunk for chunk, _ in recipe._loader(drawn, iter(keys), CPU, 0)]
    assert torch.equal(torch.cat(found), torch.stack(expected))


def test_workers_draw_what_one_process_draws(images):
    def batches(workers):
        transform = recipe.training_transform(DATA, 32)
        return recipe.AugmentedBatches(images["train"], transform, 4, 1, CPU, workers)

    assert equal(first(batches(0), 2), first(batches(2), 2))


def test_chunks_of_a_batch_make_the_same_batch(images, monkeypatch):
    def found():
        batches = to_train(images, 1)
        held_out = recipe.evaluation_batches(images["train"], DATA, 32, CPU)
        return first(batches, 2), [torch.cat(part) for part in zip(*held_out, strict=True)]

    whole, ordered = found()
    assert ordered[1].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    monkeypatch.setattr(recipe, "CHUNK", 3)
    cut, in_chunks = found()
    assert equal(cut, whole) and equal([in_chunks], [ordered])


def test_the_global_generators_are_left_alone(images):
    with no_global_draws():
        first(to_train(images, 1), 0)
        list(recipe.evaluation_batches(images["valid"], DATA, 32, CPU))


def posterize_of_old(image, bits):
    """Pillow's `ImageOps.posterize` before it refused 0 bits: a mask of the highest bits."""
    return image.point([level & ~(2 ** (8 - bits) - 1) for level in range(256)] * 3)


def test_the_images_are_those_of_timm_s_own_pipeline(images, monkeypatch):
    """timm.data.create_transform with the options of the released ConvNeXt code."""
    from PIL import ImageOps
    from timm.data import create_transform

    monkeypatch.setattr(ImageOps, "posterize", posterize_of_old)

    theirs = create_transform(
        32,
        is_training=True,
        color_jitter=0.4,  # off where there is RandAugment
        auto_augment="rand-m9-mstd0.5-inc1",
        interpolation="bicubic",
        re_prob=0.25,
        re_mode="pixel",
        re_count=1,
        mean=recipe.MEAN,
        std=recipe.STD,
    )
    ours = recipe.training_transform(DATA, 32)
    erased = 0
    for row in range(12):
        image = images["train"].image(row)
        for key in range(20):
            with recipe.seeded(row, key):
                expected = theirs(image)
            with recipe.seeded(row, key):
                operations, boxes, drawn, pixels, _ = recipe._collate([(ours(image), 0)])
            (found,) = recipe.Finish(CPU)(drawn, operations, boxes, pixels)
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
            erased += bool(found.max() > 2.8)  # beyond white, (1 - 0.406) / 0.225 = 2.64
    assert 20 < erased < 100, "Random Erasing draws normal pixels in a quarter of 240 images"


def test_the_strongest_posterize_is_black_and_no_error(images):
    """timm keeps 4 - int(4 * magnitude / 10) bits: 0 at magnitude 10, which m9-mstd0.5 reaches."""
    transform = recipe.training_transform(DATA | {"randaugment": "rand-m10-inc1"}, 32)
    (augment,) = (part for part in transform.change.transforms if hasattr(part, "ops"))
    (posterize,) = (op for op in augment.ops if op.name == "PosterizeIncreasing")
    image = images["train"].image(0)
    found = {np.asarray(posterize(image)).max() for _ in range(20)}
    assert found == {0, np.asarray(image).max()}, "applied half of the time"


def test_evaluation_resizes_the_shorter_side_and_crops_the_centre(images):
    image = images["valid"].image(0)  # 60 x 48 -> 50 x 40 -> rows 4 to 36, columns 9 to 41
    resized = np.asarray(image.resize((50, 40), Image.Resampling.BICUBIC), dtype=float)[4:36, 9:41]
    expected = (resized / 255 - recipe.MEAN) / recipe.STD
    ((found, labels),) = recipe.evaluation_batches(_only(images["valid"]), DATA, 32, CPU)
    np.testing.assert_allclose(found[0].permute(1, 2, 0), expected, atol=1e-5)
    assert labels.tolist() == [0]


def _only(files):
    files.paths, files.labels = files.paths[:1], files.labels[:1]
    return files


def test_mixing_is_mixup_or_cutmix_with_the_shares_in_the_targets():
    """Images of one value each: Mixup gives one value, CutMix a rectangle of the other."""
    mixer = recipe.Mixer(0.8, 1.0, 4, seed=0)
    kinds = []
    for step in range(60):
        images = torch.arange(1.0, 5.0)[:, None, None, None].expand(4, 3, 16, 16).clone()
        mixed, targets = mixer(images, torch.arange(4), step)
        own, other = torch.arange(4), torch.arange(4).flip(0)
        share = targets[own, own]
        torch.testing.assert_close(targets[own, other], 1 - share)
        mean = share * (own + 1) + (1 - share) * (other + 1)
        torch.testing.assert_close(mixed.mean((1, 2, 3)), mean, rtol=1e-5, atol=1e-5)
        kinds.append("mixup" if mixed[0].unique().numel() == 1 else "cutmix")
    assert 18 <= kinds.count("mixup") <= 42, "each half of the time"


def test_every_part_of_a_batch_is_mixed_by_a_draw_of_its_own():
    """As on one GPU of the released code; what fits there is mixed as it always was."""
    shares = []
    for step in range(8):
        mixer = recipe.Mixer(0.8, 0.0, 2, seed=0)
        images = torch.zeros(2 * recipe.MIXED, 1, 2, 2)
        labels = torch.tensor([0, 1]).repeat(recipe.MIXED // 2).sort().values.repeat(2)
        mixed, targets = mixer(images, labels, step)
        assert mixed.shape == images.shape and targets.shape == (2 * recipe.MIXED, 2)
        _, first = mixer(images[: recipe.MIXED], labels[: recipe.MIXED], step)
        assert torch.equal(targets[: recipe.MIXED], first)
        parts = targets.split(recipe.MIXED)
        assert all(len(part[:4, 0].unique()) == 1 for part in parts), "one draw a part"
        shares.append([float(part[0, 0]) for part in parts])
    assert all(one != other for one, other in shares)


def test_smoothing_in_the_loss_is_smoothing_in_timm_s_targets():
    from timm.data.mixup import mixup_target
    from timm.loss import SoftTargetCrossEntropy

    logits = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 1, 2, 3, 4, 0])
    expected = SoftTargetCrossEntropy()(logits, mixup_target(labels, 5, 0.3, 0.1))
    plain = mixup_target(labels, 5, 0.3, 0.0)
    found = recipe.cross_entropy(0.1)(lambda x: x, (logits, plain))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("data", "model", "message"),
    [
        ({"batch_size": 13}, {}, "12 images are fewer than one batch of 13"),
        ({}, {"classes": 2}, "3 classes for a model of 2"),
        ({"batch_size": 3}, {}, "a batch of 3 images has no pairs to mix"),
    ],
)
def test_what_does_not_fit_is_named(images, data, model, message):
    with refused(message):
        to_train(images, 0, DATA | data, MODEL | model)


def record_of(spec, folder, tmp_path):
    """The one record of a run on the folder."""
    from repro.data.needs import Arrays
    from repro.tasks import TASKS

    (record,) = TASKS["image_classification"].run(
        spec,
        inputs={Arrays("imagenet"): prepared(folder, tmp_path / "prepared")},
        device="cpu",
        progress=lambda *_: None,
        checkpoint=tmp_path / "state",
    )
    return record


def test_a_run_reads_a_folder(folder, tmp_path):
    from golden import SPECS

    spec = SPECS["image_classification"]
    spec = spec | {"data": DATA | {"dataset": "imagenet"}, "steps": 2, "evaluations": 1}
    spec = spec | {"model": spec["model"] | {"patch": 8, **MODEL}}
    record = record_of(spec, folder, tmp_path)
    assert record["valid_accuracy"] in (0, 1 / 3, 2 / 3, 1) and record["train_loss"] > 0.5


def test_the_paper_s_settings_run_on_a_folder(folder, tmp_path):
    """Recipe, 196 patches, parts of a batch and float16 as at paper scale; a small model."""
    from repro.core.spec import override

    study = discovery.study("effective_theory/vit/neural_tangent_search")
    small = {
        "model.width": 48,
        "model.depth": 1,
        "data.batch_size": 4,
        "microbatches": 2,
        "steps": 2,
    }
    small |= {"evaluations": 1, "schedule.warmup": 1}
    record = record_of(override(study.spec, small), folder, tmp_path)
    assert 4 < record["train_loss"] < 12, "about log 1000"


def test_the_suite_takes_imagenet_from_a_folder(folder, tmp_path, monkeypatch):
    from repro.data import image_folder

    forget(image_folder)
    monkeypatch.chdir(tmp_path)
    suite = suite_of(imagenet=str(folder))
    assert suite.identity("imagenet")["source"] == "folder"
    assert suite.label.startswith("embedded+imagenet=folder-")
