"""Span denoising: exact invariants, its law, blocks. tests/training/test_fairseq.py holds it
against fairseq's."""

import itertools
import math
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from filelock import FileLock
from refusals import refused

from repro.data import cutting, denoising
from repro.data.cutting import cut
from repro.data.denoising import (
    BEGIN,
    END,
    FIRST,
    PADDING,
    Denoising,
    DenoisingBatches,
    Vocabulary,
    sample_keys,
    vocabulary,
)
from repro.data.shards import ShardedTokens
from repro.files import sha256_file
from repro.tasks.transfer import targets

STOP = 4  # in the model's ids
WORDS = {".": 0, "Ġa": 1, "Ġb": 2, "c": 3, "d": 4, "Ġe": 5}
WHOLE = vocabulary(WORDS)
# Many distinct tokens, so that each can be followed; a fifth go on with a word.
LARGE = vocabulary({".": 0} | {(f"t{i}" if i % 5 == 0 else f"Ġt{i}"): i for i in range(1, 3_000)})
EVERY = Vocabulary(LARGE.size, LARGE.mask, np.ones(LARGE.size, dtype=bool), LARGE.full_stop)


def blocks(lengths, rng, stops=0.08, names=LARGE):
    """Padded blocks of distinct words, with full stops."""
    width = max(lengths)
    tokens = np.full((len(lengths), width), PADDING)
    for row, length in zip(tokens, lengths, strict=True):
        words = rng.choice(np.arange(FIRST + 1, FIRST + 3_000), length - 2, replace=False)
        words[rng.random(length - 2) < stops] = STOP
        row[:length] = [BEGIN, *words, END]
    return tokens, np.array(lengths)


def keys(count, seed=0, epoch=0):
    return sample_keys(seed, epoch, np.arange(count))


def noise(names=LARGE, share=0.3, span_mean=3.0, longest=10_000):
    return Denoising(names, share, span_mean, longest)


def content(row):
    return row[row != PADDING].tolist()


def sentences(row):
    """Sentences of a row without its ends; a row of full stops counts as the next one's start."""
    words, found, start = content(row)[1:-1], [], 0
    for i, word in enumerate(words):
        if word == STOP and (i == 0 or words[i - 1] != STOP):
            found.append(tuple(words[start : i + 1]))
            start = i + 1
    return [*found, tuple(words[start:])] if start < len(words) else found


def test_gpt2_s_vocabulary_has_the_paper_s_size():
    assert denoising.denoising_vocabulary_size(50_257) == 50_265


def test_word_starts_and_full_stops_are_read_off_the_tokenizer():
    assert WHOLE.size == 17 and WHOLE.mask == 16
    start = dict(zip(WORDS, WHOLE.word_start[FIRST:], strict=False))
    assert start == {".": False, "Ġa": True, "Ġb": True, "c": False, "d": False, "Ġe": True}
    assert np.flatnonzero(WHOLE.full_stop).tolist() == [STOP]
    unmarked = vocabulary({".": 0, "a": 1, "Ġ": 2})
    assert unmarked.word_start.all()
    assert np.flatnonzero(vocabulary({"Ġ.": 0, "Ġa": 1}).full_stop).tolist() == [FIRST]


def test_sentences_are_permuted_and_nothing_else():
    rng = np.random.default_rng(0)
    tokens, lengths = blocks([100, 60, 12, 3] * 20, rng)
    before = tokens.copy()
    permuted = noise().permute(tokens, lengths, keys(80))
    np.testing.assert_array_equal(tokens, before)
    moved = 0
    for row, result in zip(tokens, permuted, strict=True):
        if STOP not in content(row)[-3:-1]:
            words = content(result)
            for sentence in sentences(row):
                if sentence[0] != STOP:
                    place = words.index(sentence[0])
                    assert tuple(words[place : place + len(sentence)]) == sentence
        assert sorted(content(row)) == sorted(content(result))
        assert result[0] == BEGIN and content(result)[-1] == END
        moved += not np.array_equal(row, result)
    assert moved >= 39


