"""Next-token prediction with a decoder; learning rate and init are set per kind of role."""

from collections.abc import Mapping

import torch

from repro import models, parametrization
from repro.data.batches import TokenBatches
from repro.data.loading import Data
from repro.data.needs import Tokens
from repro.data.tokenization import load_tokens
from repro.models.decoder import Decoder
from repro.training.evaluation import loss
from repro.training.loop import Training
from repro.training.optimizer import make_groups, make_optimizer


def build_model(
    model: Mapping, *, vocab_size: int, sequence_length: int, init: Mapping, scaling: str
) -> Decoder:
    """The decoder of a spec, uninitialized, on the default device.

    The positional encoding has the root mean square of the embedding at initialization; the
    logits have the multiplier of parametrization `scaling`.
    """
    ratio = model["width"] / model["base_width"]
    role = parametrization.Role("embedding", width_out=ratio)
    rule = parametrization.table(init["embedding"], "adam")["embedding"]
    return Decoder(
        vocab_size=vocab_size,
        sequence_length=sequence_length,
        output_multiplier=parametrization.output_multiplier(scaling, ratio),
        positional_rms=model["positional_scale"] * parametrization.init_std(role, rule),
        **{key: value for key, value in model.items() if key != "positional_scale"},
    )


def load_data(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    """Blocks of the corpus; nothing is held out."""
    manifest, tokens = load_tokens(inputs[Tokens(spec["dataset"], spec["vocab_size"])])
    length = spec["sequence_length"]
    batches = TokenBatches(
        spec["dataset"], tokens["train"], spec["batch_size"], length, spec["seed"], device
    )
    settings = {"vocab_size": manifest["vocab_reached"], "sequence_length": length}
    return Data(batches, data_settings=settings)


def build(
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
    loaded: Data,
    device: torch.device,
) -> Training:
    """A decoder; records also have `vocab_reached`, the tokenizer's actual vocabulary size.

    init: kind of role -> parametrization that sets its init. scaling: parametrization that sets
    the factors on learning rate, decay and eps. lr: kind of role -> constant.
    """
    with torch.device(device):
        net = build_model(model, **loaded.data_settings, init=init, scaling=scaling)
    models.draw(net, init, seed)
    reached = {"vocab_reached": loaded.data_settings["vocab_size"]}
    return Training(
        net,
        make_optimizer(make_groups(net, scaling, optimizer, lr), optimizer),
        loss,
        loaded.batches,
        steps=steps,
        evaluations=evaluations,
        precision=precision,
        seed=seed,
        finish=lambda records: [record | reached for record in records],
    )
