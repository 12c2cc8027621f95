"""What a run costs: operations, data read, parameters and memory, from its spec alone. No torch.

Operations are those of training, 2 per multiply-add, a backward pass at twice its forward pass:
6 per multiply-add and sample. Evaluations, normalizations, nonlinearities and the optimizer's
own work are left out, as in Ma et al. (arXiv 2602.10545), Appendix F.4.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from repro.errors import UserError

# Assumption for GPU-hours: 40 % of the 989 TFLOP/s an H100 SXM offers in dense bf16.
GPU_FLOPS = 0.4 * 989e12
BYTES = 4  # float32
GPU_SHARE = 0.95  # of a GPU's memory that state and activations may fill
REPLICA_SHARE = 0.5  # that they may fill on each of several GPUs before the state is cut among them


@dataclass(frozen=True)
class Cost:
    """One run's cost.

    flops: operations of the training steps.
    seen, unit: how many `tokens` or `samples` the training steps read, repetitions included.
    parameters: all of them, biases and normalizations' included.
    state_bytes: weights, gradients and optimizer state in float32.
    activation_bytes: an estimate of what a step keeps for its backward pass, float32, of a
        batch or of one of its `parts`; autocast needs less.
    rows: of a step, that GPUs may share evenly; 1 where they may not.
    """

    flops: int = 0
    seen: int = 0
    unit: str = ""
    parameters: int = 0
    state_bytes: int = 0
    activation_bytes: int = 0
    rows: int = 1
    parts: int = 1

    @property
    def memory_bytes(self) -> int:
        """State and activations."""
        return self.state_bytes + self.activation_bytes

    def divides(self, gpus: int) -> bool:
        """Whether so many GPUs take equal parts of a step."""
        return self.rows % math.lcm(self.parts, gpus) == 0 or gpus == 1


@dataclass(frozen=True)
class Layout:
    """How a run lies on its GPUs; no part of its id.

    shard: parameters, gradients and optimizer state are cut among them (FSDP2), or each holds all.
    recompute: a block's activations are made again for the backward pass (checkpointing).
    compile: blocks are compiled (torch.compile), which is never chosen but asked for.
    """

    gpus: int = 1
    shard: bool = False
    recompute: bool = False
    compile: bool = False

    def __str__(self) -> str:
        words = {"sharded": self.shard, "recomputing": self.recompute}
        return ", ".join([str(self.gpus), *(word for word, set_ in words.items() if set_)])


def layout(cost: Cost, gpus: int, memory: float) -> Layout:
    """How a run lies on so many GPUs of `memory` bytes each."""
    activations = cost.activation_bytes * cost.parts / math.lcm(cost.parts, gpus)
    shard = gpus > 1 and cost.state_bytes + activations > REPLICA_SHARE * memory
    state = cost.state_bytes / (gpus if shard else 1)
    return Layout(gpus, shard, recompute=state + activations > GPU_SHARE * memory)


def optimizer_copies(optimizer: Mapping) -> int:
    """Numbers an optimizer keeps per parameter: momentum 1, Adam's moments 2, AMSGrad 3.

    Raises UserError on an unknown name.
    """
    name = optimizer["name"]
    if name == "sgd":
        return 1 if optimizer.get("momentum") else 0
    if name in ("adam", "adamw"):
        return 3 if optimizer.get("amsgrad") else 2
    raise UserError(f"optimizer {name!r} is unknown: choose from sgd, adam, adamw")


def _cost(
    spec: Mapping,
    *,
    flops: int,
    batch: int,
    unit: str,
    parameters: int,
    activations: int,
    rows: int,
) -> Cost:
    """flops and activations (numbers kept): per sample or token, of which a step reads `batch`."""
    parts = spec.get("parts", 1)
    return Cost(
        flops=flops * batch * spec["steps"],
        seen=batch * spec["steps"],
        unit=unit,
        parameters=parameters,
        state_bytes=BYTES * (2 + optimizer_copies(spec["optimizer"])) * parameters,
        activation_bytes=BYTES * batch * activations // parts,
        rows=rows,
        parts=parts,
    )


# Transformers


def transformer_flops(*, weights: int, depth: int, width: int, sequence_length: int) -> int:
    """Training operations per token, F.4: 6 N + 12 L H Q T, H heads of Q being the width.

    weights: those of the matrix products, N. Every query meets all T keys (no causal saving).
    """
    return 6 * weights + 12 * depth * width * sequence_length


def transformer_weights(*, vocab_size: int, width: int, depth: int, expansion: int) -> int:
    """Weights of the matrix products: query, key, value, out, up, down, and the output."""
    return depth * (4 + 2 * expansion) * width**2 + vocab_size * width


def transformer_activations(*, vocab_size: int, width: int, depth: int, expansion: int) -> int:
    """Numbers kept per token: 8 + 2 expansion widths a block, 2 at the end, log-probabilities.

    A block keeps its two normalizations' inputs and outputs (4), query, key and value (3), the
    attention's output, GELU's input and output; fused attention, which keeps no T x T matrix.
    """
    return depth * (8 + 2 * expansion) * width + 2 * width + vocab_size


def decoder_forward_flops(
    *, vocab_size: int, width: int, depth: int, expansion: int, sequence_length: int
) -> int:
    """Operations of a forward pass per token: a third of training's."""
    weights = transformer_weights(
        vocab_size=vocab_size, width=width, depth=depth, expansion=expansion
    )
    total = transformer_flops(
        weights=weights, depth=depth, width=width, sequence_length=sequence_length
    )
    return total // 3


