"""What a user would write in plain PyTorch, or take from timm and torchvision, in a model's place.

Of the same shapes, with a loss, an optimizer and gradient clipping of the same kind: what
`benchmarks/step.py` times beside the suite's own step. There is one of `decoder` and `gpt2` (as in
nanoGPT), of `mlp`, of `vit` (timm's, which has biases, gains and a convolution for its patches), of
`resnet` (torchvision's blocks behind the stem for small images; its ReLUs work in place) and of
`bart` and `r2c2` (torch's own Transformer layers, without biases but with gains).
"""

from collections.abc import Callable, Mapping
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from repro import backend
from repro.cost.bart import denoising_vocabulary_size
from repro.data.denoising import PADDING


class Block(nn.Module):
    """Causal attention and an MLP without biases, each with a LayerNorm before or behind it."""

    def __init__(self, width: int, heads: int, expansion: int, pre_norm: bool, gains: bool):
        super().__init__()
        self.heads, self.pre_norm = heads, pre_norm
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(width, expansion * width, bias=False),
            nn.GELU(),
            nn.Linear(expansion * width, width, bias=False),
        )
        self.norm1, self.norm2 = (
            nn.LayerNorm(width, elementwise_affine=gains, bias=False) for _ in range(2)
        )

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, T, D)."""
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(B, T, D))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, T, D)."""
        if self.pre_norm:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Decoder(nn.Module):
    """Token ids (B, T) -> logits (B, T, V).

    tied: as GPT-2: readout tied to the embedding, learned positions, gains of LayerNorms.
    """

    def __init__(
        self, data: Mapping, width: int, depth: int, heads: int, expansion: int, norm: str, tied
    ):
        super().__init__()
        self.embedding = nn.Embedding(data["vocab_size"], width)
        positions = torch.randn(data["sequence_length"], width)
        self.positions = nn.Parameter(positions, requires_grad=tied)
        pre = norm == "pre"
        blocks: list[nn.Module] = [
            Block(width, heads, expansion, pre, gains=tied) for _ in range(depth)
        ]
        if pre:
            blocks.append(nn.LayerNorm(width, elementwise_affine=tied, bias=False))
        self.blocks = nn.Sequential(*blocks)
        self.readout = nn.Linear(width, data["vocab_size"], bias=False)
        if tied:
            self.readout.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits."""
        x = self.embedding(tokens) + self.positions[: tokens.shape[1]]
        return self.readout(self.blocks(x))


def mlp(model: Mapping) -> nn.Module:
    """Linear layers and ReLUs."""
    sizes = [model["inputs"], *[model["width"]] * model["hidden_layers"]]
    layers = [
        layer
        for inputs, outputs in zip(sizes, sizes[1:], strict=False)
        for layer in (nn.Linear(inputs, outputs), nn.ReLU())
    ]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], model["classes"]))


def resnet(model: Mapping) -> nn.Module:
    """torchvision's basic blocks, two in each of four stages."""
    from torchvision.models.resnet import BasicBlock

    sizes = [int(channels * model["width"]) for channels in (64, 128, 256, 512)]
    stem = nn.Conv2d(3, sizes[0], 3, padding=1, bias=False)
    layers = [stem, nn.BatchNorm2d(sizes[0]), nn.ReLU(inplace=True)]
    for before, size in zip([sizes[0], *sizes], sizes, strict=False):
        stride, shortcut = 1, None
        if before != size:
            stride = 2
            narrow = nn.Conv2d(before, size, 1, stride, bias=False)
            shortcut = nn.Sequential(narrow, nn.BatchNorm2d(size))
        layers += [BasicBlock(before, size, stride, shortcut), BasicBlock(size, size)]
    end = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(sizes[-1], model["classes"])
    return nn.Sequential(*layers, *end)


def vit(model: Mapping) -> nn.Module:
    """timm's, without a class token, the tokens averaged behind the last LayerNorm."""
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(
        img_size=model["resolution"],
        patch_size=model["patch"],
        num_classes=model["classes"],
        embed_dim=model["width"],
        depth=model["depth"],
        num_heads=model["heads"],
        mlp_ratio=model["expansion"],
        qkv_bias=False,
        class_token=False,
        global_pool="avg",
        fc_norm=False,
    )