def test_every_order_of_three_sentences_is_as_likely():
    row = [BEGIN, 5, STOP, 6, 7, STOP, 8, 9, 10, STOP, END]
    tokens = np.tile(row, (12_000, 1))
    permuted = noise().permute(tokens, np.full(12_000, 11), keys(12_000))
    counts = Counter(map(tuple, permuted.tolist()))
    parts = [(5, STOP), (6, 7, STOP), (8, 9, 10, STOP)]
    expected = {(BEGIN, *sum(order, ()), END) for order in itertools.permutations(parts)}
    assert set(counts) == expected
    sigma = math.sqrt(12_000 / 6 * 5 / 6)
    assert all(abs(count - 2_000) < 4.5 * sigma for count in counts.values())


@pytest.mark.parametrize(
    ("words", "stays"),
    [([5, 6, 7], True), ([5, STOP], True), ([5, 6, STOP, STOP], True), ([STOP, 5, 6], False)],
)
def test_one_sentence_stays_and_odd_full_stops_do_not_break(words, stays):
    tokens = np.tile([BEGIN, *words, END], (50, 1))
    permuted = noise().permute(tokens, np.full(50, len(words) + 2), keys(50))
    assert (permuted == tokens).all() == stays
    assert (np.sort(permuted) == np.sort(tokens)).all()


@pytest.mark.parametrize("names", [LARGE, EVERY])
@pytest.mark.parametrize("span_mean", [0.3, 3.0, 40.0])
def test_what_is_outside_of_spans_stays_in_order(names, span_mean):
    """Every token that is no mask is one of the original's, in its order; ends stay ends."""
    rng = np.random.default_rng(1)
    tokens, lengths = blocks([200, 90, 31, 7, 3] * 10, rng, stops=0)
    source, new = noise(names, span_mean=span_mean).infill(tokens, lengths, keys(50))
    for row, result, length in zip(tokens, source, new, strict=True):
        assert (result[length:] == PADDING).all() and (result[:length] != PADDING).all()
        assert result[0] == BEGIN and result[length - 1] == END
        kept = [t for t in content(result) if t != names.mask]
        position = {t: i for i, t in enumerate(row)}
        places = [position[t] for t in kept]
        assert places == sorted(places) and len(set(places)) == len(places)


def test_a_span_covers_whole_words_and_leaves_one_mask():
    """Spans of one word each (mean 40, cut to a budget of one word): that word goes, whole."""
    a, b, c, d, e = (FIRST + WORDS[name] for name in ("Ġa", "Ġb", "c", "d", "Ġe"))
    row, m = [BEGIN, a, c, d, b, c, e, END], WHOLE.mask
    source, _ = noise(WHOLE, span_mean=40.0).infill(np.tile(row, (60, 1)), np.full(60, 8), keys(60))
    assert {tuple(content(r)) for r in source} == {
        (BEGIN, m, b, c, e, END),
        (BEGIN, a, c, d, m, e, END),
        (BEGIN, a, c, d, b, c, m, END),
    }


def test_a_block_without_a_word_start_is_left_alone():
    tokens = np.array([[BEGIN, FIRST + 3, FIRST + 4, END]])
    source, lengths = noise(WHOLE).infill(tokens, np.array([4]), keys(1))
    np.testing.assert_array_equal(source, tokens)
    assert lengths.tolist() == [4]


def test_the_budget_and_the_lengths_follow_the_law():
    budget = np.full(4_000, 60)
    lengths = noise().span_lengths(budget, keys(4_000))
    used = lengths >= 0
    assert (np.where(used, lengths, 0).sum(1) == 60).all()
    assert all(row[: used[i].sum()].min() >= 0 for i, row in enumerate(lengths))
    drawn = lengths[:, :12].ravel()  # 12 spans of mean 3 reach 60 with probability 1e-4
    n = len(drawn)
    for k in range(9):
        p = math.exp(-3) * 3**k / math.factorial(k)
        assert abs((drawn == k).sum() - n * p) < 4.5 * math.sqrt(n * p * (1 - p)) + 12


def test_a_budget_that_spans_cannot_reach_ends_at_the_block_s_end():
    """Spans of 40 words in blocks of at most 20: the budget is drawn, less is removed."""
    rng = np.random.default_rng(2)
    tokens, lengths = blocks([22, 12, 3] * 100, rng, stops=0)
    source, new = noise(EVERY, share=1.0, span_mean=40.0).infill(tokens, lengths, keys(300))
    assert (new >= 3).all() and (new <= lengths).all()
    removed = (lengths - 2)[::3] - (source[::3] > PADDING).sum(1) + 1
    assert removed.mean() < 0.9 * 20
    masks = (source == EVERY.mask).sum(1)
    assert (masks == 1).all(), "one draw fills the budget, and each span leaves one mask"


