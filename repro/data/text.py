"""Text corpora: folders, the Hugging Face hub, checksums; and texts read a piece at a time."""

import codecs
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NotRequired, TypedDict

from repro.data.digests import of_users_file
from repro.data.parquet import File, check_whole
from repro.errors import UserError
from repro.files import open_file, read_sealed, sha256, vouched

HUB_SPLITS = {"train": "train", "valid": "validation", "test": "test"}
# How names of files say their split, in words of their own: `my_val.jsonl`, `dev-00000.parquet`.
SAID = {
    "train": r"train(?:ing)?",
    "valid": r"val(?:id(?:ation)?)?|dev(?:el(?:opment)?)?|eval(?:uation)?|held[-_ ]?out|holdout",
    "test": r"test(?:ing)?",
}
WORD = r"(?<![a-z])(?:{})(?:[-_ ]?(?:set|split|data))?(?![a-z])"
# What a folder's files are called: as our own, those in WikiText's two archives, the hub's.
KINDS = (r"[a-z]+\.txt", r"wiki\.[a-z]+\.tokens", r"wiki\.[a-z]+\.raw", r"[a-z]+-.*\.parquet")

PIECE = 2**17  # bytes that are read at once; a tokenizer takes a hundred times as many
# The last place to cut a text without changing its tokens: before a blank or a line end that a word
# follows. GPT-2's tokenizer has the white space before it for itself there, and joins a blank to
# the word; one that splits at white space drops all of it.
CUT = re.compile(r"(?s:.*)(?=[ \n]\S)")
# What a file of another encoding begins with -> the name that iconv has for it.
MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
LONGEST_WORD = 1_000_000  # characters; their pairs take a quarter of an hour to merge


def said(dataset: str, folder: Path) -> dict[Path, str | None]:
    """What lies in a folder, in order -> the split that its name says, if any. Hidden files are
    left out. Raises UserError where a name says two."""
    result = {}
    for path in sorted(folder.iterdir()):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=train)(?=val|dev|test)", " ", path.name).lower()
        words = [split for split, word in SAID.items() if re.search(WORD.format(word), name)]
        if len(words) > 1:
            raise UserError(
                f"{dataset}: {path} says by its name that it is {' and '.join(words)}; "
                "rename it to say one"
            )
        if not path.name.startswith("."):
            result[path] = words[0] if words else None
    return result


def check_none_left(dataset: str, names: Mapping[Path, str | None], read: Iterable[Path]) -> None:
    """Raise UserError where something that is not read says by its name that it is valid or
    test."""
    for path in names.keys() - {*read}:
        if names[path] in ("valid", "test"):
            raise UserError(
                f"{dataset}: {path} says by its name that it is {names[path]}, and is not read "
                "(docs/own-data.md says which are); move it out of the folder, or rename it"
            )


def folder_files(dataset: str, folder: Path) -> dict[str, list[Path]]:
    """Split name -> its files, in order, of those that exist: train.txt and so on, or WikiText's as
    they are published.

    Raises UserError without a file to train on, with files of several kinds, with several texts of
    a split, or with one of another split that is not read.
    """
    names = said(dataset, folder)
    kinds = [
        [path for path in names if names[path] and re.fullmatch(kind, path.name, re.IGNORECASE)]
        for kind in KINDS
    ]
    used = [files for files in kinds if files]
    if len(used) > 1:
        firsts = (max(files, key=lambda path: names[path] == "train").name for files in used)
        raise UserError(
            f"{dataset}: {folder} holds files of several kinds ({', '.join(firsts)}), expected "
            "one; keep those to be read"
        )
    files = next(iter(used), [])
    check_none_left(dataset, names, files)
    chosen = {split: found for split in SAID if (found := [p for p in files if names[p] == split])}
    if "train" not in chosen:
        path = folder / "train.txt"
        raise UserError(
            f"{dataset}: {path} is missing; a text folder holds train.txt, wiki.train.tokens, "
            "wiki.train.raw or train-*.parquet"
        )
    for split, found in chosen.items():
        if len(found) > 1 and found[0].suffix != ".parquet":
            raise UserError(
                f"{dataset}: {' and '.join(map(str, found))} are both {split}; keep one of them"
            )
    check_whole(dataset, files)
    return chosen


def folder_texts(dataset: str, folder: Path) -> dict[str, str | Path]:
    """Split name -> its file, or its text where that lies in parquet, a line a row."""
    files = folder_files(dataset, folder)
    return {split: _text(dataset, paths) for split, paths in files.items()}


def _text(dataset: str, paths: list[Path]) -> str | Path:
    if paths[0].suffix != ".parquet":
        return paths[0]
    return "".join(row for path in paths for row in File(dataset, str(path)).texts())


