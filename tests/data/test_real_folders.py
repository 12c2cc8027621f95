"""Folders as the publishers lay them out, read by the command line and built into figures.

Copies true to format, but small: columns, names and what lies beside the data are the publishers'.
"""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from workflow import SMOKE, build

from repro.lineage.arithmetic import SETTINGS
from repro.lineage.checkout import ROOT

pytestmark = pytest.mark.slow

FINEWEB = {  # the hub's columns beside the text
    "id": "<urn:uuid:0>",
    "dump": "CC-MAIN-2013-20",
    "url": "http://example.org",
    "file_path": "s3://commoncrawl/x.warc.gz",
    "language": "en",
    "language_score": 0.9,
    "token_count": 100,
    "score": 3.1,
    "int_score": 3,
}
CCNEWS = {
    "title": "A title",
    "domain": "example.org",
    "date": "2019-01-01 00:00:00",
    "description": "",
    "url": "http://example.org",
    "image_url": None,
}
SYNSETS = [f"n0{1_440_764 + c}" for c in range(8)]


@pytest.fixture(scope="session")
def documents(small_text):
    """Articles of some sentences, and an empty one, as there are on the hub."""
    lines = [line + " ." for line in small_text.replace(" . ", " .\n").splitlines()]
    articles = [" ".join(lines[i : i + 5]) for i in range(0, len(lines), 5)]
    return [*articles[:40], "", *articles[40:]]


def in_splits(documents):
    """A fifth of the documents are held out."""
    part = len(documents) // 5
    return {"train": documents[part:], "valid": documents[:part]}


def write_parquet(folder, documents, columns):
    """A train and a validation shard with all the hub's columns."""
    for name, texts in in_splits(documents).items():
        table = {"text": texts} | {key: [value] * len(texts) for key, value in columns.items()}
        pq.write_table(pa.table(table), folder / f"{name}-00000-of-00001.parquet")


def write_json_lines(folder, documents):
    for name, texts in in_splits(documents).items():
        lines = (json.dumps({"text": text, **FINEWEB}) + "\n" for text in texts)
        (folder / f"{name}.jsonl").write_text("".join(lines))


def write_lines(folder, documents):
    for name, texts in in_splits(documents).items():
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))


def table():
    from repro.data.synthetic_table import cover_table

    return "".join(",".join(map(str, row)) + "\n" for row in cover_table(6_000))


def write_kaggle(folder):
    from data.covtype import FEATURES, LABEL

    header = ",".join(["Id", *FEATURES, LABEL])
    rows = "".join(f"{i},{line}\n" for i, line in enumerate(table().splitlines(), 1))
    (folder / "train.csv").write_text(f"{header}\n{rows}")


def write_images(folder):
    """Synsets with a picture in grey and one that is a PNG by content; what a Mac and a download
    leave beside them."""
    rng = np.random.default_rng(0)
    for c, synset in enumerate(SYNSETS):
        for split, count in (("train", 24), ("val", 8)):
            place = folder / split / synset
            place.mkdir(parents=True)
            for i in range(count):
                pixels = rng.integers(0, 256, (48, 60, 3), dtype=np.uint8)
                image = Image.fromarray(pixels).convert("L" if i == 1 else "RGB")
                kind = "PNG" if i == 2 else "JPEG"
                image.save(place / f"{synset}_{split}_{c}_{i}.JPEG", format=kind)
            (place / ".DS_Store").write_bytes(b"\0")
    (folder / "ILSVRC2012_devkit_t12").mkdir()


def write_cifar(folder):
    rng = np.random.default_rng(0)
    for name, rows in (("train", 600), ("test", 300)):
        images = rng.integers(0, 256, size=(rows, 3, 32, 32), dtype=np.uint8)
        np.savez(folder / f"{name}.npz", images=images, labels=np.arange(rows) % 100)


FOLDERS = {  # kind -> (dataset, what writes the folder, given the documents)
    "UCI": ("covtype", lambda f, d: (f / "covtype.data").write_text(table())),
    "UCI, gz": (
        "covtype_long",
        lambda f, d: (f / "covtype.data.gz").write_bytes(gzip.compress(table().encode())),
    ),
    "Kaggle": ("covtype", lambda f, d: write_kaggle(f)),
    "arrays": ("cifar100", lambda f, d: write_cifar(f)),
    "synsets": ("imagenet", lambda f, d: write_images(f)),
    "FineWeb's parquet": ("fineweb_edu", lambda f, d: write_parquet(f, d, FINEWEB)),
    "CC-News's parquet": ("ccnews", lambda f, d: write_parquet(f, d, CCNEWS)),
    "JSON lines": ("fineweb", lambda f, d: write_json_lines(f, d)),
    "lines": ("fineweb_head", lambda f, d: write_lines(f, d)),
}
CORPORA = ("fineweb", "fineweb_edu", "fineweb_head", "ccnews")


def made(kind, folder, documents):
    """The dataset of a kind of folder, which is written."""
    name, write = FOLDERS[kind]
    folder.mkdir(parents=True)
    write(folder, documents)
    return name


def repro(*words, directory):
    """Carry out a command in a process of its own, that no library was loaded in before."""
    env = {name: value for name, value in os.environ.items() if name not in SETTINGS["avx2"]}
    call = [sys.executable, "-P", "-m", "repro", *words]
    env |= {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(call, cwd=directory, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", FOLDERS)
def test_every_kind_of_folder_is_read_by_the_commands(kind, tmp_path, documents):
    name = made(kind, tmp_path / "folder", documents)
    config = ["--config", f"{name}={tmp_path / 'folder'}", "scale=smoke"]
    repro("fetch", name, *config, directory=tmp_path)
    assert list((tmp_path / "resources" / name).glob("*/manifest.json"))
    if name in CORPORA:
        repro("fetch", name, "300", *config, directory=tmp_path)
        (tokens,) = (tmp_path / "resources" / name).glob("*/bpe-300-*/tokens.json")
        assert {path.name.split("-")[0] for path in tokens.parent.iterdir()} > {"train", "valid"}


BUILT = {  # kind of folder -> a figure whose runs read it
    "UCI": "upscaling/fig7",
    "arrays": "upscaling/fig9",
    "synsets": "effective_theory/fig1",
    "CC-News's parquet": "effective_theory/fig3",
    "JSON lines": "upscaling/fig11",
    "FineWeb's parquet": "embedding_lr/fig5",
}


@pytest.mark.parametrize("kind", BUILT)
def test_a_figure_is_built_of_a_publisher_s_files(kind, tmp_path, documents, text_folder):
    name = made(kind, tmp_path / "folder", documents)
    folders = [f"{name}={tmp_path / 'folder'}"]
    folders += [f"wikitext2={text_folder}"] if BUILT[kind].startswith("embedding_lr") else []
    target = f"figures/{BUILT[kind]}.pdf"
    build(target, *SMOKE, *folders, directory=tmp_path / "built")
    assert (tmp_path / "built" / target).stat().st_size > 1_000
    assert list((tmp_path / "built" / "results" / "smoke").glob(f"*{name}=folder-*"))
