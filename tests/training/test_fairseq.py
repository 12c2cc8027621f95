"""Corruption, optimizer and training against fairseq's (optional extra `fairseq`)."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from repro import models
from repro.data import denoising
from repro.data.denoising import BEGIN, END, FIRST, PADDING, Denoising, sample_keys
from repro.tasks import span_denoising
from repro.training import clipping, loop
from repro.training.optimizer import make_groups, make_optimizer
from widthwise import parametrization

fairseq = pytest.importorskip("fairseq", reason="the extra `fairseq` is not installed")

# Corruption

BLOCKS, LENGTH, MOST = 600, 512, 12


@pytest.fixture(scope="module")
def names():
    """Three in four tokens start a word, as on English text."""
    entries = {".": 0} | {f"{'Ġ' if i % 4 else ''}t{i}": i for i in range(1, 5_000)}
    return denoising.vocabulary(entries)


@pytest.fixture(scope="module")
def blocks(names):
    """Blocks of distinct tokens, so that what a mask stands for can be read off."""
    rng = np.random.default_rng(0)
    words = [
        rng.permutation(np.arange(FIRST + 1, FIRST + 5_000))[: LENGTH - 2] for _ in range(BLOCKS)
    ]
    return np.array([[BEGIN, *row, END] for row in words])


def theirs(blocks, names, permute=0.0, seed=1):
    """fairseq's sources of the same blocks."""
    from fairseq.data import DenoisingDataset, Dictionary

    dictionary = Dictionary()
    for i in range(names.size - FIRST - 1):
        dictionary.add_symbol(str(i))
    mask = dictionary.add_symbol("<mask>")
    assert (mask, len(dictionary)) == (names.mask, names.size)

    class Fresh(torch.utils.data.Dataset):
        def __getitem__(self, index):
            return torch.tensor(blocks[index])

        def __len__(self):
            return len(blocks)

    dataset = DenoisingDataset(
        Fresh(),
        np.full(len(blocks), blocks.shape[1]),
        dictionary,
        mask,
        torch.from_numpy(names.word_start.astype(np.uint8)),
        shuffle=False,
        seed=seed,
        mask=0.3,
        mask_random=0.0,
        insert=0.0,
        rotate=0.0,
        permute_sentences=permute,
        bpe="gpt2",
        replace_length=1,
        mask_length="span-poisson",
        poisson_lambda=3.0,
    )
    dataset.full_stop_index = FIRST
    torch.manual_seed(seed)
    return [dataset[i]["source"].numpy() for i in range(len(blocks))]


def ours(blocks, names, method="infill"):
    """Our sources, without padding."""
    noise = Denoising(names, 0.3, 3.0, 10_000)
    length = np.full(len(blocks), blocks.shape[1])
    call = getattr(noise, method)
    source = call(blocks, length, sample_keys(0, 0, np.arange(len(blocks))))
    source = source[0] if isinstance(source, tuple) else source
    return [row[row != PADDING] for row in source]


def statistics(sources, blocks, mask):
    """Per block: share removed, masks, length, and how many lone masks stand for 0, 1, ... tokens
    (MOST and more in the last), how many stand beside others."""
    table = []
    for source, block in zip(sources, blocks, strict=True):
        kept = source != mask
        position = {int(token): i for i, token in enumerate(block)}
        places = np.array([position[int(token)] for token in source[kept]])
        masks_between = np.diff(np.flatnonzero(kept)) - 1
        removed = np.diff(places) - 1
        lone = np.bincount(np.minimum(removed[masks_between == 1], MOST), minlength=MOST + 1)
        removed_in_all = 1 - (kept.sum() - 2) / (len(block) - 2)
        assert not removed[masks_between == 0].any(), "tokens vanished without a mask"
        table.append([removed_in_all, (~kept).sum(), len(source), *lone, (masks_between > 1).sum()])
    return np.array(table, dtype=float)


def test_corruption_has_the_statistics_of_denoisingdataset(names, blocks):
    """Means per block of every statistic, within 4.5 standard errors of their difference."""
    found = [statistics(make(blocks, names), blocks, names.mask) for make in (ours, theirs)]
    means = [table.mean(0) for table in found]
    error = np.sqrt(sum(table.var(0, ddof=1) / len(table) for table in found))
    labels = ["removed", "masks", "length", *(f"runs of {i}" for i in range(MOST + 1)), "beside"]
    lines = [
        f"{label}: ours {a:.4f}, fairseq {b:.4f}, standard error {e:.4f}"
        for label, a, b, e in zip(labels, *means, error, strict=True)
    ]
    print("\n".join(lines))
    assert (np.abs(means[0] - means[1]) <= 4.5 * error + 1e-9).all(), lines
    spread = [table[:, 0].std() for table in found]
    assert spread[0] == pytest.approx(spread[1], rel=0.15)