def language_model_cost(spec: Mapping) -> Cost:
    """One run of task `language_model`: untied output, neither biases nor trained norms."""
    model = spec["model"]
    sizes = {
        "vocab_size": spec["vocab_size"],
        **{key: model[key] for key in ("width", "depth", "expansion")},
    }
    return _cost(
        spec,
        flops=3 * decoder_forward_flops(**sizes, sequence_length=spec["sequence_length"]),
        batch=spec["batch_size"] * spec["sequence_length"],
        unit="tokens",
        parameters=transformer_weights(**sizes) + spec["vocab_size"] * model["width"],
        activations=transformer_activations(**sizes),
        rows=spec["batch_size"],
    )


def gpt2_weights(*, depth: int, width: int, vocab_size: int) -> int:
    """GPT-2's matrix products, N of F.4: MLP expansion 4, the tied embedding once."""
    return transformer_weights(vocab_size=vocab_size, width=width, depth=depth, expansion=4)


def gpt2_parameters(*, depth: int, width: int, vocab_size: int, sequence_length: int) -> int:
    """GPT-2 without biases: `gpt2_weights`, learned positions, 2 L + 1 LayerNorm scales."""
    weights = gpt2_weights(depth=depth, width=width, vocab_size=vocab_size)
    return weights + sequence_length * width + (2 * depth + 1) * width


def gpt2_flops(*, depth: int, width: int, vocab_size: int, sequence_length: int) -> int:
    """GPT-2's training operations per token (`transformer_flops`)."""
    weights = gpt2_weights(depth=depth, width=width, vocab_size=vocab_size)
    return transformer_flops(
        weights=weights, depth=depth, width=width, sequence_length=sequence_length
    )


def nanogpt_weights(*, depth: int, width: int) -> int:
    """The N behind F.4's printed GPT-2 totals: nanoGPT's `get_num_params` of a default model.

    All parameters but the positions, with biases and LayerNorm's, although F.4 says weight
    matrices, and with the vocabulary padded to a multiple of 64, although F.3 says 50,257.
    """
    biases = 3 + 1 + 4 + 1  # query, key and value; attention's output; up; down
    norms = 2 * 2  # two LayerNorms a block, scale and shift
    vectors = depth * (biases + norms) + 2  # and the last LayerNorm
    return gpt2_weights(depth=depth, width=width, vocab_size=50_304) + vectors * width


