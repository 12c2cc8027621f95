"""A folder of image files sorted by class: its listing, and the decoding of one image.

The layout is ImageNet's: train/<class>/*.JPEG and val/<class>/*.JPEG. Nothing is copied:
`write_index` writes an index of the files by class, and a link to the folder.
"""

import errno
import os
import stat
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from repro.errors import UserError
from repro.files import (
    canonical_json,
    read_as,
    read_sealed,
    sha256,
    sha256_file,
    vouched,
    write_json,
    write_sealed,
)

FOLDERS = {"train": "train", "valid": "val"}  # split -> its folder
SUFFIXES = (".jpeg", ".jpg", ".png")
OTHERS = (".apng", ".avif", ".bmp", ".gif", ".heic", ".jfif", ".jp2", ".tif", ".tiff", ".webp")
HIDDEN = "."  # what begins so is a system's own: macOS puts ._0.jpg beside 0.jpg
COMPARED = 50  # images whose content is looked at
REMEMBERED = 10_000  # images; what is known of larger folders is not found anew by every command
SETTLED_NS = 60 * 10**9  # a class folder that changed later may be changing still
INDEX, LINK = "index.json", "images"

Listing = Mapping[str, Mapping[str, Mapping[str, int]]]  # split -> class -> file -> bytes


@cache
def list_folder(dataset: str, folder: Path) -> Listing:
    """The image files of a folder by split and class, with their sizes, all sorted by name.

    Raises UserError naming the dataset and the folder if a split is missing or empty, a class has
    no image, a file cannot be reached, there is only one class, or val has other classes.
    """
    listing = {split: _classes(dataset, folder / name) for split, name in FOLDERS.items()}
    train, valid = (set(listing[split]) for split in ("train", "valid"))
    if train != valid:
        lacking = [f"{folder / 'val'} lacks {sorted(train - valid)[:4]}"] if train - valid else []
        lacking += (
            [f"{folder / 'train'} lacks {sorted(valid - train)[:4]}"] if valid - train else []
        )
        raise UserError(
            f"{dataset}: train has {len(train)} classes, val has {len(valid)}; "
            f"{' and '.join(lacking)}: give both the same class folders"
        )
    if len(train) == 1:
        raise UserError(f"{dataset}: {folder} has one class, nothing to tell apart; give two")
    return listing


SURVEY = {"listing_sha256": str, "images": dict[str, int], "classes": int}


@cache
def survey(dataset: str, folder: Path) -> Mapping:
    """{"listing_sha256": `digest` of a folder's listing, "images": split -> number, "classes"}.

    That of a large folder is remembered under resources/, for as long as no file was added to it,
    removed or renamed: a class folder's time then changes, and only these are looked at. A file
    that was written over in place is noticed when the folder is fetched.
    Raises UserError as `list_folder`.
    """
    before = _times(folder)
    memory = _memory(folder)
    if before and memory.exists():
        with suppress(UserError):  # damaged or changed: to list the folder costs only time
            known = read_sealed(memory, kind={"times_sha256": str, "found": SURVEY})
            if known["times_sha256"] == _times_digest(before):
                return known["found"]
    listing = list_folder(dataset, folder)
    images = {split: sum(map(len, classes.values())) for split, classes in listing.items()}
    found = {
        "listing_sha256": digest(listing),
        "images": images,
        "classes": len(listing["train"]),
    }
    if before and sum(images.values()) >= REMEMBERED:
        newest = max(max(times.values()) for times in before.values())
        if newest + SETTLED_NS < time.time_ns() and _times(folder) == before:
            with suppress(UserError):  # where nothing can be written, it is found anew
                write_sealed(memory, {"times_sha256": _times_digest(before), "found": found})
    return found


def _memory(folder: Path) -> Path:
    return Path("resources", "digests", f"{sha256(str(folder.resolve()).encode())}.json")


def _times_digest(times: Mapping) -> str:
    return sha256(canonical_json(times))


def _times(folder: Path) -> dict[str, dict[str, int]] | None:
    """Split -> class -> when files were last added to its folder or removed, in nanoseconds; the
    split's own folder is ".". None where a folder cannot be reached."""
    times: dict[str, dict[str, int]] = {}
    try:
        for split, name in FOLDERS.items():
            place = folder / name
            times[split] = {".": place.stat().st_mtime_ns}
            for entry in os.scandir(place):
                if entry.is_dir():
                    times[split][entry.name] = entry.stat().st_mtime_ns
    except OSError:
        return None
    return times