def folder_digests(dataset: str, folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of every text file of a folder; raises UserError naming file and
    fault."""
    check = partial(check_text, dataset)
    files = [path for paths in folder_files(dataset, folder).values() for path in paths]
    return {path.name: of_users_file(path, check) for path in files}


def check_text(dataset: str, path: Path) -> None:
    """Raise UserError, naming file and fault, unless a file is UTF-8 (`blocks`), or parquet, and
    has some text."""
    if path.suffix == ".parquet":
        if not any(row.strip() for row in File(dataset, str(path)).texts()):
            raise UserError(f"{dataset}: {path} is empty; give a file with text or remove it")
        return
    try:
        if not [True for block in blocks(path) if block.strip()]:
            raise UserError(f"{path} is empty; give a file with text or remove it")
    except UserError as error:
        raise UserError(f"{dataset}: {error}") from None


def decoded(path: Path) -> Iterator[str]:
    """A UTF-8 file, PIECE bytes at a time; raises UserError naming file and byte where it is
    none."""
    decoder, begin = codecs.getincrementaldecoder("utf-8")(), 0
    with open_file(path) as file:
        while True:
            data = file.read(PIECE)
            undecoded = len(decoder.getstate()[0])  # the beginning of a character
            try:
                yield decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path} is not UTF-8 (byte 0x{error.object[error.start]:02x} at offset "
                    f"{begin - undecoded + error.start}); {_way_out(path)}"
                ) from None
            if not data:
                return
            begin += len(data)


def blocks(path: Path) -> Iterator[str]:
    """The same of a user's text: its lines end in `\\n`, whatever system wrote it, and marks of
    the byte order are left out. Raises UserError, naming it, also where it has a NUL byte."""
    line_ends = io.IncrementalNewlineDecoder(None, translate=True)
    for block in decoded(path):
        if "\0" in block:
            raise UserError(f"{path} has NUL bytes, which no text has; {_way_out(path, nul=True)}")
        yield line_ends.decode(block, final=not block).replace("\ufeff", "")


def _way_out(path: Path, nul: bool = False) -> str:
    """What to do with a file that is not UTF-8, or has NUL bytes (`nul`), by its first bytes."""
    with open_file(path) as file:
        head = file.read(PIECE)
    even, odd = head[::2].count(0), head[1::2].count(0)
    guess = next((name for mark, name in MARKS.items() if head.startswith(mark)), "")
    if not guess and max(even, odd) > 9 * min(even, odd):  # a NUL before or behind most letters
        guess = "UTF-16BE" if even > odd else "UTF-16LE"
    if guess:
        return f"convert it: iconv -f {guess} -t UTF-8 OLD > NEW"
    if nul:
        return "get the whole file again, or remove them: tr -d '\\0' < OLD > NEW"
    return "convert it with iconv from the encoding that it has"


def pieces(parts: Iterable[str], name: object) -> Iterator[str]:
    """The same text in pieces whose tokens are together those of the whole.

    parts: the text, cut anywhere, as `decoded` does. name: of the text, for an error.
    Raises UserError where more than LONGEST_WORD characters cannot be cut.
    """
    rest = ""
    for part in parts:
        rest += part
        if found := CUT.match(rest):
            yield rest[: found.end()]
            rest = rest[found.end() :]
        if len(rest) > LONGEST_WORD:
            raise UserError(
                f"{name}: more than {LONGEST_WORD:,} characters without a blank or a line end "
                "between them, which takes a tokenizer too long; put some in"
            )
    yield rest


def cut(text: str) -> Iterator[str]:
    """Parts of a text that is in memory, for `pieces`."""
    return (text[begin : begin + PIECE] for begin in range(0, len(text), PIECE))


class Split(TypedDict):
    """What a manifest of texts says of a split."""

    file: str
    bytes: NotRequired[int]
    sha256: str


TEXTS = {"splits": dict[str, Split]}


def _manifest(path: Path) -> dict:
    return read_sealed(path, kind=TEXTS)


def split_or_nearest(manifest_path: Path, split: str) -> str:
    """`split` if a prepared text dataset has it, otherwise the dataset's last split."""
    splits = list(_manifest(manifest_path)["splits"])
    return split if split in splits else splits[-1]


def split_file(manifest_path: Path, split: str) -> Path:
    """The file of a split of a prepared text dataset; raises UserError if it is not the
    manifest's."""
    entry = _manifest(manifest_path)["splits"][split]
    path = Path(manifest_path).parent / entry["file"]
    return vouched(path, entry["sha256"], manifest_path)


def read_split(manifest_path: Path, split: str) -> str:
    """A split of a prepared text dataset; raises UserError as `split_file`."""
    return split_file(manifest_path, split).read_bytes().decode()


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
