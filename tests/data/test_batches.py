import numpy as np
import pytest
import torch
from refusals import refused

from repro.data import batches
from repro.data.augmentation import CropFlip, Normalize, image_statistics, pool
from repro.data.batches import ArrayBatches, Epochs, OrderedBatches, TokenBatches
from repro.data.shards import ShardedTokens
from repro.tasks import token_frequencies


def draw(batches, count, start=0):
    return [batch for batch, _ in zip(batches.from_step(start), range(count), strict=False)]


def rows(count=20, batch_size=6, seed=0, transform=None):
    inputs = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
    return ArrayBatches(
        "table", inputs, np.arange(count, dtype=np.int32), batch_size, seed, "cpu", transform
    )


def test_every_row_comes_once_an_epoch_with_its_label():
    source = rows()
    assert source.per_epoch == 3
    seen = []
    for x, y in draw(source, 3):
        assert x.shape == (6, 3) and y.dtype == torch.int64
        assert torch.equal(x[:, 0], 3.0 * y)
        seen += y.tolist()
    assert len(set(seen)) == 18


def test_a_batch_of_rows_depends_on_seed_and_number_alone():
    stream = draw(rows(), 9)
    for step in (0, 2, 3, 8):
        assert torch.equal(next(rows().from_step(step))[1], stream[step][1])
    assert not torch.equal(draw(rows(seed=1), 1)[0][1], stream[0][1])
    assert not torch.equal(stream[3][1], stream[0][1]), "the second epoch has another order"


def test_fewer_rows_than_a_batch_are_named():
    with refused("table: 5 rows are fewer than one batch of 6"):
        rows(count=5)


def test_a_transform_is_given_the_batch_and_its_number():
    source = rows(transform=lambda x, step: torch.full_like(x, step))
    assert [float(x[0, 0]) for x, _ in draw(source, 5, start=2)] == [2, 3, 4, 5, 6]


def test_evaluation_reads_every_row_once_in_order_again_and_again():
    inputs, labels = np.arange(10, dtype=np.float32)[:, None], np.arange(10)
    batches = OrderedBatches(inputs, labels, 4, "cpu", transform=lambda x: -x)
    assert len(batches) == 3
    for _ in range(2):
        pairs = list(batches)
        assert torch.equal(torch.cat([y for _, y in pairs]), torch.arange(10))
        assert torch.equal(torch.cat([x for x, _ in pairs])[:, 0], -torch.arange(10.0))


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, size=(40, 3, 32, 32), dtype=np.uint8)


