"""Validation data that a run trains on: the same file twice, or rows that are in both splits.

Looked for in a user's folder: what is generated or published is known by its digests.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from io import BytesIO
from pathlib import Path

from repro.data.text import PIECE
from repro.errors import UserError
from repro.files import open_file, sha256_file

SHORT = 40  # bytes of a text's row; shorter ones, as headings, are alike by chance
TOLD = 0.01  # share of a split's rows from which on a job says how many are in train too


class HeldOut:
    """The different rows of a split that is not trained on.

    Raises UserError once more than half of them were met in train: of a corpus crawled twice a few
    are, and no run needs to stop for them.
    """

    def __init__(self, dataset: str, split: str, rows: Iterable[bytes]):
        self.dataset, self.split = dataset, split
        self.left = {_digest(row) for row in rows}
        self.count = len(self.left)

    def among(self, document: str) -> set[bytes]:
        """The digest of a document of train, if it is one of the rows."""
        row = _encoded(document)
        return {_digest(row)} & self.left if _is_long(row) else set()

    def met(self, digests: Iterable[str]) -> None:
        """Take note of rows of train by their digests, in hexadecimal."""
        self.left.difference_update(map(bytes.fromhex, digests))
        self._check()

    def meet(self, row: bytes) -> None:
        """Take note of a row of train."""
        self.left.discard(_digest(row))
        self._check()

    def _check(self) -> None:
        if 2 * len(self.left) < self.count:
            raise UserError(
                f"{self.dataset}: more than half of the {self.count:,} different rows of "
                f"{self.split} are rows of train too; leave each row in one of them"
            )

    def tell(self) -> None:
        """Print how many rows were met, where they are more than a few."""
        met = self.count - len(self.left)
        if met > TOLD * self.count:
            words = f"{met:,} of the {self.count:,} different rows of {self.split}"
            print(f"{self.dataset}: {words} are rows of train too", flush=True)


def _digest(row: bytes) -> bytes:
    return blake2b(row, digest_size=16).digest()


def check_rows(dataset: str, splits: Mapping[str, Iterable[bytes]]) -> None:
    """Look for the rows of every other split in train; raises UserError as `HeldOut`."""
    others = [HeldOut(dataset, name, rows) for name, rows in splits.items() if name != "train"]
    if not others:
        return
    for row in splits["train"]:
        for each in others:
            each.meet(row)
    for each in others:
        each.tell()


def check_files(dataset: str, files: Mapping[str, Iterable[Path]]) -> None:
    """Raise UserError where a file of another split is, by its content, one of train's."""
    known = {sha256_file(path): path for path in files["train"]}
    for split in files.keys() - {"train"}:
        for path in files[split]:
            if same := known.get(sha256_file(path)):
                raise UserError(
                    f"{dataset}: {path} is the same as {same}, which is trained on; give {split} "
                    "other data, or remove it"
                )


def check_texts(dataset: str, texts: Mapping[str, str | Path]) -> None:
    """`check_files` of the texts that are files, and `check_rows` of all lines."""
    files = {split: [text] for split, text in texts.items() if isinstance(text, Path)}
    if "train" in files:
        check_files(dataset, files)
    check_rows(dataset, {split: _lines(text) for split, text in texts.items()})


def _lines(text: str | Path) -> Iterator[bytes]:
    """The lines of a text or a file that are not SHORT; a very long one in parts."""
    with open_file(text) if isinstance(text, Path) else BytesIO(text.encode()) as file:
        for line in iter(partial(file.readline, PIECE), b""):
            if len(line := line.strip()) >= SHORT:
                yield line


def held_out_documents(dataset: str, valid: Iterable[str]) -> HeldOut:
    """The different documents of valid that are not SHORT."""
    return HeldOut(dataset, "valid", filter(_is_long, map(_encoded, valid)))


def documents_apart(dataset: str, train: Iterator[str], valid: Iterator[str]) -> Iterator[str]:
    """The documents of train, unless more than half of the different ones of valid are among them:
    then UserError as soon as they were met."""
    held_out = held_out_documents(dataset, valid)
    for document in train:
        if _is_long(row := _encoded(document)):
            held_out.meet(row)
        yield document
    held_out.tell()


def _encoded(document: str) -> bytes:
    return document.encode("utf-8", "surrogatepass")


def _is_long(row: bytes) -> bool:
    return len(row) >= SHORT
