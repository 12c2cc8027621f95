"""Text corpora: folders, the Hugging Face hub, checksums."""

from collections.abc import Mapping
from pathlib import Path

from repro.errors import UserError
from repro.files import read_sealed, sha256, vouched

FILES = {"train": "train.txt", "valid": "valid.txt", "test": "test.txt"}
HUB_SPLITS = {"train": "train", "valid": "validation", "test": "test"}


def read_folder(dataset: str, folder: Path) -> dict[str, str]:
    """Split name -> text, of the files that exist; raises UserError naming file and fault."""
    result = {}
    for split, name in FILES.items():
        path = folder / name
        if not path.exists():
            if split == "train":
                raise UserError(f"{dataset}: {path} is missing; a text folder holds train.txt")
            continue
        data = path.read_bytes()
        if not data.strip():
            raise UserError(f"{dataset}: {path} is empty; give a file with text or remove it")
        try:
            result[split] = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{dataset}: {path} is not UTF-8 (byte 0x{data[error.start]:02x} at offset "
                f"{error.start}); convert it, e.g. with iconv"
            ) from None
    return result


def split_or_nearest(manifest_path: Path, split: str) -> str:
    """`split` if a prepared text dataset has it, otherwise the dataset's last split."""
    splits = list(read_sealed(manifest_path)["splits"])
    return split if split in splits else splits[-1]


def read_split(manifest_path: Path, split: str) -> str:
    """A split of a prepared text dataset; raises UserError if its file is not the manifest's."""
    entry = read_sealed(manifest_path)["splits"][split]
    path = Path(manifest_path).parent / entry["file"]
    return vouched(path, entry["sha256"], manifest_path).read_bytes().decode()


def folder_digests(dataset: str, folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of every text file of a folder."""
    return {FILES[s]: sha256(t.encode()) for s, t in read_folder(dataset, folder).items()}


def check_digests(name: str, splits: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Raise UserError for the first split whose SHA-256 is not the expected one."""
    for split, content in splits.items():
        found = sha256(content.encode())
        if found != expected[split]:
            raise UserError(
                f"{name}: split {split} has SHA-256 {found}, expected {expected[split]}; "
                "nothing was written"
            )


def download(
    dataset: str,
    repository: str,
    subset: str,
    revision: str | None,
    lines: Mapping[str, int],
) -> dict[str, list[str]]:
    """Download a text dataset with one line per row from the Hugging Face hub: split -> rows.

    lines: split -> number of lines that its publishers state.
    Raises UserError when the hub cannot be reached or a split has another number of lines.
    """
    import datasets
    from datasets.utils import logging

    logging.disable_progress_bar()
    try:
        rows = datasets.load_dataset(repository, subset, revision=revision)
    except Exception as error:  # the hub's client raises many kinds, all end the same way here
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{dataset}: {repository} at revision {revision} could not be fetched ({reason}); "
            f"try again, or use {dataset}=FOLDER or {dataset}=embedded"
        ) from error
    result = {}
    for split, expected in lines.items():
        name = HUB_SPLITS[split]
        if name not in rows:
            raise UserError(f"{dataset}: split {name} is missing, found {sorted(rows)}")
        if "text" not in rows[name].column_names:
            raise UserError(f"{dataset}: column 'text' is missing, found {rows[name].column_names}")
        if len(rows[name]) != expected:
            raise UserError(
                f"{dataset}: split {name} has {len(rows[name])} lines, expected {expected}; "
                "the download is truncated or another dataset: clear the datasets cache, try again"
            )
        result[split] = list(rows[name]["text"])
    return result