def test_masks_are_spans_where_spans_do_not_meet():
    """Mean span near 0: nearly every draw inserts; masks = inserted + single words."""
    rng = np.random.default_rng(3)
    tokens, lengths = blocks([50] * 40, rng, stops=0)
    denoise = noise(EVERY, span_mean=0.2)
    source, new = denoise.infill(tokens, lengths, keys(40))
    spans = denoise.span_lengths(np.full(40, 15), keys(40))
    masks = (source == EVERY.mask).sum(1)
    singles = ((spans == 1).sum(1), (spans > 1).sum(1))
    only = singles[1] == 0
    assert only.sum() >= 3
    np.testing.assert_array_equal(masks[only], (spans[only] >= 0).sum(1))
    np.testing.assert_array_equal(new[only], 50 + (spans[only] == 0).sum(1))


def test_a_corrupted_block_is_never_longer_than_the_model_takes():
    rng = np.random.default_rng(4)
    tokens, lengths = blocks([50, 20] * 20, rng, stops=0)
    source, new = noise(EVERY, span_mean=0.2, longest=50).infill(tokens, lengths, keys(40))
    assert source.shape[1] == new.max() == 50


def test_the_removed_share_is_below_the_nominal_one():
    """Spans that start inside others are the reason (fairseq's on English text: 26.8 %)."""
    rng = np.random.default_rng(5)
    tokens, lengths = blocks([512] * 300, rng, stops=0)
    source, _ = noise(EVERY).infill(tokens, lengths, keys(300))
    kept = ((source > PADDING) & (source != EVERY.mask) & (source != END)).sum(1)
    removed = 1 - kept / 510
    assert 0.255 < removed.mean() < 0.28
    assert removed.max() <= 0.301


def test_noise_is_a_function_of_seed_epoch_and_block():
    rng = np.random.default_rng(6)
    tokens, lengths = blocks([80, 33, 60, 12], rng)

    def corrupted(rows, seed=0, epoch=0, width=80):
        key = sample_keys(seed, epoch, np.array(rows))
        source, _ = noise()(tokens[rows, :width], lengths[rows], key)
        return [content(row) for row in source]

    together = corrupted([0, 1, 2, 3])
    assert corrupted([2, 0]) == [together[2], together[0]]
    assert corrupted([1, 3], width=40) == [together[1], together[3]], "padding draws nothing"
    assert corrupted([0, 1, 2, 3], epoch=1) != together != corrupted([0, 1, 2, 3], seed=1)
    twice = noise()(tokens[[0, 0]], lengths[[0, 0]], sample_keys(0, 0, np.array([0, 1])))[0]
    assert content(twice[0]) != content(twice[1])


def test_the_noise_s_bytes_are_frozen():
    """A change of the random stream changes every run: raise the version of `span_denoising`."""
    tokens = np.array([[BEGIN, 5, 6, STOP, 7, 8, STOP, 9, 10, 11, END]])
    source, _ = noise(EVERY)(tokens, np.array([11]), sample_keys(3, 1, np.array([2])))
    assert source.tolist() == FROZEN


FROZEN = [[0, 9, 3008, 11, 3008, 8, 4, 5, 6, 3008, 2]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vocabulary(10, 10, np.ones(10), np.ones(10)), r"of 10 has no token \[mask\]"),
        (lambda: noise(share=1.5), "mask_share 1.5 is not a share"),
        (lambda: noise(span_mean=0.0), "span_mean 0.0 is not above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with refused(message):
        make()


# Blocks

STOPS = np.array([True] + [False] * 19)


def spell(tokens, separator, longest):
    first, end = cut(np.array(tokens), separator, STOPS, longest)
    return [tokens[a:b] for a, b in zip(first, end, strict=True)]


def test_blocks_are_whole_sentences_of_one_document():
    one, two = [1, 2, 0, 3, 0, 4, 5, 6, 0, 7], [8, 0]
    assert spell([*one, 9, *two, 9], 9, 5) == [[1, 2, 0, 3, 0], [4, 5, 6, 0, 7], [8, 0]]
    assert spell([*one, 9, *two, 9], 9, 4) == [[1, 2, 0], [3, 0], [4, 5, 6, 0], [7], [8, 0]]
    assert spell([*one, 9, *two, 9], 9, 100) == [one, two]


def test_a_sentence_longer_than_a_block_is_cut_and_a_short_text_is_one_block():
    assert spell([1, 2, 3, 4, 5, 6, 7, 0, 8, 0], None, 3) == [[1, 2, 3], [4, 5, 6], [7, 0], [8, 0]]
    assert spell([1, 2], None, 510) == [[1, 2]]


def test_rows_of_full_stops_and_empty_documents():
    assert spell([9, 9, 1, 0, 0, 9, 9, 2, 9], 9, 2) == [[1, 0], [0], [2]]
    assert spell([0, 0, 1, 0], None, 2) == [[0], [0, 1], [0]]


def test_blocks_hold_every_token_of_a_long_text_once():
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 20, 5_000)
    parts = spell(tokens.tolist(), 19, 12)
    assert list(itertools.chain(*parts)) == [t for t in tokens.tolist() if t != 19]
    assert max(map(len, parts)) == 12