def test_statistics_are_those_of_every_channel(images):
    mean, std = image_statistics(images)
    flat = images.transpose(1, 0, 2, 3).reshape(3, -1) / 255
    np.testing.assert_allclose(mean, flat.mean(1))
    np.testing.assert_allclose(std, flat.std(1))
    normal = Normalize(mean, std, "cpu")(torch.from_numpy(images))
    assert normal.dtype == torch.float32
    torch.testing.assert_close(normal.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(normal.std((0, 2, 3)), torch.ones(3), atol=1e-4, rtol=0)


def test_a_crop_is_a_window_of_the_padded_image_or_its_mirror_image(images):
    """Held against torch's own pad, slice and flip, with every offset tried."""
    crop = CropFlip(4, lambda x: x, seed=3)
    batch = torch.from_numpy(images)
    found = crop(batch, step=5)
    padded = torch.nn.functional.pad(batch, [4] * 4)
    seen = set()
    for image, original in zip(found, padded, strict=True):
        matches = [
            (y, x, flip)
            for y in range(9)
            for x in range(9)
            for flip in (False, True)
            if torch.equal(
                image,
                (lambda w, f: w.flip(2) if f else w)(original[:, y : y + 32, x : x + 32], flip),
            )
        ]
        assert len(matches) == 1
        seen.add(matches[0])
    assert {flip for *_, flip in seen} == {False, True}
    assert len({y for y, *_ in seen}) > 4 and len({x for _, x, _ in seen}) > 4


def test_a_resumed_run_sees_the_same_crops(images):
    normalize = Normalize(*image_statistics(images), "cpu")
    labels = np.zeros(len(images), dtype=np.int64)

    def source(seed):
        return ArrayBatches("images", images, labels, 8, seed, "cpu", CropFlip(4, normalize, seed))

    stream = draw(source(0), 8)
    assert torch.equal(draw(source(0), 1, start=7)[0][0], stream[7][0])
    assert not torch.equal(draw(source(1), 1)[0][0], stream[0][0])


def test_crops_do_not_follow_the_order_of_the_rows():
    """Step and epoch of one number draw from streams of their own."""
    order = np.random.default_rng((0, 3)).integers(0, 9, size=64)
    crops = np.random.default_rng((0, 3, 1)).integers(0, 9, size=64)
    assert not np.array_equal(order, crops)


def test_pooling_averages_squares(images):
    pooled = pool(images, 16)
    assert pooled.shape == (40, 3, 16, 16) and pooled.dtype == np.uint8
    expected = torch.nn.functional.avg_pool2d(torch.from_numpy(images).double(), 2)
    assert np.abs(pooled - expected.numpy()).max() <= 0.5
    with pytest.raises(ValueError, match="resolution 12 does not divide 32 x 32"):
        pool(images, 12)


def sharded(*sizes):
    tokens = np.arange(sum(sizes), dtype=np.uint16)
    return ShardedTokens(np.split(tokens, np.cumsum(sizes)[:-1]))


def test_blocks_of_shards_never_cross_their_ends():
    """Shards of 26, 7 and 21 tokens hold 5, 1 and 4 blocks of 5."""
    source = TokenBatches("text", sharded(26, 7, 21), 5, 5, 0, "cpu")
    assert source.per_epoch == 2
    starts = []
    for x, y in draw(source, 2):
        assert x.dtype == torch.int64
        assert torch.equal(x + 1, y)
        starts += x[:, 0].tolist()
    assert sorted(starts) == [0, 5, 10, 15, 20, 26, 33, 38, 43, 48]


def test_one_shard_gives_the_batches_of_the_array():
    tokens = np.random.default_rng(0).integers(0, 500, size=400).astype(np.uint16)
    whole = draw(TokenBatches("text", tokens, 4, 7, 1, "cpu"), 40)
    shard = draw(TokenBatches("text", ShardedTokens([tokens]), 4, 7, 1, "cpu"), 40)
    for (x, y), (u, v) in zip(whole, shard, strict=True):
        assert torch.equal(x, u) and torch.equal(y, v)


def test_a_batch_of_shards_depends_on_seed_and_number_alone():
    def source():
        return TokenBatches("text", sharded(90, 60, 31), 4, 5, 2, "cpu")

    stream = draw(source(), 20)
    for step in (3, 8, 9, 19):
        assert torch.equal(next(source().from_step(step))[0], stream[step][0])


def test_shards_too_short_for_a_batch_say_so():
    with refused("text: 12 tokens make 2 blocks of 5, fewer than one batch"):
        TokenBatches("text", sharded(6, 6), 3, 5, 0, "cpu")


def test_an_order_of_many_rows_is_the_same_in_half_the_memory(monkeypatch):
    def orders():
        return [
            index for _, index in zip(range(5), Epochs(41, 8, 2)._from_step(3, "cpu"), strict=False)
        ]

    whole = orders()
    monkeypatch.setattr(batches, "HALVED", 41)
    halved = orders()
    assert [number for number, _ in halved] == [3, 4, 5, 6, 7]
    for (_, one), (_, other) in zip(whole, halved, strict=True):
        assert (one.dtype, other.dtype) == (torch.int64, torch.int32)
        assert torch.equal(one, other.long())


def test_token_frequencies_are_those_of_all_shards(monkeypatch):
    tokens = np.random.default_rng(0).zipf(1.5, 1_000).clip(1, 49).astype(np.uint16)
    shards = ShardedTokens([tokens[:400], tokens[400:]])

    def counted(found):
        manifest = {"vocab_reached": 50}
        monkeypatch.setattr(token_frequencies, "load_tokens", lambda path: (manifest, found))
        need = token_frequencies.Tokens("text", 50)
        data = {"dataset": "text", "vocab_size": 50, "tokenizer": "bpe"}
        settings = {"data": data, "split": "train", "points": 9}
        context = {"inputs": {need: None}, "device": None, "progress": None, "checkpoint": None}
        return token_frequencies.run(**settings, **context)

    assert counted({"train": shards}) == counted({"train": tokens})
