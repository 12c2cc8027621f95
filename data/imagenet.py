"""ImageNet-1k, ILSVRC 2012 (Deng et al. 2009): photographs of 1,000 classes.

embedded: synthetic textures of 32 x 32 pixels in 10 classes, deterministic, so hard that better
    models reach a visibly higher accuracy.
folder: train/<class>/*.JPEG and val/<class>/*.JPEG, as the archives are usually extracted. The
    files are read in place; their identity is names and sizes, not contents.
real: a download needs an account: get it from image-net.org and use imagenet=FOLDER.
The published validation images are used as valid.
"""

from pathlib import Path

from repro.data.source import Listed, Source
from repro.errors import UserError
from repro.files import sha256

PUBLISHED = {"classes": 1_000, "train": 1_281_167, "valid": 50_000}
LISTED = Listed(
    source="a folder of yours",
    digest="names and sizes of its files, no digest",
    download="150 GB, by hand: it needs an account",
    folder="the usual `train/<class>/` and `val/<class>/`",
)

CLASSES = 20250802  # seed of the synthetic textures, different from that of cifar100
SHIFT, PATCH = 4, 10  # easier than 8, 14 of cifar100: a small ViT must learn them in 200 steps
EMBEDDED = {"train": (3_000, 0), "valid": (1_000, 1)}  # images, seed
EMBEDDED_SHA256 = {  # of the images' bytes, then the labels'
    "train": "224a558aae5873f936c9840e981b45309f4429bc83946a5d5497b131e0ea4d03",
    "valid": "a18820babe45e2eef0d52e6625d48391eedbade631100332b364e604499a5f51",
}


def identity(source: Source) -> dict:
    """What the data are, for a run's id; lists a folder or remembers it, opens no image.

    With data=real and no folder there is an identity, so that runs can be listed, but fetching
    fails (`image_folder`). Raises UserError on a folder with another layout.
    """
    if source.kind == "embedded":
        return {"source": "embedded", "sha256": EMBEDDED_SHA256}
    if source.kind == "real":
        return {"source": "real"}
    from repro.data import image_folder as folders

    found = folders.survey("imagenet", source.folder)
    known = {key: found[key] for key in ("listing_sha256", "images")}
    return {"source": "folder", **known}


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return "embedded images in place of ImageNet (generated textures, 10 classes)"
    if source.kind == "real":
        return "ImageNet-1k"
    from repro.data import image_folder as folders

    found = folders.survey("imagenet", source.folder)
    counts = found["images"]
    name = "ImageNet-1k" if {"classes": found["classes"], **counts} == PUBLISHED else "images"
    return (
        f"{name} from folder {source.folder.name} ({counts['train']:,} to train, "
        f"{counts['valid']:,} to validate, {found['classes']:,} classes, listing sha256 "
        f"{found['listing_sha256'][:8]})"
    )


def image_folder(source: Source) -> Path | None:
    """The folder of image files; None for the synthetic images, which are arrays."""
    return None if source.kind == "embedded" else _folder(source)


def _folder(source: Source) -> Path:
    if source.kind == "real":
        raise UserError(
            "imagenet: cannot be downloaded without an account; get ILSVRC 2012 from "
            "image-net.org and use imagenet=FOLDER (train/<class>/*.JPEG, val/<class>/*.JPEG), "
            "or imagenet=embedded"
        )
    return source.folder


def arrays(source: Source) -> dict:
    """{"train": {"inputs": (rows, 3, 32, 32) uint8, "labels": (rows,) int64}, "valid": ...}.

    Only for the synthetic images. Raises UserError when their digest is not the expected one.
    """
    from repro.data.synthetic_images import textured_images

    result = {}
    for split, (images, seed) in EMBEDDED.items():
        inputs, labels = textured_images(images, seed, classes=CLASSES, shift=SHIFT, patch=PATCH)
        found = sha256(inputs.tobytes() + labels.astype("<i8").tobytes())
        if found != EMBEDDED_SHA256[split]:
            raise UserError(
                f"imagenet (synthetic): split {split} has SHA-256 {found}, expected "
                f"{EMBEDDED_SHA256[split]}; nothing was written"
            )
        result[split] = {"inputs": inputs, "labels": labels}
    return result