def test_sentences_are_those_of_denoisingdataset(names):
    """Every order of the sentences, odd full stops included, is one that fairseq makes."""
    stop = FIRST
    for words in (
        [5, stop, 6, 7, stop, 8],
        [5, stop, stop, 6, stop],
        [stop, 5, 6],
        [5, 6, stop, 7],
    ):
        rows = np.tile([BEGIN, *words, END], (200, 1))
        mine = {tuple(row) for row in ours(rows, names, "permute")}
        noiseless = {tuple(row) for row in permuted_by_fairseq(rows, names)}
        assert mine == noiseless, words


def permuted_by_fairseq(rows, names):
    from fairseq.data import DenoisingDataset

    class Bare(DenoisingDataset):
        def __init__(self):
            self.full_stop_index = FIRST

    torch.manual_seed(0)
    return [Bare().permute_sentences(torch.tensor(row)).numpy() for row in rows]


# Optimizer


def test_adam_steps_are_fairseq_s():
    from fairseq.optim.adam import Adam

    gradients = torch.randn(30, 50, generator=torch.Generator().manual_seed(0)).double() * 1e-5
    start = torch.linspace(-1, 1, 50, dtype=torch.float64)
    settings = {"lr": 0.1, "betas": (0.9, 0.998), "eps": 1e-6, "weight_decay": 0.01}
    results = []
    for kind in ("ours", "theirs"):
        weights = start.clone().requires_grad_()
        if kind == "theirs":
            optimizer = Adam([weights], **settings)
        else:
            group = {"params": [weights]} | {k: v for k, v in settings.items() if k != "betas"}
            chosen = {"name": "adamw", "betas": settings["betas"], "eps_convention": "fairseq"}
            optimizer = make_optimizer([group], chosen)
        for gradient in gradients:
            weights.grad = gradient.clone()
            optimizer.step()
        results.append(weights.detach())
    torch.testing.assert_close(results[0], results[1], rtol=1e-12, atol=1e-14)


# Training

STEPS, WARMUP, DECAY = 50, 5, 0.01
MODEL = {
    "name": "bart",
    "width": 32,
    "depth": 2,
    "heads": 4,
    "expansion": 4,
    "base_width": 1,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "matrix_std": 0.1,
    "position_std": 0.1,
}
VOCABULARY = 49


def made_batches():
    """STEPS padded batches of a text with repetitions, as `DenoisingBatches` makes them."""
    names = denoising.vocabulary({".": 0} | {f"w{i}": i for i in range(1, 40)})
    assert names.size == VOCABULARY
    rng = np.random.default_rng(0)
    tokens = (rng.zipf(1.5, 12_000) % 40).astype(np.uint16)
    noise = Denoising(names, 0.3, 3.0, 24)
    batches = denoising.DenoisingBatches("text", tokens, None, noise, 8, 24, 0, "cpu")
    return [batch for batch, _ in zip(batches.from_step(0), range(STEPS), strict=False)]


def weights_for_fairseq(net):
    """Our weights under fairseq's names."""
    result = {}
    for side in ("encoder", "decoder"):
        result[f"{side}.embed_tokens.weight"] = net.embedding.weight
        result[f"{side}.embed_positions.weight"] = getattr(net, f"{side}_positions").weight
        for i, block in enumerate(getattr(net, side)):
            at = f"{side}.layers.{i}."
            parts = {
                "self_attn": (*block.attention.qkv.weight.chunk(3), block.attention.out.weight)
            }
            if side == "decoder":
                cross = block.cross
                parts["encoder_attn"] = (
                    cross.q.weight,
                    *cross.kv.weight.chunk(2),
                    cross.out.weight,
                )
            for name, matrices in parts.items():
                for letter, matrix in zip(("q", "k", "v", "out"), matrices, strict=True):
                    result[f"{at}{name}.{letter}_proj.weight"] = matrix
            result[f"{at}fc1.weight"] = block.mlp.up.weight
            result[f"{at}fc2.weight"] = block.mlp.down.weight
    result["decoder.output_projection.weight"] = net.embedding.weight
    weights = {name: weight.detach().clone() for name, weight in result.items()}
    version = torch.tensor([3.0])  # without one fairseq takes away the last LayerNorms
    return weights | {"encoder.version": version, "decoder.version": version}