def _classes(dataset: str, folder: Path) -> dict[str, dict[str, int]]:
    layout = "expected train/<class>/*.JPEG and val/<class>/*.JPEG"
    if not folder.is_dir():
        raise UserError(f"{dataset}: {folder} does not exist; {layout}")
    found = {}
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        try:
            is_class = entry.is_dir() and not entry.name.startswith(HIDDEN)
            images = _sizes(dataset, entry.path) if is_class else {}
        except OSError as error:  # a broken or circular link, no permission
            raise UserError(
                f"{dataset}: {error.filename} cannot be reached ({error.strerror}); replace it "
                "with an intact copy, or remove it"
            ) from None
        if is_class:
            found[entry.name] = images
            if not images:
                raise UserError(
                    f"{dataset}: {entry.path} has no image ({', '.join(SUFFIXES)}); remove the "
                    "folder or extract the archive again"
                )
    kinds = (*SUFFIXES, *OTHERS)
    loose = sum(
        entry.name.lower().endswith(kinds) and not entry.name.startswith(HIDDEN)
        for entry in os.scandir(folder)
    )
    if loose or not found:
        where = "outside of its" if found else "but no"
        words = f"has {loose} images {where} class folders" if loose else "is empty"
        raise UserError(
            f"{dataset}: {folder} {words}; {layout} (ImageNet's validation archive is flat: sort "
            "its files into class folders)"
        )
    return found


def _sizes(dataset: str, folder: str) -> dict[str, int]:
    """Name of an image file in a folder -> its size in bytes. Raises UserError on what would be
    left out of the class: an image of another format, and a folder."""
    found = {}
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = entry.name.lower()
        if name.startswith(HIDDEN):
            continue
        if name.endswith(OTHERS):
            raise UserError(
                f"{dataset}: {entry.path} is of no format that is read ({', '.join(SUFFIXES)}); "
                "convert it, or move it away"
            )
        if entry.is_dir():
            raise UserError(
                f"{dataset}: {entry.path} is a folder within a class; move its images into the "
                "class, or move it away"
            )
        if name.endswith(SUFFIXES):
            status = entry.stat()
            if not stat.S_ISREG(status.st_mode):  # to open a pipe would be to wait for it
                raise OSError(errno.ENODEV, "it is no file", entry.path)
            found[entry.name] = status.st_size
    return found


def digest(listing: Listing) -> str:
    """SHA-256 of names and sizes, so that a million files need not be opened.

    Sizes are needed because copies of ImageNet at other resolutions have the same names.
    """
    return sha256(canonical_json(listing))