# Batches


@pytest.fixture
def batches():
    rng = np.random.default_rng(0)
    names = vocabulary({".": 0, "|": 1} | {f"w{i}": i for i in range(2, 40)})
    tokens = rng.integers(0, 40, 4_000).astype(np.uint16)

    def make(tokens=ShardedTokens([tokens[:2_500], tokens[2_500:]]), seed=3, separator=1):  # noqa: B008
        denoise = Denoising(names, 0.3, 3.0, 16)
        return DenoisingBatches("text", tokens, separator, denoise, 8, 16, seed, "cpu")

    return make


def test_what_is_to_be_predicted_is_every_token_of_every_block_without_padding(batches):
    made = batches()
    blocks, lengths = made.read(range(made.rows))
    counts = torch.bincount(targets(made))
    assert counts[PADDING] == 0 and counts[BEGIN] == counts[END] == made.rows
    assert counts.sum() == lengths.sum() == (blocks != PADDING).sum()


def test_a_batch_is_corrupted_shifted_and_original(batches):
    for source, previous, target, total in itertools.islice(batches().from_step(0), 9):
        assert total.tolist() == [int((target != PADDING).sum())] * 8
        assert source.dtype == previous.dtype == target.dtype == torch.int64
        assert len(source) == len(target) == 8 and previous.shape == target.shape
        assert (target[:, 0] == BEGIN).all() and (previous[:, 0] == END).all()
        for s, p, t in zip(source, previous, target, strict=True):
            t = t[t != PADDING]
            assert p[p != PADDING].tolist() == [END, *t[:-1].tolist()]
            assert t[-1] == END and (t[1:-1] >= FIRST).all()
            assert set(s.tolist()) <= {*t.tolist(), PADDING, 48}


def test_targets_are_the_text_s_own_blocks(batches):
    made = batches()
    rows = [
        tuple(content(r))
        for b in itertools.islice(made.from_step(0), made.per_epoch)
        for r in b[2].numpy()
    ]
    assert len(set(rows)) > 0.9 * len(rows)
    own = {tuple(content(made.read([i])[0][0])) for i in range(made.rows)}
    assert set(rows) <= own


