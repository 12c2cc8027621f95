"""Manifests of what is prepared under resources/ are sealed: no change of one goes unnoticed."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from refusals import refused

from repro.data.arrays import load_arrays
from repro.data.image_folder import load_index
from repro.data.needs import Tokens
from repro.data.prepare import prepare, tokenize
from repro.data.source import Source
from repro.data.text import read_split
from repro.data.tokenization import load_tokenizer, load_tokens
from repro.files import json_bytes, read_sealed, sha256
from repro.lineage.provenance import input_digests

ROWS = {"inputs": np.zeros((2, 3)), "labels": np.arange(2)}
KINDS = ("text", "tokens", "arrays", "images")


@pytest.fixture
def manifests(tmp_path, small_text):
    """Kind -> (manifest of a prepared dataset, what reads it)."""
    for split in ("train", "val"):
        for name in "ab":
            (tmp_path / "images" / split / name).mkdir(parents=True)
            image = Image.new("RGB", (2, 2), "red" if split == "train" else "blue")
            image.save(tmp_path / "images" / split / name / "1.png")

    def made(kind, **module):
        manifest = tmp_path / kind / "manifest.json"
        module = SimpleNamespace(__name__=f"data.{kind}", **module)
        prepare(module, Source("embedded"), {"source": "embedded"}, manifest)
        return manifest, module

    text, module = made("text", splits=lambda source: {"train": small_text})
    tokens = tmp_path / "tokens" / "tokens.json"
    tokenize(module, Source("embedded"), text, Tokens("text", 300), tokens)
    arrays, _ = made("arrays", arrays=lambda source: {"train": ROWS})
    images, _ = made("images", image_folder=lambda source: tmp_path / "images")
    return {
        "text": (text, lambda path: read_split(path, "train")),
        "tokens": (tokens, load_tokens),
        "arrays": (arrays, load_arrays),
        "images": (images, lambda path: load_index("images", path)),
    }


HARM = {
    "edited": lambda text: text.replace('"source": "embedded"', '"source": "real"').replace(
        '"vocab_reached": 300', '"vocab_reached": 299'
    ),
    "empty": lambda text: "",
    "an empty object": lambda text: "{}",
    "a list": lambda text: "[1]",
    "cut": lambda text: text[: len(text) // 2],
    "without its seal": lambda text: json.dumps({**json.loads(text), "seal": None}),
    "from before there were seals": lambda text: json.dumps(
        {key: value for key, value in json.loads(text).items() if key != "seal"}
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_manifest_is_one_line_that_names_it(manifests, kind):
    path, read = manifests[kind]
    whole = path.read_text()
    read(path)
    for harm in HARM.values():
        path.write_text(harm(whole))
        for use in (read, lambda path: input_digests({Tokens("text", 300): path})):
            with refused() as caught:
                use(path)
            message = str(caught.value)
            assert message.startswith(f"{path}: ")
            assert message.endswith("delete it and run the same command again")


def test_a_tokenizer_s_manifest_is_held_too(manifests):
    path, _ = manifests["tokens"]
    path.write_text(HARM["edited"](path.read_text()))
    with refused("was changed after it was written"):
        load_tokenizer(path)


@pytest.mark.parametrize("kind", KINDS)
def test_runs_made_before_manifests_were_sealed_read_the_same(manifests, kind):
    """A finished run is taken over by this digest, then that of a file without a seal."""
    path, _ = manifests[kind]
    before = json.loads(path.read_text())
    del before["seal"]
    assert input_digests({Tokens("text", 300): path}) == {"text/300": sha256(json_bytes(before))}
    assert read_sealed(path) == before
