"""Forty modules that users have, with what `widthwise.widen` is to make of each.

A case is (make: factor -> module, inputs, what comes of it): None where it is widened, else the
layer that a refusal names. Every size that does not grow is held fixed.
"""

# mypy: disable-error-code="union-attr,operator,index,assignment"
# torch types an attribute of a module as Tensor | Module.

from functools import cache, partial

import mup
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.zoo import hugging_face, small
from benchmarks.zoo.small import MLP, Tied

TOKENS = torch.arange(12).reshape(2, 6) % 11
ROWS = torch.randn(4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
IMAGES = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


class Mean(nn.Module):
    """Divides by the width."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        return x * (8 / self.width)


class Last(nn.Module):
    """The last state of a sequence."""

    def forward(self, x):
        return x[0][:, -1]


class Gated(nn.Module):
    """SwiGLU: gate and value in one matrix, in halves or by turns."""

    def __init__(self, width, by_turns):
        super().__init__()
        self.both, self.down, self.by_turns = (
            nn.Linear(width, 4 * width),
            nn.Linear(2 * width, width),
            by_turns,
        )

    def forward(self, x):
        x = self.both(x)
        gate, value = (x[..., ::2], x[..., 1::2]) if self.by_turns else x.chunk(2, -1)
        return self.down(F.silu(gate) * value)


class Flat(nn.Module):
    """Places and channels flattened, one order or the other."""

    def __init__(self, width, channels_last):
        super().__init__()
        self.conv, self.channels_last = nn.Conv2d(3, width, 3, stride=3), channels_last
        self.hidden, self.out = nn.Linear(4 * width, width), nn.Linear(width, 3)

    def forward(self, x):
        x = torch.tanh(self.conv(x))
        x = x.permute(0, 2, 3, 1) if self.channels_last else x
        return self.out(torch.tanh(self.hidden(x.flatten(1))))


class LoRA(nn.Module):
    """A frozen matrix and a trained one of low rank, which sums or averages over its input."""

    def __init__(self, width, mean):
        super().__init__()
        self.first, self.frozen = nn.Linear(5, width), nn.Linear(width, width)
        self.frozen.requires_grad_(False)
        self.a, self.b = nn.Linear(width, 2, bias=False), nn.Linear(2, width, bias=False)
        self.out, self.mean = nn.Linear(width, 3), Mean(width) if mean else nn.Identity()

    def forward(self, x):
        x = torch.tanh(self.first(x))
        return self.out(torch.tanh(self.frozen(x) + self.b(self.mean(self.a(x)))))


class Buffers(nn.Module):
    """Buffers that grow, count, and fall as the width grows."""

    def __init__(self, width):
        super().__init__()
        self.first, self.out = nn.Linear(5, width), nn.Linear(width, 3)
        self.register_buffer("average", torch.zeros(width))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("scale", torch.tensor(8 / width))

    def forward(self, x):
        x = torch.tanh(self.first(x))
        if self.training:
            with torch.no_grad():
                self.average.lerp_(x.detach().mean(0), 0.1)
                self.count.add_(1)
        return self.out((x - self.average) * self.scale)


class Mixer(nn.Module):
    """Tokens are mixed by a layer that grows too."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(5, width)
        self.tokens = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 4))
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        return self.out((x + self.tokens(x.T).T).mean(0, keepdim=True))


class Experts(nn.Module):
    """Experts weighted by a softmax; their number is the width."""

    def __init__(self, experts):
        super().__init__()
        self.router = nn.Linear(5, experts)
        self.up = nn.Parameter(torch.randn(experts, 5, 6))
        self.down = nn.Parameter(torch.randn(experts, 6, 3))

    def forward(self, x):
        hidden = torch.tanh(torch.einsum("bi,eih->beh", x, self.up))
        y = torch.einsum("beh,eho->beo", hidden, self.down)
        return (y * self.router(x).softmax(-1)[..., None]).sum(1)


class Dropped(nn.Module):
    """Dropout of a functional kind, and DropPath."""

    def __init__(self, width):
        from timm.layers import DropPath

        super().__init__()
        self.first, self.hidden = nn.Linear(5, width), nn.Linear(width, width)
        self.path, self.out = DropPath(0.3), nn.Linear(width, 3)

    def forward(self, x):
        x = F.dropout(torch.tanh(self.first(x)), 0.2, self.training)
        return self.out(x + self.path(self.hidden(x)))