def check_apart(dataset: str, folder: Path, listing: Listing) -> None:
    """Raise UserError where val is train: where more than half of its files have a namesake there
    of the same size, and of these a sample the same content, as of a link or a copy."""
    train = listing["train"]
    pairs = [
        f"{name}/{file}"
        for name, files in listing["valid"].items()
        for file, size in files.items()
        if train[name].get(file) == size
    ]
    if 2 * len(pairs) <= sum(map(len, listing["valid"].values())):
        return
    sample = pairs[:: max(1, len(pairs) // COMPARED)]
    if all(sha256_file(folder / "train" / p) == sha256_file(folder / "val" / p) for p in sample):
        raise UserError(
            f"{dataset}: {len(pairs):,} images of {folder / 'val'} are those of train; give val "
            "images that are not trained on"
        )


def write_index(dataset: str, folder: Path, identity: Mapping, destination: Path) -> None:
    """Write the folder's listing and a link to the folder, then their manifest, `destination`."""
    listing = list_folder(dataset, folder)
    if digest(listing) != identity.get("listing_sha256", digest(listing)):
        _memory(folder).unlink(missing_ok=True)
        raise UserError(
            f"{dataset}: images of {folder} were written over since the folder was last listed; "
            "run the same command again"
        )
    check_apart(dataset, folder, listing)
    write_json(destination.parent / INDEX, listing)
    _link(folder, destination.parent / LINK)
    write_sealed(
        destination,
        {
            "dataset": dict(identity),
            "images": {s: sum(map(len, classes.values())) for s, classes in listing.items()},
            "sha256": {INDEX: sha256_file(destination.parent / INDEX)},
        },
    )


def point_at(folder: Path, manifest_path: Path) -> None:
    """Make the link beside a manifest point to `folder`.

    Several folders may have the same listing; a run must read the one that the configuration names.
    """
    link = Path(manifest_path).parent / LINK
    if not (link.is_symlink() and Path(os.readlink(link)) == folder):
        _link(folder, link)


def _link(folder: Path, link: Path) -> None:
    """Make a symbolic link, replacing one to an earlier place of the images."""
    temporary = link.with_name(f".{link.name}-{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder, target_is_directory=True)
    os.replace(temporary, link)


class ImageFiles:
    """The images of one split: `paths`, `labels` (rows,) int64 from 0 in the classes' order."""

    def __init__(self, dataset: str, folder: Path, classes: Mapping[str, Mapping[str, int]]):
        import numpy as np  # here, since a folder is listed before a process takes its arithmetic

        self.dataset, self.folder = dataset, folder
        self.paths = [f"{name}/{file}" for name, files in classes.items() for file in files]
        counts = [len(files) for files in classes.values()]
        self.labels = np.repeat(np.arange(len(counts)), counts)

    def __len__(self) -> int:
        return len(self.paths)

    def image(self, row: int):
        """One image, a PIL image in RGB, whatever it was stored as (`_rgb`).

        Raises UserError naming the file when it cannot be decoded.
        """
        from PIL import Image

        path = self.folder / self.paths[row]
        try:
            with warnings.catch_warnings():
                # Of some ImageNet files the metadata are damaged, which their pixels do not need.
                warnings.filterwarnings("ignore", "Corrupt EXIF data")
                with Image.open(path) as file:
                    return _rgb(file)
        except Exception as error:  # truncated, no image, gone: PIL raises many kinds
            raise UserError(
                f"{self.dataset}: {path} cannot be decoded ({error}); replace it with an intact "
                "copy, or remove it and run the same command again"
            ) from error

    def pixels(self, row: int):
        """The same image, (3, height, width) uint8. A JPEG of one colour or three is decoded by
        torchvision, a seventh faster and straight to a tensor; whatever else there is, by Pillow.

        Raises UserError naming the file when it cannot be decoded.
        """
        import numpy as np
        import torch
        from torchvision.io import ImageReadMode, decode_jpeg, read_file

        try:
            file = read_file(str(self.folder / self.paths[row]))
            found = decode_jpeg(file, ImageReadMode.UNCHANGED)
        except RuntimeError:  # no JPEG, or a damaged one
            found = None
        if found is None or len(found) not in (1, 3):
            found = torch.from_numpy(np.array(self.image(row))).permute(2, 0, 1)
        return found.expand(3, -1, -1)


def _rgb(image):
    """A PIL image in RGB. Of 16 bits the upper 8 are taken, as Pillow does of colours but not of
    grey, which it clips to white; what is transparent lies on white, as a page shows it."""
    from PIL import Image

    if image.mode.startswith("I;16"):
        image = image.point(lambda value: value * (1 / 256)).convert("L")
    elif image.mode in ("I", "F"):
        raise ValueError(f"its pixels have 32 bits (Pillow's mode {image.mode}): give it 8")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def load_index(dataset: str, manifest_path: Path) -> dict[str, ImageFiles] | None:
    """Split -> its images; None if the manifest does not belong to a folder of images.

    Raises UserError when the index was changed, or the folder was moved.
    """
    manifest = read_sealed(manifest_path, kind={"sha256": dict[str, str]})
    if INDEX not in manifest["sha256"]:
        return None
    folder = Path(manifest_path).parent
    path = vouched(folder / INDEX, manifest["sha256"][INDEX], manifest_path)
    link = folder / LINK
    if not link.is_dir():
        raise UserError(
            f"{link}: leads to {os.readlink(link) if link.is_symlink() else 'nothing'}, which is "
            f"not there any more; delete {manifest_path} and run the same command again"
        )
    return {
        split: ImageFiles(dataset, link / FOLDERS[split], classes)
        for split, classes in read_as(path, dict[str, dict[str, dict[str, int]]]).items()
    }
