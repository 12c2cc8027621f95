"""CIFAR-100 (Krizhevsky 2009): 32 x 32 colour images of 100 classes.

embedded: synthetic textures, deterministic. Only 10 of the 100 labels, so that 5,000 images are
    500 per class, as in CIFAR-100, and a small run can learn them.
real: from torchvision, which checks the published MD5 of the archive.
folder: the extracted cifar-100-python/ (files train, test, meta, as published), or train.npz and
    test.npz with `images` (rows, 3, 32, 32) uint8 and `labels` (rows,) from 0 to 99.
The published test split is used as valid. Images are stored unchanged, uint8; the task crops,
mirrors and normalises them.
"""

from pathlib import Path

from repro.data.source import Listed, Source
from repro.errors import UserError
from repro.files import sha256, sha256_file

CLASSES = 100
ROWS = {"train": 50_000, "valid": 10_000}
SHAPE = (3, 32, 32)
PUBLISHED = {"train": "train", "valid": "test"}  # split -> its name in the published files
LISTED = Listed(
    source="`cifar-100-python.tar.gz`, through torchvision",
    digest="MD5 `eb9058c3a382ffc7106e4002c42a8d85`, torchvision, which checks it",
    download="169 MB",
    folder="the extracted `cifar-100-python`, or `train.npz` and `test.npz` with `images` (rows, "
    "3, 32, 32) and `labels`",
)

EMBEDDED = {"train": (5_000, 0), "valid": (1_000, 1)}  # images, seed
EMBEDDED_SHA256 = {  # of the images' bytes, then the labels'
    "train": "0c065cf9be79fba00060bee5d9237f69a16f160e26b4d0d38a7c7dce978631d2",
    "valid": "5c7969146aaefab0b120501aad326a28b2d24450e6b7beb663ba0bc1a929e928",
}


def identity(source: Source) -> dict:
    """What the data are, for a run's id; reads a folder's files, but uses no network.

    Raises UserError when a folder lacks a file.
    """
    if source.kind == "embedded":
        return {"source": "embedded", "sha256": EMBEDDED_SHA256}
    if source.kind == "real":
        return {"source": "real", "publisher": "torchvision", "rows": ROWS}
    paths = _files(source.folder).values()
    return {"source": "folder", "sha256": {path.name: sha256_file(path) for path in paths}}


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return "embedded images in place of CIFAR-100 (generated textures, 10 classes)"
    if source.kind == "real":
        return "CIFAR-100 (torchvision)"
    path = _files(source.folder)["train"]
    return f"images from folder {source.folder.name} ({path.name} sha256 {sha256_file(path)[:8]})"


def arrays(source: Source) -> dict:
    """{"train": {"inputs": (rows, 3, 32, 32) uint8, "labels": (rows,) int64}, "valid": ...}.

    Raises UserError when what was found is not what was expected.
    """
    if source.kind == "embedded":
        return _embedded()
    if source.kind == "real":
        return _download()
    files = _files(source.folder)
    if files["train"].suffix == ".npz":
        found = {split: _read_npz(path) for split, path in files.items()}
        lacking = {*found["valid"]["labels"].tolist()} - {*found["train"]["labels"].tolist()}
        if lacking:
            raise UserError(
                f"cifar100: {files['valid']} has classes {sorted(lacking)[:4]}, which "
                f"{files['train']} lacks; give both the same classes"
            )
        return found
    return _read_published(files)


def _embedded() -> dict:
    from repro.data.synthetic_images import textured_images

    result = {}
    for split, (images, seed) in EMBEDDED.items():
        inputs, labels = textured_images(images, seed)
        found = sha256(inputs.tobytes() + labels.astype("<i8").tobytes())
        if found != EMBEDDED_SHA256[split]:
            raise UserError(
                f"cifar100 (synthetic): split {split} has SHA-256 {found}, expected "
                f"{EMBEDDED_SHA256[split]}; nothing was written"
            )
        result[split] = {"inputs": inputs, "labels": labels}
    return result