def test_a_batch_is_the_same_whatever_came_before(batches):
    far = batches().per_epoch * 2 + 3
    steps = batches().from_step(far - 2)
    next(steps), next(steps)
    for one, other in zip(next(steps), next(batches().from_step(far)), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(next(batches().from_step(0))[2], next(batches(seed=4).from_step(0))[2])


def test_how_many_batches_are_corrupted_at_a_time_changes_none(batches, monkeypatch):
    count = 2 * batches().per_epoch + 3
    together = list(itertools.islice(batches().from_step(0), count))
    monkeypatch.setattr(denoising, "AHEAD", 1)
    for ones, others in zip(together, batches().from_step(0), strict=False):
        for one, other in zip(ones, others, strict=True):
            assert torch.equal(one, other)


def test_another_epoch_has_other_noise(batches):
    made = batches()

    def noise_of(epoch):
        found = {}
        for source, _, target, _ in itertools.islice(
            made.from_step(epoch * made.per_epoch), made.per_epoch
        ):
            for s, t in zip(source.numpy(), target.numpy(), strict=True):
                found[tuple(content(t))] = content(s)
        return found

    first, second = noise_of(0), noise_of(1)
    both = set(first) & set(second)
    assert len(both) > 50
    assert sum(first[t] == second[t] for t in both) < 0.3 * len(both)


def test_too_short_a_text_names_the_dataset(batches):
    with refused("text: 20 tokens make . blocks of at most 16, fewer"):
        batches(np.arange(20, dtype=np.uint16))


# Cuts beside shards


@pytest.fixture
def stored(tmp_path, batches):
    """Shards in files, a reader of them, and the names of the shards that were cut."""
    rng = np.random.default_rng(1)
    parts = [rng.integers(0, 40, size).astype(np.uint16) for size in (2_500, 1_500, 1_700)]
    for i, part in enumerate(parts):
        np.save(tmp_path / f"train-{i:05d}.npy", part)

    def read(seed=3, separator=1, folder=tmp_path):
        paths = sorted(folder.glob("train-?????.npy"))
        maps = [np.load(path, mmap_mode="r") for path in paths]
        return batches(ShardedTokens(maps, [sha256_file(p) for p in paths]), seed, separator)

    return parts, read


@pytest.fixture
def cuts_made(monkeypatch):
    made = []
    monkeypatch.setattr(cutting, "cut", lambda *a, real=cut: made.append(len(a[0])) or real(*a))
    return made


def test_a_text_is_cut_once_for_all_starts_and_processes(stored, cuts_made, batches):
    parts, read = stored
    fresh, again = read(), read(seed=4)
    assert cuts_made == [2_500, 1_500, 1_700]
    in_memory = batches(ShardedTokens(parts))
    assert again.rows == fresh.rows == in_memory.rows
    for one, other in zip(
        itertools.islice(fresh.from_step(2), 2 * fresh.per_epoch),
        in_memory.from_step(2),
        strict=False,
    ):
        assert all(map(torch.equal, one, other))
    assert all(cuts.dtype == np.int32 and not cuts.flags.owndata for cuts in again.cuts)


def test_what_is_kept_of_other_settings_or_another_shard_is_made_anew(stored, cuts_made, tmp_path):
    _, read = stored
    rows = read().rows
    cuts_made.clear()
    assert read(separator=2).rows != rows
    assert cuts_made == [2_500, 1_500, 1_700]
    cuts_made.clear()
    np.save(tmp_path / "train-00001.npy", np.arange(900, dtype=np.uint16) % 40)
    read(separator=2)
    assert cuts_made == [900]
    cuts_made.clear()
    damaged = tmp_path / "train-00002.blocks-14.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    (tmp_path / "train-00000.blocks-14.json").write_text("{ cut")
    read(separator=2)
    assert cuts_made == [2_500, 1_700]


def test_processes_share_the_cutting(stored, cuts_made, tmp_path):
    """While another is at the first shard, the others are cut; then it is waited for."""
    _, read = stored
    other = FileLock(tmp_path / ".train-00000.blocks-14.npy.lock")
    with ThreadPoolExecutor() as pool:
        with other:
            reading = pool.submit(read)
            while len(list(tmp_path.glob("*.blocks-14.json"))) < 2:
                assert not reading.done()
                time.sleep(0.01)
            assert cuts_made == [1_500, 1_700] and not reading.done()
        assert reading.result(timeout=60).rows > 300
    assert cuts_made == [1_500, 1_700, 2_500]


def test_a_folder_that_cannot_be_written_is_cut_in_memory(stored, cuts_made, monkeypatch, tmp_path):
    _, read = stored

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("filelock.FileLock", refuse)
    assert read().rows == read().rows > 300
    assert len(cuts_made) == 6 and not list(tmp_path.glob("*.blocks-14.*"))


def test_a_disk_that_is_full_loses_no_cut_that_was_made(stored, cuts_made, monkeypatch, tmp_path):
    _, read = stored

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.save", refuse)
    assert read().rows > 300
    assert len(cuts_made) == 3 and not list(tmp_path.glob("*.blocks-14.*"))


def test_windows_change_no_block(monkeypatch):
    rng = np.random.default_rng(0)
    for separator in (19, None):
        tokens = rng.integers(0, 20, 5_000)
        whole = spell(tokens.tolist(), separator, 12)
        for window in (1, 7, 40, 999):
            monkeypatch.setattr(cutting, "WINDOW", window)
            assert spell(tokens.tolist(), separator, 12) == whole
        monkeypatch.undo()
