"""Validation data that a run trains on are refused by name, also where rows were copied."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from refusals import refused

from data import cifar100, covtype, imagenet, wikitext2
from repro.data import prepare
from repro.data.corpus import Corpus
from repro.data.image_folder import list_folder, survey
from repro.data.needs import Tokens
from repro.data.source import Source
from repro.data.synthetic_table import cover_table


def fetch(module, folder):
    prepare.prepare(module, Source("folder", folder), {}, folder / "out" / "manifest.json")


def test_a_text_beside_itself(text_folder):
    shutil.copy(text_folder / "train.txt", text_folder / "test.txt")
    with refused(r"^wikitext2: .*test.txt is the same as .*train.txt"):
        fetch(wikitext2, text_folder)


def test_a_text_of_train_s_lines(text_folder, small_text, capsys):
    """By its lines, whatever their order, but for short ones."""
    lines = small_text.splitlines()
    own = [f"line {i} is in the validation split and nowhere else" for i in range(len(lines))]
    (text_folder / "valid.txt").write_text("\n".join(lines[:0:-2] + own[: len(lines) // 3]))
    with refused("^wikitext2: more than half of the .* rows of valid are"):
        fetch(wikitext2, text_folder)
    (text_folder / "valid.txt").write_text("\n".join(lines[:10] + own[:90]))
    fetch(wikitext2, text_folder)
    said = "wikitext2: 10 of the 100 different rows of valid are rows of train too\n"
    assert capsys.readouterr().out == said
    (text_folder / "valid.txt").write_text("= Heading =\n" * 9 + own[0])
    (text_folder / "train.txt").write_text("= Heading =\n" + own[1])
    fetch(wikitext2, text_folder)
    assert capsys.readouterr().out == ""


def test_a_table_with_every_row_several_times(tmp_path):
    table = np.repeat(cover_table(500), 3, axis=0)
    np.savetxt(tmp_path / "covtype.data", table, delimiter=",", fmt="%d")
    with refused("^covtype: more than half of the .* rows of valid are"):
        fetch(covtype, tmp_path)


def test_images_in_both_splits(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (8, 3, 32, 32), dtype=np.uint8)
    for name, rows in (("train", images), ("test", images[::-1])):
        np.savez(tmp_path / f"{name}.npz", images=rows, labels=np.arange(8))
    with refused("^cifar100: more than half of the 8 different rows"):
        fetch(cifar100, tmp_path)


@pytest.fixture
def photographs(tmp_path):
    for number, name in enumerate("abcd"):
        (tmp_path / "train" / name).mkdir(parents=True)
        Image.new("RGB", (2, 2), (number, 0, 0)).save(tmp_path / "train" / name / "1.png")
    list_folder.cache_clear()
    survey.cache_clear()
    return tmp_path


def test_a_link_to_train_or_a_copy_of_it(photographs):
    (photographs / "val").symlink_to(photographs / "train")
    said = "^imagenet: 4 images of .*val are those of train; give val images"
    with refused(said):
        fetch(imagenet, photographs)
    (photographs / "val").unlink()
    shutil.copytree(photographs / "train", photographs / "val")
    list_folder.cache_clear()
    survey.cache_clear()
    with refused(said):
        fetch(imagenet, photographs)


def test_other_images_of_the_same_names_and_sizes(photographs):
    shutil.copytree(photographs / "train", photographs / "val")
    for number, path in enumerate(sorted(photographs.glob("val/*/1.png"))):
        Image.new("RGB", (2, 2), (0, number + 1, 0)).save(path)
    fetch(imagenet, photographs)


@pytest.fixture
def corpus(tmp_path):
    return Corpus("own", "", "", "", "", None, tmp_path / "lock", {}, {}, 10, 1_000)


def documents(path, numbers):
    """A document a line."""
    path.write_text("".join(f"document number {n} of some forty characters\n" for n in numbers))


def test_a_file_of_documents_twice(tmp_path, corpus):
    names = ("valid", "train-00", "train-01")
    valid, *train = (tmp_path / f"{name}.jsonl" for name in names)
    for path, count in ((valid, 3), (train[0], 9), (train[1], 3)):
        documents(path, range(count))
    with refused(r"^own: .*valid.jsonl is the same as .*train-01.jsonl"):
        fetch(SimpleNamespace(__name__="data.own", CORPUS=corpus), tmp_path)


def test_documents_of_valid_among_those_of_train(tmp_path, corpus, capsys):
    source = Source("folder", tmp_path)
    documents(tmp_path / "valid.txt", range(10))
    documents(tmp_path / "train.txt", range(4, 40))
    need, tokens = Tokens("own", 300), tmp_path / "out" / "tokens.json"
    for _ in range(2):  # again, as nothing of train was finished
        with refused("^own: more than half of the 10 different rows"):
            prepare.tokenize_stream(corpus, source, need, tokens)
    documents(tmp_path / "train.txt", range(5, 40))
    prepare.tokenize_stream(corpus, source, need, tokens)
    said = capsys.readouterr().out
    assert "own: 5 of the 10 different rows of valid are rows of train too" in said
