"""Next-token prediction with a decoder; per-role learning rates and inits."""

from collections.abc import Mapping
from pathlib import Path

import torch
import torch.nn.functional as F

from repro import parametrization
from repro.data.batches import TokenBatches
from repro.data.needs import Tokens
from repro.data.tokenization import load_tokens
from repro.models.decoder import Decoder
from repro.training import device as devices
from repro.training import loop
from repro.training.optimizer import make_groups, make_optimizer


def build_model(
    model: Mapping, *, vocab_size: int, sequence_length: int, init: Mapping, scaling: str
) -> Decoder:
    """The decoder of a spec, uninitialized, on the default device.

    The positional encoding gets the root mean square of the embedding at initialization, the
    logits the multiplier of `scaling`.
    """
    ratio = model["width"] / model["base_width"]
    role = parametrization.Role("embedding", width_out=ratio)
    rule = parametrization.table(init["embedding"], "adam")["embedding"]
    output = parametrization.table(scaling, "adam")["output"]
    return Decoder(
        vocab_size=vocab_size,
        sequence_length=sequence_length,
        output_multiplier=output.multiplier(parametrization.Role("output", width_in=ratio)),
        positional_rms=model["positional_scale"] * parametrization.init_std(role, rule),
        **{key: value for key, value in model.items() if key != "positional_scale"},
    )


def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy in nats."""
    tokens_BT, targets_BT = batch
    return F.cross_entropy(model(tokens_BT).flatten(0, 1).float(), targets_BT.flatten())


def run(
    *,
    dataset: str,
    vocab_size: int,
    sequence_length: int,
    batch_size: int,
    steps: int,
    evaluations: int,
    model: Mapping,
    init: Mapping[str, str],
    scaling: str,
    lr: Mapping[str, float],
    optimizer: Mapping,
    precision: str,
    threads: int,
    seed: int,
    inputs: Mapping[Tokens, Path],
    device: str,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Train one model; records as `repro.training.loop.train`, with the vocabulary reached.

    init: kind of role -> parametrization whose init it takes. scaling: parametrization of the
    learning-rate, decay and eps factors; lr: kind of role -> its constant.
    precision: of the forward pass; on a CPU tf32 is float32.
    """
    on = devices.select(device, threads)
    manifest, tokens = load_tokens(inputs[Tokens(dataset, vocab_size)])
    with torch.device(on):
        net = build_model(
            model,
            vocab_size=manifest["vocab_reached"],
            sequence_length=sequence_length,
            init=init,
            scaling=scaling,
        )
    parametrization.initialize(net, init, torch.Generator(on).manual_seed(seed))
    groups = make_groups(net, scaling, optimizer, lr)
    records = loop.train(
        net,
        loss,
        TokenBatches(dataset, tokens["train"], batch_size, sequence_length, seed, on),
        make_optimizer(groups, optimizer),
        steps=steps,
        evaluations=evaluations,
        precision=precision,
        progress=progress,
        checkpoint=checkpoint,
    )
    return [{**record, "vocab_reached": manifest["vocab_reached"]} for record in records]