class EncoderDecoder(nn.Module):
    """Token ids, corrupted (B, S) and original (B, T), -> logits (B, T, V), tied as BART's."""

    causal: torch.Tensor

    def __init__(self, model: Mapping, vocab_size: int, length: int):
        super().__init__()
        width = model["width"]
        shape: dict = {"d_model": width, "nhead": model["heads"], "dropout": model["dropout"]}
        shape |= {"dim_feedforward": model["expansion"] * width, "activation": "gelu"}
        shape |= {"batch_first": True, "norm_first": True, "bias": False}
        ends = [nn.LayerNorm(width, bias=False) for _ in range(2)]
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**shape), model["depth"], ends[0], enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**shape), model["depth"], ends[1]
        )
        self.embedding = nn.Embedding(vocab_size, width)
        self.positions = nn.ParameterList(torch.randn(length, width) for _ in range(2))
        causal = nn.Transformer.generate_square_subsequent_mask(length)
        self.register_buffer("causal", causal, persistent=False)

    def embed(self, tokens: torch.Tensor, side: int) -> torch.Tensor:
        """(B, T) -> (B, T, D). side: 0 for the encoder's positions, 1 for the decoder's."""
        return self.embedding(tokens) + self.positions[side][: tokens.shape[1]]

    def forward(self, source: torch.Tensor, previous: torch.Tensor) -> torch.Tensor:
        """Logits."""
        padding, length = source == PADDING, previous.shape[1]
        read = self.encoder(self.embed(source, 0), src_key_padding_mask=padding)
        written = self.decoder(
            self.embed(previous, 1),
            read,
            tgt_mask=self.causal[:length, :length],
            tgt_is_causal=True,
            memory_key_padding_mask=padding,
        )
        return F.linear(written, self.embedding.weight)


def build(spec: Mapping) -> nn.Module | None:
    """The plain model of a spec's shapes; None if there is none of its kind."""
    model = spec["model"]
    if model["name"] == "decoder":
        heads = model["width"] // model["head_dim"]
        shape = model["width"], model["depth"], heads, model["expansion"]
        return Decoder(spec["data"], *shape, model["norm"], tied=False)
    if model["name"] == "gpt2":
        shape = model["width"], model["depth"], model["heads"], 4
        return Decoder(spec["data"], *shape, "pre", tied=True)
    if model["name"] == "bart":
        vocab_size = denoising_vocabulary_size(spec["data"]["vocab_size"])
        return EncoderDecoder(model, vocab_size, spec["data"]["sequence_length"])
    kinds = {"mlp": mlp, "resnet": resnet, "vit": vit}
    return kinds[model["name"]](model) if model["name"] in kinds else None


def stepper(
    spec: Mapping, batch: tuple[torch.Tensor, ...], device: torch.device, compile: bool = False
) -> Callable[[int], None] | None:
    """A function that takes so many steps on a batch; None if there is no plain model.

    compile: by torch.compile, the model as a whole.
    """
    model = build(spec)
    if model is None:
        return None
    model, settings = model.to(device), spec["optimizer"]
    kinds: dict[str, Callable[..., torch.optim.Optimizer]] = {
        "sgd": partial(torch.optim.SGD, momentum=settings.get("momentum", 0.0)),
        "adam": partial(torch.optim.Adam, betas=settings.get("betas")),
        "adamw": partial(torch.optim.AdamW, betas=settings.get("betas")),
    }
    trained = [p for p in model.parameters() if p.requires_grad]
    decay = settings["weight_decay"]
    optimizer = kinds[settings["name"]](trained, lr=1e-3, weight_decay=decay, fused=True)
    forward = torch.compile(model) if compile else model
    parts, read = spec["microbatches"], len(batch) // 2  # tensors that the model reads; then labels
    smoothing = spec.get("label_smoothing", 0.0)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        for part in zip(*(tensor.chunk(parts) for tensor in batch), strict=True):
            inputs, labels = part[:read], part[read]
            with backend.autocast(device, spec["precision"]):
                logits = forward(*inputs).flatten(0, -2)
                loss = F.cross_entropy(logits, labels.flatten(), label_smoothing=smoothing)
            (loss / parts if parts > 1 else loss).backward()
        if settings.get("clip"):
            torch.nn.utils.clip_grad_norm_(trained, settings["clip"]["norm"])
        optimizer.step()

    def steps(count: int) -> None:
        for _ in range(count):
            step()

    return steps