def fairseq_curve(folder, net, batches, lr, decay, factors):
    """Losses in bits of every update of `fairseq-train`, from the weights of a model."""
    torch.save({"vocab_size": VOCABULARY, "batches": batches}, folder / "batches.pt")
    torch.save(weights_for_fairseq(net), folder / "weights.pt")
    plugin = Path(__file__).parent / "fairseq_plugin"
    arguments = {
        "user-dir": plugin,
        "task": "stored_batches",
        "arch": "paper_bart",
        "initial-weights": folder / "weights.pt",
        "output-rescale": net.output_multiplier,
        "encoder-layers": 2,
        "decoder-layers": 2,
        "encoder-embed-dim": 32,
        "decoder-embed-dim": 32,
        "encoder-ffn-embed-dim": 128,
        "decoder-ffn-embed-dim": 128,
        "encoder-attention-heads": 4,
        "decoder-attention-heads": 4,
        "max-source-positions": 24,
        "max-target-positions": 24,
        "dropout": 0.0,
        "attention-dropout": 0.0,
        "criterion": "exact_cross_entropy",
        "optimizer": "grouped_adam",
        "adam-betas": "(0.9, 0.998)",
        "adam-eps": 1e-6,
        "weight-decay": decay,
        "stem-factor": factors["stem"],
        "matrix-factor": factors["matrix"],
        "clip-norm": 0.1,
        "lr": lr,
        "lr-scheduler": "fixed",
        "warmup-updates": WARMUP,
        "batch-size": 1,
        "required-batch-size-multiple": 1,
        "curriculum": 100,
        "max-update": STEPS,
        "log-format": "json",
        "log-interval": 1,
        "num-workers": 0,
        "seed": 1,
    }
    words = [str(word) for key, value in arguments.items() for word in (f"--{key}", value)]
    flags = ["--cpu", "--no-save", "--disable-validation"]
    environment = os.environ | {
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "fairseq_cli.train", str(folder / "batches.pt"), *words, *flags],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    lines = (done.stdout + done.stderr).splitlines()
    entries = [line.split("train_inner | ", 1)[1] for line in lines if "train_inner | " in line]
    return [float(json.loads(entry)["loss"]) for entry in entries]


class Given:
    def __init__(self, batches):
        self.batches = batches

    def from_step(self, step):
        return iter(self.batches[step:])


@pytest.mark.parametrize(
    ("strategy", "embedding_std", "factors"),
    [
        ("SP", 0.1, {"stem": 1.0, "matrix": 1.0}),
        ("neural-tangent", 1.0, {"stem": 32**-0.5, "matrix": 32**-1.5}),
    ],
)
def test_fifty_updates_are_fairseq_s(tmp_path, strategy, embedding_std, factors):
    """Same weights, same batches, dropout 0, clip 0.1, fairseq's eps: curves in bits agree."""
    shift = 1.0 if strategy == "SP" else 32**1.5
    lr, decay = 4e-3 * shift, DECAY / shift
    batches = made_batches()
    net = models.build(
        MODEL | {"embedding_std": embedding_std},
        strategy,
        vocab_size=VOCABULARY,
        padding=PADDING,
        sequence_length=24,
    )
    models.draw(net, strategy, 0)
    net.clear_padding()
    expected = fairseq_curve(tmp_path, net, batches, lr, decay, factors)
    optimizer = {
        "name": "adamw",
        "betas": [0.9, 0.998],
        "eps": 1e-6,
        "eps_convention": "fairseq",
        "weight_decay": decay,
    }
    training = loop.Training(
        net,
        make_optimizer(make_groups(net, strategy, optimizer, lr), optimizer),
        lambda net, batch: span_denoising.make_loss(len(batch[0]))(net, batch),
        Given(batches),
        steps=STEPS,
        evaluations=STEPS,
        precision="float32",
        seed=0,
        clip=clipping.clipper(net, {"norm": 0.1, "width_aware": False}),
        schedule=lambda step: min(1.0, (step + 1) / WARMUP),
    )
    state = tmp_path / "state"
    records = loop.fit(training, progress=lambda step, loss: None, checkpoint=state)
    found = [record["train_loss"] / math.log(2) for record in records]
    assert len(expected) == STEPS
    difference = max(abs(a / b - 1) for a, b in zip(found, expected, strict=True))
    print(
        f"{strategy}: {expected[0]:.4f} to {expected[-1]:.4f} bits, "
        f"largest difference {difference:.1e}"
    )
    assert expected[-1] < 0.9 * expected[0], "something was learned"
    assert difference < 2e-5
    assert parametrization.tied_multiplier(strategy, 32) == net.output_multiplier