class Noisy(nn.Module):
    """Draws random numbers in training and evaluation."""

    def __init__(self, width):
        super().__init__()
        self.first, self.out = nn.Linear(5, width), nn.Linear(width, 3)

    def forward(self, x):
        x = self.first(x)
        return self.out(x + torch.randn_like(x))


def mup_model(width):
    """The mup package's readout behind an MLP."""
    base, delta, model = (MLP(n, mup.MuReadout, 5, 3) for n in (8, 16, width))
    return mup.set_base_shapes(model, base, delta=delta)


def net(body, mean=False, inputs=5):
    """width -> input layer, a body, a readout that sums or averages."""
    return lambda w: nn.Sequential(
        nn.Linear(inputs, w), body(w), Mean(w) if mean else nn.Identity(), nn.Linear(w, 3)
    )


def image_net(body, mean=False):
    """As `net`, of channels."""
    return lambda w: nn.Sequential(
        nn.Conv2d(3, w, 3, padding=1),
        body(w),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        Mean(w) if mean else nn.Identity(),
        nn.Linear(w, 3),
    )


def vit(heads, scale=None, mean=False, drop_path=0.0):
    """A ViT's block of timm's: heads of them, which may grow; scale: of its logits."""

    def make(width):
        from timm.models.vision_transformer import Block

        block = Block(width, heads(width), qkv_bias=True, drop_path=drop_path)
        if scale:
            block.attn.scale, block.attn.fused_attn = scale(block.attn.head_dim), False
        mean_of = Mean(width) if mean else nn.Identity()
        readout = nn.Sequential(nn.LayerNorm(width), mean_of, nn.Linear(width, 3))
        first = nn.Sequential(nn.Linear(5, width), nn.Unflatten(0, (1, 4)))
        return nn.Sequential(first, block, readout)

    return make


def convnext(v2):
    """A block of timm's."""

    def make(width):
        from timm.models.convnext import ConvNeXtBlock

        return ConvNeXtBlock(width, ls_init_value=None if v2 else 0.1, use_grn=v2)

    return image_net(make, mean=True)


def basic_block(width):
    """torchvision's."""
    from torchvision.models.resnet import BasicBlock

    return BasicBlock(width, width)


def squeeze(reduction):
    """torchvision's squeeze and excitation; reduction: of the width."""

    def make(width):
        from torchvision.ops import SqueezeExcitation

        return SqueezeExcitation(width, reduction(width))

    return make


def averaging(model, mean):
    """mean: logits divided by the width."""
    if mean:
        factor = 8 / model.config.hidden_size
        model.lm_head.register_forward_hook(lambda layer, args, out: out * factor)
    return model