def llm_weights(
    *,
    depth: int,
    width: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    inner: int,
    vocab_size: int,
) -> int:
    """Weights of the matrix products of Hayou & Liu's decoder (arXiv 2506.15025), Table 3:
    query and output, key and value, SwiGLU's three, and the untied output."""
    attention = 2 * width * head_dim * (heads + kv_heads)
    return depth * (attention + 3 * width * inner) + vocab_size * width


def llm_activations(
    *, depth: int, width: int, heads: int, head_dim: int, inner: int, vocab_size: int, **rest
) -> int:
    """Numbers kept per token: 4 widths a block for its two normalizations; query, key and value
    (repeated for every query head) and attention's output by head and joined; SwiGLU's gate before
    and after silu, up and product; 2 widths at the end, log-probabilities."""
    return depth * (4 * width + 5 * heads * head_dim + 4 * inner) + 2 * width + vocab_size


def pretraining_cost(spec: Mapping) -> Cost:
    """One run of task `pretraining`; what the sliding window hides is computed and masked."""
    data, model = spec["data"], spec["model"]
    keys = ("depth", "width", "heads", "kv_heads", "head_dim", "inner")
    sizes = {key: model[key] for key in keys} | {"vocab_size": data["vocab_size"]}
    depth, width = model["depth"], model["width"]
    weights = llm_weights(**sizes)
    return _cost(
        spec,
        flops=transformer_flops(
            weights=weights,
            depth=depth,
            width=model["heads"] * model["head_dim"],
            sequence_length=data["sequence_length"],
        ),
        batch=data["batch_size"] * data["sequence_length"],
        unit="tokens",
        # The embedding, and a gain and a bias of 2 L + 1 LayerNorms.
        parameters=weights + data["vocab_size"] * width + 2 * (2 * depth + 1) * width,
        activations=llm_activations(**sizes),
        rows=data["batch_size"],
    )


# MLP


def mlp_flops(*, inputs: int, hidden_layers: int, width: int, classes: int) -> int:
    """Training operations per sample, F.4: 6 (d_in d_h + (L - 2) d_h^2 + d_h d_out).

    L = hidden_layers + 1 layers of weights.
    """
    return 6 * (inputs * width + (hidden_layers - 1) * width**2 + width * classes)


def mlp_parameters(*, inputs: int, hidden_layers: int, width: int, classes: int) -> int:
    """Weights and biases."""
    weights = inputs * width + (hidden_layers - 1) * width**2 + width * classes
    return weights + hidden_layers * width + classes


def mlp_activations(*, inputs: int, hidden_layers: int, width: int, classes: int) -> int:
    """Numbers kept per sample: every layer's input and the log-probabilities."""
    return inputs + hidden_layers * width + classes


# ResNet


class Convolution(NamedTuple):
    """A convolution of a ResNet at one resolution, with the BatchNorm behind it."""

    inputs: int
    outputs: int
    kernel: int
    positions: int  # height x width of the output

    @property
    def macs(self) -> int:
        """Multiply-adds per image, F.4: C_in C_out k^2 H_out W_out."""
        return self.inputs * self.outputs * self.kernel**2 * self.positions


def resnet_channels(width: float | Sequence[float]) -> list[int]:
    """Channels of the four stages: 64, 128, 256 and 512 times `width`, or one factor a stage."""
    widths = width if isinstance(width, Sequence) else (width,) * 4
    return [round(64 * 2**stage * factor) for stage, factor in enumerate(widths)]


