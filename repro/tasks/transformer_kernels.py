"""Forward kernels of randomly initialized Transformers: measured, and by the recursions of I.1.

Dinan, Yaida & Zhang (arXiv 2304.02034). Vision: `repro.models.vit`; language:
`repro.models.tied_encoder`. Of other models kernels are measured alone (`named_network`).
`repro.tasks.tangent_kernels` shares the networks and their inputs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from repro.cost.kernels import STACKED
from repro.errors import UserError
from repro.models import ARCHITECTURES, vit
from repro.models.tied_encoder import TiedEncoder
from repro.tasks import named_network
from repro.theory import transformer_kernels as theory
from widthwise import parametrization

PLAIN = "neural-tangent"  # s = 0
GROUPS = {
    "patchify.weight": ("stem",),
    "embedding.weight": ("stem",),
    "positions": ("positions",),
    "qkv.weight": ("Q", "K", "V"),
    "out.weight": ("U",),
    "up.weight": ("W",),
    "down.weight": ("X",),
    "head.weight": ("head",),
    "head.bias": ("bias",),
}

Network = Any  # a module of `repro.models`


@dataclass(frozen=True)
class Setting:
    """A network and its inputs.

    network: uninitialized. inputs: as its forward takes them. absent: output ids that occur in no
    input, so that they have no contact terms. groups: parameter -> the parts that it holds.
    blocks: L, one more than there are layer_norms. tied: whether the word embedding reads out.
    """

    network: Network
    inputs: torch.Tensor
    absent: list[int]
    groups: Mapping[str, list[str]]
    blocks: int
    tied: bool


@dataclass(frozen=True)
class Solved(Setting):
    """A setting whose kernels theory gives.

    kernel: G(0), shape (B, T, B, T). rates: group -> ratio of the tangent kernel at learning rate 1
    to `theory.tangents` at rate 1.
    """

    kernel: np.ndarray
    theory: theory.Transformer
    rates: Mapping[str, float]

    @property
    def pooled(self) -> bool:
        """Whether the output is a mean over tokens."""
        return not self.theory.tied


def group_names(parameter: str) -> list[str]:
    """Groups whose weights a parameter holds: `attention.1.qkv.weight` -> Q.1, K.1, V.1."""
    (found,) = (groups for end, groups in GROUPS.items() if parameter.endswith(end))
    pair = parameter.split(".")[1] if found[0] in theory.ATTENTION + theory.MLP else ""
    return [f"{group}.{pair}" if pair else group for group in found]


def build(model: Mapping, width: int, input_seed: int, strategy: str = PLAIN) -> Setting:
    """A network of one width, with fixed inputs and the theory for it.

    strategy: a member of the s-family, whose N_rescale a tied head has; theory is that of s = 0.
    model: `kind` (vision, language), `samples`, and the settings of `ViT` or `TiedEncoder`; or in
    place of `kind` the `name` of another model, see `named_network`. `label`: for figures;
    `parametrization`: for the tasks, in place of theirs.
    Images are Gaussian, correlated within and across samples; words are drawn from the first half
    of the vocabulary, so that outputs of the second half have no contact terms (footnote 19).
    """
    settings = dict(model)
    settings = {k: v for k, v in settings.items() if k not in ("label", "parametrization")}
    kind, samples = settings.pop("kind", None), settings.pop("samples")
    rng = np.random.default_rng(input_seed)
    if kind is None:
        return _named(settings, width, samples, strategy, rng)
    network: Network
    rates = dict.fromkeys((*theory.ATTENTION, *theory.MLP, "stem", "positions", "head", "bias"), 1)
    if kind == "vision":
        ones: dict[str, Any] = {"base_width": 1, "output_multiplier": 1, "attention_multiplier": 1}
        network = vit.ViT(width=width, **ones, **settings)
        images = rng.normal(size=(samples, 3, *(settings["resolution"],) * 2))
        images += 0.5 * rng.normal(size=(samples, 3, 1, 1)) + 0.5 * images[:1]
        inputs = torch.from_numpy(images).float()
        kernel = theory.patch_kernel(network.patches(inputs).double().numpy())
        rates["stem"] = network.patchify.in_features
        eps, causal, outputs = vit.EPS, False, settings["classes"]
        absent = list(range(outputs))
    elif kind == "language":
        rescale = parametrization.tied_multiplier(strategy, width)
        network = TiedEncoder(width=width, output_multiplier=rescale, **settings)
        used = settings["vocab_size"] // 2
        words = rng.integers(used, size=(samples, settings["sequence_length"]))
        inputs, kernel = torch.from_numpy(words), theory.word_kernel(words)
        eps, causal = settings["eps"], settings["causal"]
        absent = list(range(used, settings["vocab_size"]))
    else:
        raise UserError(f"model: kind {kind!r} is unknown: choose vision or language")
    # The theory's constants C are variance times fan-in; these do not depend on the width.
    constants: dict[str, float] = {}
    rows = parametrization.table(PLAIN, "sgd")
    for name, role in network.roles().items():
        variance = parametrization.init_std(role, rows[role.kind]) ** 2 if role.drawn else 0
        constants |= {group.split(".")[0]: variance * role.fan_in for group in group_names(name)}
    expected = theory.Transformer(
        constants,
        depth=settings["depth"],
        expansion=settings["expansion"],
        eps=eps,
        tied=kind == "language",
        causal=causal,
    )
    groups = {name: group_names(name) for name, _ in network.named_parameters()}
    L, tied = expected.blocks, expected.tied
    return Solved(network, inputs, absent, groups, L, tied, kernel, expected, rates)


def _named(settings, width, samples, strategy, rng) -> Setting:
    """A model by its name, without theory."""
    with Trace() as trace:
        network, inputs, seen = named_network.build(settings, width, samples, strategy, rng)
    tied = ARCHITECTURES[settings["name"]].tied
    groups = {name: [named_network.part(name)] for name, _ in network.named_parameters()}
    return Setting(network, inputs, seen, groups, len(trace.norms) + 1, tied)


class Trace(TorchFunctionMode):
    """Context that collects, in order, what the blocks of any model compute in it.

    norms: (input z, output s) of every layer_norm. attention: (query, key). fired: sigma(w), the
    activation's output.
    """

    def __init__(self) -> None:
        super().__init__()
        self.norms: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.attention: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.fired: list[torch.Tensor] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is F.layer_norm:
            self.norms.append((args[0], result))
        elif func is F.scaled_dot_product_attention:
            self.attention.append(args[:2])
        elif func is F.gelu:
            self.fired.append(result)
        return result


class Draws:
    """Several initializations of a network, stacked along a leading axis of every parameter."""

    def __init__(self, network: Network, count: int):
        self.network = network
        self.parameters = {
            name: p.detach().expand(count, *p.shape).clone()  # the model's where none is drawn
            for name, p in network.named_parameters()
        }

    def roles(self) -> dict[str, parametrization.Role]:
        """Name -> role, those of the network."""
        return self.network.roles()

    def named_parameters(self):
        """(name, stacked parameter); `Plan.init_` calls this."""
        return self.parameters.items()

    def forward(self, inputs: torch.Tensor):
        """(output, norms, attention, fired) of all draws on the same inputs."""

        def one(parameters):
            with Trace() as trace:
                output = torch.func.functional_call(self.network, parameters, (inputs,))
            return output, trace.norms, trace.attention, trace.fired

        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            return torch.func.vmap(one)(self.parameters)


def run(
    *,
    model: Mapping,
    width: int,
    input_seed: int,
    draws: int,
    points: int,
    scrambles: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Means over `draws` initializations of G, F and the output's kernel, with expected values.

    Means are taken with control variates (`controlled`), which remove most of the noise without
    bias: what each block adds to the kernel, minus its exactly known average over the weights that
    write to the residual stream.
    points, scrambles: numbers of Sobol points in an average over attention, and of scrambled
    Sobol sequences; the expected value is the mean over sequences.
    Returns a record per `quantity` (G, F, output, contact) and `block`. `mean` and `expected`:
    upper triangle of the kernel over tokens (over samples if the output is pooled). `accuracy`:
    standard error of the expected entries from their spread over scramblings, root mean square.
    The output's kernel leaves out outputs with contact terms; `contact` is the mean square of each
    token's own word, and `expected` its leading order. Of a model by its name nothing is expected,
    `expected` is empty and `accuracy` None; nor are there control variates.
    """
    setting = build(model, width, input_seed, strategy := model.get("parametrization", PLAIN))
    setting.network.to(device)
    generator = torch.Generator(device).manual_seed(_stream(seed, width))
    # Many small networks run faster stacked; STACKED limits the memory.
    batch = max(1, min(draws, STACKED // sum(p.numel() for p in setting.network.parameters())))
    found: dict[tuple[str, int], list[torch.Tensor]] = {}
    controls = []
    for first in range(0, draws, batch):
        stack: Any = Draws(setting.network, min(batch, draws - first))
        parametrization.plan(stack, None, strategy).init_(generator)
        measured, noise = kernels(setting, stack.forward(setting.inputs.to(device)))
        for key, value in measured.items():
            found.setdefault(key, []).append(value.cpu())
        controls.append(noise.cpu())
        if progress:
            output = measured["output", setting.blocks]
            progress(round((first + len(noise)) / draws, 2), float(output.mean()))
    noise = torch.cat(controls)
    # The theory has a sampling error too: its averages over attention are done `scrambles` times.
    expected = []
    if isinstance(setting, Solved):
        expected = [
            expectation(fixed, forward, width)
            for fixed, forward in expected_kernels(_key(model), input_seed, points, scrambles)
        ]
    records = []
    for (quantity, block), parts in found.items():
        record = {
            "quantity": quantity,
            "block": block,
            "mean": controlled(torch.cat(parts), noise).tolist(),
            "expected": [],
            "accuracy": None,
        }
        if expected:
            values = [e[quantity, block] for e in expected]
            spread = np.std(values, axis=0, ddof=1) / scrambles**0.5
            record["expected"] = np.mean(values, axis=0).tolist()
            record["accuracy"] = float(np.sqrt(np.mean(spread**2)))
        records.append(record)
    return records


def kernels(setting: Setting, traced) -> tuple[dict[tuple[str, int], torch.Tensor], torch.Tensor]:
    """Kernels of all draws, (quantity, block) -> (draws, entries), and their control variates.

    traced: what `Draws.forward` returns. Control variates (draws, ...) have mean zero at every
    width: what the stem or a residual path adds to z z^T, cross terms included, minus its mean over
    the weights that write to the stream, given everything before.
    """
    output, norms, attention, fired = traced
    G, F_ = [_kernel(z) for z, _ in norms], [_kernel(s) for _, s in norms]
    last, out = setting.blocks, output[..., setting.absent]
    found = {("G", block): G[block - 1] for block in range(1, last)}
    found |= {("F", block): F_[block - 1] for block in range(1, last)}
    found["output", last] = _kernel(out)
    found = {key: _upper(kernel) for key, kernel in found.items()}
    if not isinstance(setting, Solved):
        return found, torch.zeros((len(output), 0), dtype=torch.float64, device=output.device)
    C = setting.theory.constants
    B, T = setting.kernel.shape[:2]
    stem = theory.stem_kernel(setting.theory, setting.kernel).reshape(B * T, B * T)
    noise = [G[0] - torch.from_numpy(stem).to(G[0])]
    for block in range(last - 2):
        if block % 2 == 0:
            query, key = (y.double() for y in attention[block // 2])
            logits = query @ key.mT / query.shape[-1] ** 0.5
            if setting.theory.causal:
                logits = logits.masked_fill(
                    ~torch.ones(T, T).bool().tril().to(logits.device), -torch.inf
                )
            F_BTBT = F_[block].unflatten(2, (B, T)).unflatten(1, (B, T))
            weights = logits.softmax(-1)
            mixed = torch.einsum("dahti,daibj,dbhuj->datbu", weights, F_BTBT, weights)
            mean = C["U"] * C["V"] / weights.shape[2] * mixed.flatten(3).flatten(1, 2)  # eq. 1.63
        else:
            mean = C["X"] * _kernel(fired[block // 2])  # eq. 1.76
        noise.append(G[block + 1] - G[block] - mean)
    # The head adds nothing to a stream; its control variate is the output's own kernel.
    mean = F_[-1] * C["stem" if setting.theory.tied else "head"]
    if setting.pooled:
        mean = mean.unflatten(2, (B, T)).unflatten(1, (B, T)).mean((2, 4))
    noise.append(_kernel(out) - mean)
    if setting.theory.tied:
        own = setting.inputs.to(output.device)[..., None].expand(len(output), -1, -1, 1)
        found["contact", last] = output.gather(-1, own).double().square().flatten(1)
    return found, torch.cat([_upper(kernel) for kernel in noise], dim=1)


def controlled(values: torch.Tensor, controls: torch.Tensor) -> torch.Tensor:
    """Column means of `values` (draws, k) minus the part explained by zero-mean `controls`
    (draws, c).

    The coefficients for each half of the draws are fitted on the other half, so the means stay
    unbiased. With fewer than four draws per control nothing is fitted.
    """
    half = len(values) // 2
    if half < 2 * controls.shape[1] or not controls.shape[1]:
        return values.mean(0)
    total = torch.zeros_like(values[0])
    for fit, use in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        centred = controls[fit] - controls[fit].mean(0)
        moments, vectors = torch.linalg.eigh(centred.T @ centred)
        # Controls may be linearly dependent: directions without variance are left out.
        kept = moments > 1e-12 * moments.max()
        vectors, moments = vectors[:, kept], moments[kept]
        shared = vectors.T @ (centred.T @ (values[fit] - values[fit].mean(0)))
        coefficients = vectors @ (shared / moments[:, None])
        total = total + (values[use] - controls[use] @ coefficients).sum(0)
    return total / len(values)


def _kernel(z: torch.Tensor) -> torch.Tensor:
    """(draws, ..., n) -> (draws, N, N): mean of z_i z_i over n; the axes between make N."""
    flat = z.flatten(1, -2).double()
    return flat @ flat.mT / flat.shape[2]


def _upper(kernel: torch.Tensor) -> torch.Tensor:
    rows, columns = np.triu_indices(kernel.shape[1])
    return kernel[:, rows, columns]


@lru_cache(maxsize=8)
def expected_kernels(key: str, input_seed: int, points: int, scrambles: int):
    """(Solved, forward kernels) per scrambling, the same at every width. key: from `_key`."""
    model = json.loads(key)
    setting = build(model, model["heads"], input_seed)
    assert isinstance(setting, Solved), "else nothing is expected"
    return [
        (setting, theory.forward(setting.theory, setting.kernel, points=points, seed=scramble))
        for scramble in range(scrambles)
    ]


def expectation(
    setting: Solved, found: theory.Forward, width: int
) -> dict[tuple[str, int], np.ndarray]:
    """(quantity, block) -> the values that the recursions give for the entries of `kernels`."""
    B, T = setting.kernel.shape[:2]
    last = setting.theory.blocks
    result = {}
    for name, blocks in (("G", found.G), ("F", found.F)):
        for block, kernel in enumerate(blocks, start=1):
            result[name, block] = kernel.reshape(B * T, B * T)
    output = theory.pooled(found.output) if setting.pooled else found.output
    side = B if setting.pooled else B * T
    result["output", last] = output.reshape(side, side)
    result = {key: kernel[np.triu_indices(len(kernel))] for key, kernel in result.items()}
    if setting.theory.tied:
        own = np.einsum("atat->at", found.output)
        added = theory.contact(setting.theory, found, setting.inputs.numpy(), width)
        result["contact", last] = (own + added).ravel()
    return result


def _key(model: Mapping) -> str:
    """Of `expected_kernels`; settings may hold mappings themselves (a ViT's constants)."""
    return json.dumps(model, sort_keys=True)


def _stream(*key: int) -> int:
    return int(np.random.SeedSequence(key).generate_state(1)[0])