def gpt2(scale=None, mean=False, heads=lambda width: 2):
    """Hugging Face's."""

    def make(width):
        model = hugging_face.gpt2(width, heads(width), 1, vocab_size=11)
        if scale:
            model.transformer.h[0].attn.scaling = scale(width // heads(width))
        return averaging(model, mean)

    return make


def llama(heads, kv_heads, head_dim, scale=None, mean=False):
    """Hugging Face's; heads, kv_heads, head_dim: of the width."""

    def make(width):
        counts = {"num_key_value_heads": kv_heads(width), "head_dim": head_dim(width)}
        model = hugging_face.llama(width, heads(width), vocab_size=11, **counts)
        for layer in model.model.layers if scale else ():
            layer.self_attn.scaling = scale(head_dim(width))
        return averaging(model, mean)

    return make


def encoder(heads):
    """torch's encoder layer; heads: of the width."""
    return lambda w: nn.Sequential(
        nn.Linear(5, w),
        nn.Unflatten(0, (1, 4)),
        nn.TransformerEncoderLayer(w, heads(w), 2 * w, dropout=0.1, batch_first=True),
        nn.Linear(w, 3),
    )


def fixed(number):
    """The same at any width."""
    return lambda width: number


def recurrent(kind, mean):
    """A recurrent network, whose last state is read."""
    return lambda w: nn.Sequential(
        nn.Unflatten(1, (5, 1)),
        kind(1, w, batch_first=True),
        Last(),
        Mean(w) if mean else nn.Identity(),
        nn.Linear(w, 3),
    )


mlp = small.mlp(5, 3, act=nn.ReLU)


@cache
def cases():
    """Name -> (make, inputs, what a refusal says)."""
    over = 8**0.5

    def as_mean(head_dim):
        return over / head_dim

    return {
        # What Table 1 says, with readouts that average.
        "ViT block of timm, logits by 1/head_dim": (vit(fixed(2), as_mean, mean=True), ROWS, None),
        "ConvNeXt block of timm": (convnext(False), IMAGES, None),
        "ConvNeXt-V2 block of timm": (convnext(True), IMAGES, None),
        "BasicBlock of torchvision": (image_net(basic_block, mean=True), IMAGES, None),
        "squeeze and excitation, its reduction grows": (
            image_net(squeeze(lambda w: w // 2), mean=True),
            IMAGES,
            None,
        ),
        "GroupNorm, groups fixed": (
            image_net(lambda w: nn.GroupNorm(2, w), mean=True),
            IMAGES,
            None,
        ),
        "tied language model, logits by 1/n": (partial(Tied, mean=True), TOKENS, None),
        "LoRA, averaging": (lambda w: LoRA(w, True), ROWS, None),
        "buffers: moving average, counter, 1/n": (Buffers, ROWS, None),
        "LSTM": (recurrent(nn.LSTM, True), ROWS, None),
        "GRU": (recurrent(nn.GRU, False), ROWS, None),
        "SwiGLU by halves": (net(lambda w: Gated(w, False), mean=True), ROWS, None),
        "flattened, channels last": (lambda w: Flat(w, True), IMAGES, None),
        "GPT-2 of Hugging Face, 1/head_dim and 1/n": (gpt2(as_mean, mean=True), TOKENS, None),
        "Llama of Hugging Face, 1/head_dim and 1/n": (
            llama(fixed(2), fixed(1), lambda w: w // 2, as_mean, mean=True),
            TOKENS,
            None,
        ),
        # Wrong before, without a word or refused: right now.
        "plain MLP": (mlp, ROWS, None),
        "ViT block, heads grow": (vit(lambda w: w // 4), ROWS, None),
        "MLP-Mixer, token mixing grows": (Mixer, ROWS[:4], None),
        "squeeze and excitation, reduction fixed": (image_net(squeeze(fixed(4))), IMAGES, None),
        "readout of torchvision": (image_net(basic_block), IMAGES, None),
        "GroupNorm, groups grow": (image_net(lambda w: nn.GroupNorm(w // 4, w)), IMAGES, None),
        "grouped convolution, groups grow": (
            image_net(lambda w: nn.Conv2d(w, w, 3, groups=w // 2)),
            IMAGES,
            None,
        ),
        "pixel shuffle": (
            image_net(lambda w: nn.Sequential(nn.Conv2d(w, 4 * w, 3), nn.PixelShuffle(2))),
            IMAGES,
            None,
        ),
        "LoRA, summing": (lambda w: LoRA(w, False), ROWS, None),
        "SwiGLU by turns": (net(lambda w: Gated(w, True)), ROWS, None),
        "flattened, channels first": (lambda w: Flat(w, False), IMAGES, None),
        "Llama of Hugging Face, heads grow": (
            llama(lambda w: w // 4, lambda w: w // 8, fixed(4)),
            TOKENS,
            None,
        ),
        "Llama of Hugging Face, key-value heads fixed": (
            llama(lambda w: w // 4, fixed(1), fixed(4)),
            TOKENS,
            None,
        ),
        "GPT-2, heads grow, 1/n": (gpt2(mean=True, heads=lambda w: w // 4), TOKENS, None),
        "nn.TransformerEncoderLayer, heads grow": (encoder(lambda w: w // 4), ROWS, None),
        "experts are the width": (Experts, ROWS, None),
        "ViT block with DropPath, as it trains": (vit(lambda w: w // 4, drop_path=0.3), ROWS, None),
        "dropout by function, DropPath": (Dropped, ROWS, None),
        "mup's MuReadout": (mup_model, ROWS, None),
        # Not the same function at another width, whatever is done.
        "ViT block, head_dim grows": (
            vit(fixed(2)),
            ROWS,
            r"1\.attn: its output .* as 1 / head_dim",
        ),
        "tied language model": (
            Tied,
            TOKENS,
            r"readout: its output .*embedding.weight is a readout",
        ),
        "GPT-2 of Hugging Face": (gpt2(), TOKENS, r"transformer\.h\.0\.attn: .* as 1 / head_dim"),
        "Llama of Hugging Face, head_dim grows": (
            llama(fixed(2), fixed(1), lambda w: w // 2),
            TOKENS,
            r"layers\.0\.self_attn.* as 1 / head",
        ),
        "nn.TransformerEncoderLayer": (encoder(fixed(2)), ROWS, r"self_attn.* as 1 / head_dim"),
        "noise": (Noisy, ROWS, "draws random numbers"),
    }