def resnet_convolutions(
    *, width: float | Sequence[float], resolution: int
) -> Iterator[Convolution]:
    """ResNet-18's 20 convolutions, the three 1 x 1 shortcuts among them.

    3 x 3 stem of stride 1, no max-pool; the last three stages halve the resolution, pixels.
    """
    channels = resnet_channels(width)
    inputs = channels[0]
    yield Convolution(3, inputs, 3, resolution**2)
    for stage, outputs in enumerate(channels):
        if stage:
            resolution = -(-resolution // 2)
            yield Convolution(inputs, outputs, 1, resolution**2)
        yield Convolution(inputs, outputs, 3, resolution**2)
        for _ in range(3):
            yield Convolution(outputs, outputs, 3, resolution**2)
        inputs = outputs


def resnet_flops(*, width: float | Sequence[float], classes: int, resolution: int = 32) -> int:
    """Training operations per image, F.4: 6 times the multiply-adds of all layers.

    The printed totals count the shortcut convolutions and the linear layer.
    """
    macs = sum(layer.macs for layer in resnet_convolutions(width=width, resolution=resolution))
    return 6 * (macs + resnet_channels(width)[-1] * classes)


def resnet_parameters(*, width: float | Sequence[float], classes: int) -> int:
    """Convolutions without biases, BatchNorm's scales and shifts, the linear layer with biases."""
    layers = resnet_convolutions(width=width, resolution=32)
    convolutions = sum(c.inputs * c.outputs * c.kernel**2 + 2 * c.outputs for c in layers)
    return convolutions + (resnet_channels(width)[-1] + 1) * classes


def resnet_activations(*, width: float | Sequence[float], classes: int, resolution: int) -> int:
    """Numbers kept per image: the image, every convolution's output, and ReLU's.

    A ReLU follows every 3 x 3 convolution (the second of a block after the sum); its output is
    the next layer's input.
    """
    kept = sum(
        c.outputs * c.positions * (2 if c.kernel == 3 else 1)
        for c in resnet_convolutions(width=width, resolution=resolution)
    )
    return 3 * resolution**2 + kept + resnet_channels(width)[-1] + classes


def warm_start_cost(spec: Mapping) -> Cost:
    """One run of task `warm_start`, by its model's name: mlp, resnet or gpt2.

    Raises UserError on another name.
    """
    data, model = spec["data"], spec["model"]
    if model["name"] == "mlp":
        sizes = {key: model[key] for key in ("inputs", "hidden_layers", "width", "classes")}
        return _cost(
            spec,
            flops=mlp_flops(**sizes),
            batch=data["batch_size"],
            unit="samples",
            parameters=mlp_parameters(**sizes),
            activations=mlp_activations(**sizes),
            rows=data["batch_size"],
        )
    if model["name"] == "resnet":
        sizes = {key: model[key] for key in ("width", "classes")}
        return _cost(
            spec,
            flops=resnet_flops(**sizes, resolution=data["resolution"]),
            batch=data["batch_size"],
            unit="samples",
            parameters=resnet_parameters(**sizes),
            activations=resnet_activations(**sizes, resolution=data["resolution"]),
            rows=1,  # batch normalization
        )
    if model["name"] == "gpt2":
        sizes = {key: model[key] for key in ("width", "depth")}
        sizes["vocab_size"] = data["vocab_size"]
        return _cost(
            spec,
            flops=gpt2_flops(**sizes, sequence_length=data["sequence_length"]),
            batch=data["batch_size"] * data["sequence_length"],
            unit="tokens",
            parameters=gpt2_parameters(**sizes, sequence_length=data["sequence_length"]),
            activations=transformer_activations(**sizes, expansion=4),
            rows=data["batch_size"],
        )
    raise UserError(f"model {model['name']!r} is unknown: choose from mlp, resnet, gpt2")


# Vision Transformer


def vit_tokens(*, resolution: int, patch: int) -> int:
    """Patches of an image."""
    return (resolution // patch) ** 2


def vit_weights(*, width: int, depth: int, expansion: int, patch: int) -> int:
    """Weights every token meets: patchify (3 channels), query, key, value, out, up, down."""
    return 3 * patch**2 * width + depth * (4 + 2 * expansion) * width**2


def vit_flops(
    *, width: int, depth: int, expansion: int, patch: int, resolution: int, classes: int
) -> int:
    """Training operations per image: `transformer_flops` of every patch, and the head's, once."""
    tokens = vit_tokens(resolution=resolution, patch=patch)
    weights = vit_weights(width=width, depth=depth, expansion=expansion, patch=patch)
    a_token = transformer_flops(weights=weights, depth=depth, width=width, sequence_length=tokens)
    return tokens * a_token + 6 * width * classes


def vit_parameters(
    *, width: int, depth: int, expansion: int, patch: int, resolution: int, classes: int
) -> int:
    """Dinan et al. (arXiv 2304.02034), II.1.B: weights, positions, the head with its bias."""
    weights = vit_weights(width=width, depth=depth, expansion=expansion, patch=patch)
    tokens = vit_tokens(resolution=resolution, patch=patch)
    return weights + tokens * width + (width + 1) * classes


def image_classification_cost(spec: Mapping) -> Cost:
    """One run of task `image_classification`."""
    keys = ("width", "depth", "expansion", "patch", "resolution", "classes")
    sizes = {key: spec["model"][key] for key in keys}
    shape = {key: sizes[key] for key in ("width", "depth", "expansion")}
    tokens = vit_tokens(resolution=sizes["resolution"], patch=sizes["patch"])
    patches = tokens * (3 * sizes["patch"] ** 2 + transformer_activations(**shape, vocab_size=0))
    return _cost(
        spec,
        flops=vit_flops(**sizes),
        batch=spec["data"]["batch_size"],
        unit="samples",
        parameters=vit_parameters(**sizes),
        activations=patches + sizes["width"] + sizes["classes"],
        rows=1,  # every rank would decode and augment the whole batch, which takes longest
    )


# Encoder-decoders


def bart_weights(*, width: int, depth: int, expansion: int, vocab_size: int) -> int:
    """Weights of BART's matrix products: both stacks, the tied embedding once as the output."""
    encoder = (4 + 2 * expansion) * width**2
    decoder = (4 + 4 + 2 * expansion) * width**2
    return depth * (encoder + decoder) + vocab_size * width


def bart_parameters(
    *, width: int, depth: int, expansion: int, vocab_size: int, sequence_length: int
) -> int:
    """Dinan et al. (arXiv 2304.02034), II.2.B: `bart_weights`, two tables of T + 2 positions."""
    weights = bart_weights(width=width, depth=depth, expansion=expansion, vocab_size=vocab_size)
    return weights + 2 * (sequence_length + 2) * width


def bart_flops(
    *, width: int, depth: int, expansion: int, vocab_size: int, sequence_length: int
) -> int:
    """BART's training operations per token of the original, the corrupted text as long as it.

    Three attentions a depth: the encoder's, the decoder's own and that on the encoder.
    """
    weights = bart_weights(width=width, depth=depth, expansion=expansion, vocab_size=vocab_size)
    return transformer_flops(
        weights=weights, depth=3 * depth, width=width, sequence_length=sequence_length
    )


def bart_activations(*, width: int, depth: int, expansion: int, vocab_size: int) -> int:
    """Numbers kept per token of the original, as `transformer_activations`, without dropout.

    The attention on the encoder keeps 6 widths more; 8 are at the ends of both stacks.
    """
    blocks = 2 * (8 + 2 * expansion) + 6
    return (depth * blocks + 8) * width + vocab_size


def span_denoising_cost(spec: Mapping) -> Cost:
    """One run of task `span_denoising`, every block as long as it may be."""
    data = spec["data"]
    shape = {key: spec["model"][key] for key in ("width", "depth", "expansion")}
    shape["vocab_size"] = denoising_vocabulary_size(data["vocab_size"])
    return _cost(
        spec,
        flops=bart_flops(**shape, sequence_length=data["sequence_length"]),
        batch=data["batch_size"] * data["sequence_length"],
        unit="tokens",
        parameters=bart_parameters(**shape, sequence_length=data["sequence_length"]),
        activations=bart_activations(**shape),
        rows=data["batch_size"],
    )


def denoising_vocabulary_size(entries: int) -> int:
    """Size of the model's vocabulary over a tokenizer of `entries`: 50,265 over GPT-2's 50,257.

    fairseq's: four special tokens, filled up to a multiple of 8, and [mask].
    """
    return -(-(entries + 4) // 8) * 8 + 1


# Kernels of randomly initialized encoders

STACKED = 2**22  # parameters drawn at a time, 16 MB in float32; at least one network's
HANDLED = (
    40  # operations in the time a CPU takes for a normal number, or for an entry of a gradient
)


class Encoder(NamedTuple):
    """A network of `repro.tasks.transformer_kernels`.

    tokens: of all samples. outputs: rows of its kernel, one a token or one a sample. forward:
    operations of one forward pass. kept: activations of it, numbers.
    """

    parameters: int
    tokens: int
    outputs: int
    forward: int
    kept: int


def encoder(spec: Mapping) -> Encoder:
    """The network that a spec of the two kernel tasks is about."""
    model = spec["model"]
    shape = {key: model[key] for key in ("depth", "expansion")} | {"width": spec["width"]}
    samples, width = model["samples"], spec["width"]
    if model["kind"] == "vision":
        sizes = shape | {key: model[key] for key in ("patch", "resolution", "classes")}
        tokens = samples * vit_tokens(resolution=model["resolution"], patch=model["patch"])
        parameters, rest = vit_parameters(**sizes), model["classes"] * samples
        outputs, flops = samples, samples * vit_flops(**sizes)
    else:
        length, vocab_size = model["sequence_length"], model["vocab_size"]
        weights = transformer_weights(**shape, vocab_size=vocab_size)
        tokens = outputs = samples * length
        parameters, rest = weights + length * width, tokens * vocab_size
        flops = tokens * transformer_flops(
            weights=weights, depth=shape["depth"], width=width, sequence_length=length
        )
    kept = tokens * transformer_activations(**shape, vocab_size=0) + rest
    return Encoder(parameters, tokens, outputs, flops // 3, kept)


def transformer_kernels_cost(spec: Mapping) -> Cost:
    """One run of task `transformer_kernels`: draws and forward passes, nothing of the recursions,
    which take a second whatever the width."""
    net, draws = encoder(spec), spec["draws"]
    at_once = max(1, min(draws, STACKED // net.parameters))
    return Cost(
        flops=draws * (HANDLED * net.parameters + net.forward),
        parameters=net.parameters,
        state_bytes=BYTES * at_once * net.parameters,
        activation_bytes=BYTES * at_once * net.kept,
    )


def tangent_kernels_cost(spec: Mapping) -> Cost:
    """One run of task `tangent_kernels`: a gradient of every parameter by each row, their
    products; a row of an earlier block, where every block is looked at, counts as half of one."""
    net, rows = encoder(spec), spec["channels"]
    earlier = (2 * spec["model"]["depth"] + 1) * net.tokens / 2 if spec["every_block"] else 0
    passes = round(rows * (net.outputs + earlier))
    entries = passes * net.parameters
    products = 2 * rows * net.outputs * entries
    one = HANDLED * (net.parameters + entries) + (1 + 2 * passes) * net.forward + products
    return Cost(
        flops=spec["draws"] * one,
        parameters=net.parameters,
        state_bytes=BYTES * net.parameters,
        activation_bytes=BYTES * (rows * net.tokens * net.parameters + net.kept),
    )


# The numbers of Ma et al. (arXiv 2602.10545), Table 4 and Appendix F.4


class PaperCost(NamedTuple):
    """A number of Table 4 or F.4, computed by F.4's formulas, beside the printed one.

    unit: `times` or `TFLOPs`. recounted: computed with what the printed number really counts,
    equal to `computed` except for GPT-2 (`nanogpt_weights`).
    """

    computed: float
    recounted: float
    printed: float
    unit: str


# F.4: what upscaled training needs to reach the wide model's loss, TFLOPs. Measured, not computed.
PAPER_REACHED = {"mlp-sgd": 598, "mlp-adamw": 3_031, "resnet": 132_985, "gpt2": 6_539_099}


def _paper_gpt2(width: int, runs: int = 1) -> tuple[float, float]:
    """TFLOPs of GPT-2 runs: by F.4's formula, and by nanoGPT's count of the weights.

    262,144 tokens a step in 10,000 steps: half of F.3's 0.5 M a step and 5 B in all, as if one
    of its two GPUs was counted.
    """
    shape = {"depth": 12, "width": width}
    tokens = 262_144 * 10_000 * runs
    stated = gpt2_flops(**shape, vocab_size=50_257, sequence_length=1024)
    counted = transformer_flops(**shape, weights=nanogpt_weights(**shape), sequence_length=1024)
    return stated * tokens / 1e12, counted * tokens / 1e12


def paper_costs() -> dict[str, PaperCost]:
    """Every cost the paper prints: name -> computed, recounted, printed, unit.

    `speedup.*` are Table 4's, F(kn) / F(kn0); `costs.*` totals of runs, TFLOPs; `end-to-end.*`
    from scratch over base and upscaled (`gpt2-tuned`: tuning and upscaled) training, from our
    totals and the paper's own measurement of the upscaled runs (PAPER_REACHED).
    """
    table = {"inputs": 54, "hidden_layers": 3, "classes": 7}
    rows = 464_809 * 500  # 80 % of 581,012 rows, the last batch counted; epochs
    images = 50_000 * 100
    mlp = {d: mlp_flops(**table, width=d) for d in (400, 500, 2000)}
    resnet = {w: resnet_flops(width=w, classes=100) for w in (1, 2, 4)}
    totals = {
        "mlp.base": (mlp[500] * rows / 1e12,) * 2,
        "mlp.wide": (mlp[2000] * rows / 1e12,) * 2,
        "resnet.base": (resnet[2] * images / 1e12,) * 2,
        "resnet.wide": (resnet[4] * images / 1e12,) * 2,
        "gpt2.base": _paper_gpt2(1920),
        "gpt2.wide": _paper_gpt2(3840),
        "gpt2.tuning": _paper_gpt2(384, runs=25),
    }
    printed = (740, 11_326, 66_547, 265_970, 10_615_488, 37_929_809, 19_679_775)
    ratios = {
        "speedup.mlp": ((mlp[2000] / mlp[400],) * 2, 23.6),
        "speedup.resnet": ((resnet[4] / resnet[1],) * 2, 16.0),
        "speedup.gpt2": (
            tuple(
                wide / small
                for wide, small in zip(_paper_gpt2(3840), _paper_gpt2(384), strict=True)
            ),
            48.2,
        ),
    }
    for name, spent, stated in (
        ("mlp-sgd", "mlp.base", 8.5),
        ("mlp-adamw", "mlp.base", 3.0),
        ("resnet", "resnet.base", 1.3),
        ("gpt2", "gpt2.base", 2.2),
        ("gpt2-tuned", "gpt2.tuning", 1.4),
    ):
        wide = totals[spent.split(".")[0] + ".wide"]
        reached = PAPER_REACHED[name.removesuffix("-tuned")]
        pairs = zip(wide, totals[spent], strict=True)
        ratios[f"end-to-end.{name}"] = (tuple(w / (s + reached) for w, s in pairs), stated)
    costs = {name: PaperCost(*both, stated, "times") for name, (both, stated) in ratios.items()}
    for (name, both), stated in zip(totals.items(), printed, strict=True):
        costs[f"costs.{name}"] = PaperCost(*both, stated, "TFLOPs")
    return costs


def hours(flops: float, rate: float) -> float:
    """Hours of a device that carries out `rate` operations a second."""
    return flops / rate / 3600


def gpu_hours(flops: float) -> float:
    """Hours on one H100 at GPU_FLOPS."""
    return hours(flops, GPU_FLOPS)
