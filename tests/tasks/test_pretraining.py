import shutil

import pytest
from golden import SPECS, corpus, text_inputs
from refusals import refused

from repro.__main__ import main
from repro.data.needs import Text, Tokens
from repro.data.random_data import random_data
from repro.files import read_json, read_sealed, write_sealed
from repro.tasks import TASKS
from repro.tasks.pretraining import beginning, load_text

pytestmark = pytest.mark.long

SPEC = SPECS["pretraining"]
ALONE = SPEC["data"] | {"text": None}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return text_inputs(tmp_path_factory.mktemp("golden"))


@pytest.fixture
def train(inputs, tmp_path):
    """A call that carries out the golden run with some settings changed."""

    def run(**changes):
        return TASKS["pretraining"].run(
            SPEC | changes,
            inputs=inputs,
            device="cpu",
            progress=lambda step, loss: None,
            checkpoint=tmp_path / "state",
        )

    return run


def rates(factor, power):
    spec = SPEC | {"data": ALONE, "embedding_lr": {"factor": factor, "power": power}}
    training = TASKS["pretraining"].build(spec, random_data(spec, "meta"), "meta")
    names = {id(p): name for name, p in training.model.named_parameters()}
    return {
        names[id(p)]: (group["lr"], group["weight_decay"])
        for group in training.optimizer.param_groups
        for p in group["params"]
    }


def test_the_ratio_changes_the_embedding_s_rate_and_nothing_else():
    plain, fast = rates(1, 0), rates(2, 0.5)
    assert plain.pop("embedding.weight") == (0.01, 0.0)
    assert fast.pop("embedding.weight") == pytest.approx((0.01 * 2 * 16**0.5, 0.0))
    assert plain == fast
    assert {lr for lr, _ in plain.values()} == {0.01}
    assert all(bool(decay) == ("norm" not in name) for name, (_, decay) in plain.items())


def test_ratio_1_is_the_conventional_training(train):
    plain = train(embedding_lr={"factor": 1.0, "power": 0.0})
    assert train(embedding_lr={"factor": 16**-0.5, "power": 0.5}) == plain
    assert train(embedding_lr={"factor": 1.0, "power": 0.5}) != plain


def test_parts_change_memory_and_nothing_else(train):
    for one, other in zip(train(microbatches=1), train(microbatches=4), strict=True):
        for key in ("train_loss", "word_perplexity"):
            assert one[key] == pytest.approx(other[key], rel=1e-4)


def test_bfloat16_is_near_float32(train):
    exact, rounded = train(), train(precision="bfloat16")
    assert rounded != exact
    assert rounded[-1]["train_loss"] == pytest.approx(exact[-1]["train_loss"], rel=0.02)


def test_a_diverged_run_has_infinite_records(train):
    last = train(lr=1e38, optimizer=SPEC["optimizer"] | {"weight_decay": 1e38})[-1]
    expected = {"step": 12, "tokens": 12 * 4 * 24, "ratio": 8.0, "words_split": "valid"}
    assert {key: last.pop(key) for key in expected} == expected
    assert set(last.values()) == {float("inf")}


def test_without_words_only_the_corpus_is_needed_and_evaluated(train):
    assert TASKS["pretraining"].needs(SPEC | {"data": ALONE}) == [Tokens("golden", 160)]
    with_words = train()
    for record in with_words:
        assert record.pop("words_split") == "valid" and record.pop("word_perplexity") > 1
    assert with_words == train(data=ALONE)


@pytest.fixture
def prepared(inputs, tmp_path):
    """The text and its tokens with a separator, as a streamed corpus has it."""
    manifest = tmp_path / "bpe" / "tokens.json"
    shutil.copytree(inputs[Tokens("golden", 160)].parent, manifest.parent)
    write_sealed(manifest, {**read_sealed(manifest), "separator": 1})
    return {Text("words"): corpus(tmp_path), Tokens("corpus", 160): manifest}


def test_words_are_counted_as_published_and_tokenized_as_the_corpus(prepared):
    words = {"dataset": "words", "split": "valid", "limit": None}
    tokens, count, split = load_text(words, Tokens("corpus", 160), prepared, "cpu")
    assert (count, split) == (4_000, "valid")
    assert tokens[0] == 1
    manifest = prepared[Tokens("corpus", 160)]
    assert len(tokens) - 1 == read_json(manifest)["tokens"]["valid"]


def test_of_a_text_without_the_split_the_last_one_is_taken_and_named(prepared):
    words = {"dataset": "words", "split": "test", "limit": 500}
    tokens, count, split = load_text(words, Tokens("corpus", 160), prepared, "cpu")
    assert split == "valid" and 500 <= count < 700 and len(tokens) > count


@pytest.mark.parametrize("need", [Text("words"), Tokens("corpus", 160)])
def test_a_changed_text_or_tokenizer_is_named(prepared, need):
    name = "train.txt" if isinstance(need, Text) else "tokenizer.json"
    path = prepared[need].parent / name
    path.write_text(path.read_text() + " ")
    words = {"dataset": "words", "split": "train", "limit": None}
    with refused(f"{name}: is missing or changed since it was written"):
        load_text(words, Tokens("corpus", 160), prepared, "cpu")


def test_the_beginning_is_whole_lines():
    text = "a b c\n\n d e\nf\n"
    assert beginning(text, None) == text
    assert beginning(text, 3) == "a b c\n"
    assert beginning(text, 4) == "a b c\n\n d e\n"
    assert beginning(text, 99) == text


@pytest.mark.slow
def test_a_job_without_its_shard_names_corpus_shard_and_the_way_out(suite, capsys):
    (cell,) = suite.cells("embedding_lr/pretraining/ratios")
    (need,) = suite.needs(cell)
    manifest = suite.paths.tokens(need)
    config = ["--config", *suite.config.arguments()]
    make = ["fetch", need.dataset, str(need.vocab_size), *config]
    assert main(["fetch", need.dataset, *config]) == 0 and main(make) == 0
    shard = manifest.parent / "valid-00000.npy"
    before = shard.read_bytes()
    for damage in (lambda: shard.write_bytes(before[:-2] + b"xx"), shard.unlink):
        damage()
        assert main(["train", cell.study, cell.name, *config]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ") and f"resources/fineweb_edu/{manifest.parts[2]}" in line
        assert shard.name in line and f"delete {manifest} and run the same command again" in line
    manifest.unlink()
    assert main(make) == 0 and shard.read_bytes() == before
