"""How many units are copied together: read off a pass, axis by axis."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise
from widthwise.upscaling.growth import Growth

X = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
HEAD_DIM = 4


class Fused(nn.Module):
    """Attention as Phi-3's: two queries a key-value head, all three of one matrix. inside: the
    kernel repeats the heads."""

    inside = False

    def __init__(self, factor):
        super().__init__()
        self.kv, width = 2 * factor, 4 * HEAD_DIM * factor
        self.first, self.out = nn.Linear(6, width), nn.Linear(width, 3)
        self.qkv = nn.Linear(width, 4 * self.kv * HEAD_DIM)
        self.double()

    def forward(self, x):
        x = self.first(x)
        sizes = (2 * self.kv * HEAD_DIM, self.kv * HEAD_DIM, self.kv * HEAD_DIM)
        q, k, v = (
            part.unflatten(-1, (-1, HEAD_DIM)).transpose(1, 2)
            for part in self.qkv(x).split(sizes, -1)
        )
        if not self.inside:
            k, v = (t[:, :, None].expand(-1, -1, 2, -1, -1).flatten(1, 2) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, enable_gqa=self.inside)
        return self.out(y.transpose(1, 2).flatten(2))


class Inside(Fused):
    inside = True


class Biased(nn.Module):
    """Attention as Swin's: a bias for each head, given as the mask; then fused gates of a size that
    no head divides."""

    def __init__(self, factor):
        super().__init__()
        self.heads, width = 2 * factor, 2 * HEAD_DIM * factor
        self.first, self.qkv = nn.Linear(6, width), nn.Linear(width, 3 * width)
        self.bias = nn.Parameter(torch.randn(25, self.heads))
        self.gates, self.down = nn.Linear(width, 2 * 6 * factor), nn.Linear(6 * factor, width)
        self.out = nn.Linear(width, 3)
        self.double()

    def forward(self, x):
        x = self.first(x)
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, HEAD_DIM)).permute(2, 0, 3, 1, 4)
        bias = self.bias.view(5, 5, self.heads).permute(2, 0, 1)[None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + y.transpose(1, 2).flatten(2)
        gate, up = self.gates(x).chunk(2, -1)
        return self.out(x + self.down(F.silu(gate) * up))


class Routed(nn.Module):
    """Tokens go to the expert that a router takes; grouped heads behind it."""

    def __init__(self, factor):
        super().__init__()
        width = 8 * factor
        self.first, self.router = nn.Linear(6, width), nn.Linear(width, 3)
        self.up = nn.Parameter(torch.randn(3, width, 2 * 12 * factor))
        self.down = nn.Parameter(torch.randn(3, 12 * factor, width))
        self.kv, self.attention = 2 * factor, nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, 3)
        self.double()

    def forward(self, x):
        x = self.first(x).flatten(0, 1)
        values, chosen = self.router(x).softmax(-1).topk(1, -1)
        order = chosen[:, 0].argsort(stable=True)
        ends = F.one_hot(chosen[:, 0], 3).sum(0).cumsum(0).to(torch.int32)
        gate, up = torch._grouped_mm(x[order], self.up, offs=ends).chunk(2, -1)
        y = torch._grouped_mm(F.silu(gate) * up, self.down, offs=ends)
        x = x + torch.zeros_like(x).index_add(0, order, y) * values
        q, k, v = self.attention(x.unflatten(0, (3, 5))).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (-1, 4)).transpose(1, 2) for t in (q, k, v))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def steps_apart(narrow, wide, steps=5):
    """The largest difference of outputs over steps of training; (model, optimizer) each."""
    worst = 0.0
    for _ in range(steps):
        found = []
        for model, optimizer in (narrow, wide):
            optimizer.zero_grad()
            output = model(X)
            (output - torch.linspace(-1, 1, 3)).square().mean().backward()
            optimizer.step()
            found.append(output.detach())
        worst = max(worst, float((found[0] - found[1]).abs().max()))
    return worst


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3, weight_decay=0.1)


@pytest.mark.parametrize("kind", [Fused, Inside, Biased])
@pytest.mark.parametrize("factor", [2, 3])
def test_an_axis_is_copied_in_blocks_of_its_own(kind, factor):
    torch.manual_seed(0)
    model = kind(1)
    optimizer = adamw(model)
    wide, grown, growth = widthwise.widen(model, optimizer, factor, kind, X)
    assert growth.block is None
    assert steps_apart((model, optimizer), (wide, grown)) <= 1e-12


def test_the_blocks_are_the_heads():
    model = Fused(1)
    _, _, growth = widthwise.widen(model, None, 2, Fused, X)
    both = 2 * HEAD_DIM  # queries of one key-value head
    # The queries, then keys, then values.
    assert growth["qkv.weight"].block == (((16, both), (8, HEAD_DIM), (8, HEAD_DIM)), 1)
    assert growth["out.weight"].block == (1, both)
    _, _, growth = widthwise.widen(Biased(1), None, 2, Biased, X)
    assert growth["bias"].block == (1, 1) and growth["down.weight"].block == (HEAD_DIM, 1)
    assert growth["qkv.weight"].block == (HEAD_DIM, HEAD_DIM)


@pytest.mark.skipif(not hasattr(torch, "_grouped_mm"), reason="torch has no kernel for experts")
def test_experts_are_widened_though_their_kernel_knows_no_float64():
    """`torch._grouped_mm` takes float32 alone, so the twins in float64 could not run."""
    torch.manual_seed(0)
    model = Routed(1).float()
    wide, _, _ = widthwise.widen(model, None, 2, Routed, X.float())
    torch.testing.assert_close(wide(X.float()), model(X.float()))


def test_an_axis_of_parts_is_repeated_part_by_part_and_projected_back():
    growth = Growth((2,), (), (((4, 2), (2, 1)),))
    wide = growth.repeat(torch.arange(6.0))
    assert wide.tolist() == [0, 1, 0, 1, 2, 3, 2, 3, 4, 4, 5, 5]
    assert torch.equal(growth.project(wide), wide)
    assert growth.project(torch.arange(12.0)).tolist() == [
        1,
        2,
        1,
        2,
        5,
        6,
        5,
        6,
        8.5,
        8.5,
        10.5,
        10.5,
    ]