def _download() -> dict:
    from torchvision.datasets import CIFAR100

    root = Path("resources", "cifar100", "download")
    try:
        parts = {
            split: CIFAR100(root, train=name == "train", download=True)
            for split, name in PUBLISHED.items()
        }
    except Exception as error:  # network, checksum or archive: many kinds, one message
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise UserError(
            f"cifar100: the archive could not be fetched ({reason}); try again, or use "
            "cifar100=FOLDER or cifar100=embedded"
        ) from error
    return {split: _from_torchvision(split, part) for split, part in parts.items()}


def _from_torchvision(split: str, part) -> dict:
    import numpy as np

    images = np.ascontiguousarray(part.data.transpose(0, 3, 1, 2))
    if images.shape != (ROWS[split], *SHAPE):
        raise UserError(
            f"cifar100: split {split} has images {images.shape}, expected "
            f"{(ROWS[split], *SHAPE)}: remove resources/cifar100/download, try again"
        )
    return {"inputs": images, "labels": np.asarray(part.targets, dtype=np.int64)}


def _files(folder: Path) -> dict[str, Path]:
    """Split -> its file; published files may be in the folder or in cifar-100-python/ inside it."""
    arrays = {split: folder / f"{name}.npz" for split, name in PUBLISHED.items()}
    if all(path.exists() for path in arrays.values()):
        return arrays
    for place in (folder, folder / "cifar-100-python"):
        found = {split: place / name for split, name in PUBLISHED.items()}
        if all(path.exists() for path in (*found.values(), place / "meta")):
            return found
    raise UserError(
        f"cifar100: {folder} has neither train.npz and test.npz nor the published files train, "
        f"test and meta, found {sorted(p.name for p in folder.iterdir())[:8]}"
    )


def _read_published(files: dict[str, Path]) -> dict:
    """Read the published files. Pickles can run code, so their MD5 is checked first."""
    from torchvision.datasets import CIFAR100
    from torchvision.datasets.utils import calculate_md5

    place = files["train"].parent
    meta = (CIFAR100.meta["filename"], CIFAR100.meta["md5"])
    for name, expected in (*CIFAR100.train_list, *CIFAR100.test_list, meta):
        found = calculate_md5(place / name)
        if found != expected:
            raise UserError(
                f"cifar100: {place / name} has MD5 {found}, expected the published {expected}; "
                "it is a pickle and not read: extract the archive again, or give train.npz and "
                "test.npz"
            )

    class Folder(CIFAR100):
        base_folder = place.name

    return {
        split: _from_torchvision(split, Folder(place.parent, train=name == "train"))
        for split, name in PUBLISHED.items()
    }


def _read_npz(path: Path) -> dict:
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except Exception as error:  # truncated archive, pickled objects, another format: many kinds
        raise UserError(f"cifar100: {path} cannot be read ({error}); write it anew") from error
    for name in ("images", "labels"):
        if name not in found:
            raise UserError(f"cifar100: {path} has no array {name!r}, found {sorted(found)}")
    images, labels = found["images"], found["labels"]
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != SHAPE:
        raise UserError(
            f"cifar100: {path} has images {images.shape} {images.dtype}, expected "
            f"(rows, {', '.join(map(str, SHAPE))}) uint8; convert them"
        )
    if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu":
        raise UserError(
            f"cifar100: {path} has labels {labels.shape} {labels.dtype}, expected one integer for "
            f"each of {len(images)} images"
        )
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= CLASSES:
        span = f"{labels.min()} to {labels.max()}" if len(labels) else "none"
        raise UserError(f"cifar100: {path} has labels {span}, expected 0 to {CLASSES - 1}")
    if len(np.unique(labels)) < 2:
        raise UserError(f"cifar100: {path} has one class, nothing to tell apart; give two")
    return {"inputs": images, "labels": labels.astype(np.int64)}
