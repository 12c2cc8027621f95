"""What a GPU computes in another way than a CPU: the same numbers, on a CPU."""

import ast

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import flex_attention

from repro import backend
from repro.lineage.checkout import ROOT
from repro.models.blocks import GroupedQueryAttention, rotary_table
from repro.models.gpt2 import GPT2
from repro.models.llm import LLM

MEASURED = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=MEASURED)]


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """The CPU takes a GPU's ways."""
    monkeypatch.setattr(backend, "is_gpu", lambda device: True)


def with_gradients(function, *inputs):
    """What a function returns, and the gradients of the sum of its squares."""
    own = [x.clone().requires_grad_() for x in inputs]
    y = function(*own)
    return [y.detach(), *torch.autograd.grad(y.float().square().sum(), own)]


@pytest.mark.parametrize("vocabulary", [1, 63, 64, 257])
@pytest.mark.parametrize("half", [False, True])
def test_a_padded_readout_is_the_plain_one(as_on_a_gpu, vocabulary, half):
    generator = torch.Generator().manual_seed(1)
    dtype = torch.float32 if half else torch.float64
    x = torch.randn(2, 5, 16, generator=generator, dtype=dtype)
    weight = torch.randn(vocabulary, 16, generator=generator, dtype=dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        found = with_gradients(backend.readout, x, weight)
        expected = with_gradients(F.linear, x, weight)
    assert found[0].shape == (2, 5, vocabulary)
    assert found[0].dtype == (torch.bfloat16 if half else dtype)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        torch.testing.assert_close(one, other)


def test_on_a_gpu_the_logits_lie_in_rows_that_its_kernels_can_read():
    """GPT-2's 50,257, whose rows of bfloat16 begin at odd places; on a CPU nothing is padded."""
    with torch.device("meta"):
        net = GPT2(
            vocab_size=50_257,
            sequence_length=8,
            depth=1,
            heads=2,
            width=16,
            base_width=16.0,
            attention_constant=8.0,
            embedding_std=0.02,
            output_multiplier=1.0,
        )
        logits = net(torch.zeros(2, 8, dtype=torch.int64))
    assert logits.shape == (2, 8, 50_257) and logits.stride() == (8 * 50_304, 50_304, 1)
    assert 50_304 % backend.ALIGNED == 0
    assert backend.readout(torch.ones(3, 4), torch.ones(5, 4)).is_contiguous()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("length", "window"), [(24, 5), (160, 130), (300, 128)])
def test_attention_by_blocks_is_attention_under_the_window_s_mask(
    monkeypatch, device, length, window
):
    """As on a GPU: torch's attention by blocks, on a CPU neither compiled nor fused."""
    generator = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(2, heads, length, 16, generator=generator) for heads in (4, 2, 2))
    q, k, v = (x.to(device) for x in (q, k, v))
    place = torch.device(device)
    if device == "cpu":
        monkeypatch.setattr(flex_attention, "_validate_device", lambda *tensors: None)
        monkeypatch.setattr(backend, "_compiled", lambda function: function)
    blocks = backend._block_mask(length, window, place)
    dense = backend.sliding_window(length, window, place)
    found, expected = (
        with_gradients(lambda *x, mask=mask: backend.attention_in_window(*x, mask), q, k, v)
        for mask in (blocks, dense)
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-4)
    assert backend._block_mask(length, window, place) is blocks, "one for all layers and steps"


def test_a_layer_with_attention_by_blocks_is_one_graph(monkeypatch):
    """As the compiler takes it on a GPU; here it is traced, and kernels are not made."""
    monkeypatch.setattr(flex_attention, "_validate_device", lambda *tensors: None)
    layer, x = GroupedQueryAttention(32, 4, 2, 8), torch.randn(1, 140, 32)
    table, place = rotary_table(140, 8), torch.device("cpu")
    forward = torch.compile(layer.forward, backend="aot_eager", fullgraph=True)
    found, expected = (
        with_gradients(lambda x, take=take, mask=mask: take(x, table, mask), x)
        for take, mask in (
            (forward, backend._block_mask(140, 64, place)),
            (layer, backend.sliding_window(140, 64)),
        )
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-4)


def test_a_gpu_takes_blocks_where_it_can_compile_and_no_mask_where_the_window_holds_all(
    monkeypatch,
):
    cuda = torch.device("cuda")
    monkeypatch.setattr(backend, "_block_mask", lambda *shape: shape)
    monkeypatch.setattr(backend, "sliding_window", lambda *shape: ("dense", *shape))
    monkeypatch.setattr(backend, "can_compile", lambda: True)
    assert backend.window_mask(64, 16, 16, cuda) == (64, 16, cuda)
    assert backend.window_mask(64, 16, 16, torch.device("cpu"))[0] == "dense"
    assert backend.window_mask(64, 64, 16, cuda) is None
    assert backend.window_mask(64, 16, 8, cuda)[0] == "dense", "there is no such kernel"
    monkeypatch.setattr(backend, "can_compile", lambda: False)
    assert backend.window_mask(64, 16, 16, cuda)[0] == "dense"


def test_attention_by_blocks_is_given_heads_that_lie_in_one_piece(monkeypatch):
    """Found in review: compiled on a CPU, transposed heads gave logits that were 1.9 off."""
    seen = []
    monkeypatch.setattr(backend, "_flex_attention", lambda: lambda *x, **_: seen.extend(x))
    transposed = (torch.zeros(1, 20, heads, 16).transpose(1, 2) for heads in (4, 2, 2))
    backend.attention_in_window(*transposed, object())
    assert [x.is_contiguous() for x in seen] == [True] * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_heads_that_share_keys_are_repeated_or_grouped(as_on_a_gpu, monkeypatch, dtype):
    """In half precision and without a mask a GPU's kernel takes the groups as they are."""
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, h, 9, 8, generator=generator).to(dtype) for h in (4, 2, 2))
    found = backend.attention_in_window(q, k, v, None)
    monkeypatch.setattr(backend, "is_gpu", lambda device: False)
    torch.testing.assert_close(found, backend.attention_in_window(q, k, v, None))


def test_the_backend_alone_names_devices():
    """What trains asks it, so that a device is added in one file."""
    folders = ("models", "tasks", "training", "theory")
    named = {}
    for path in (path for folder in folders for path in (ROOT / "repro" / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            text = ast.unparse(node) if isinstance(node, ast.expr) else ""
            compared = isinstance(node, ast.Compare) and ".type" in text
            if compared or text in ("'cuda'", "torch.cuda") or text.endswith(".is_cuda"):
                named.setdefault(path.name, []).append(text)
    assert not named


def test_compiling_needs_what_triton_includes_and_a_kernel_that_is_right(monkeypatch, capsys):
    """Found in review: a Python without its headers passed, and crashed in the first step."""
    can = backend.can_compile.__wrapped__
    monkeypatch.setattr(backend, "find_spec", lambda name: object())
    monkeypatch.setattr(backend.shutil, "which", lambda name: "/usr/bin/cc")
    monkeypatch.setattr(backend, "compiles_a_kernel", lambda: True)
    monkeypatch.setattr(backend.sysconfig, "get_path", lambda name: "/nowhere")
    assert not can()
    monkeypatch.undo()

    def fail(function):
        raise RuntimeError("cc: no such file\nand more")

    monkeypatch.setattr(torch, "compile", fail)
    assert not backend.compiles_a_kernel("cpu")
    assert capsys.readouterr().out == "nothing is compiled here: RuntimeError: cc: no such file\n"
    monkeypatch.setattr(torch, "compile", lambda function: function)
    assert backend.compiles_a_kernel("cpu")
    monkeypatch.setattr(torch, "compile", lambda function: lambda x: x)
    assert not backend.compiles_a_kernel("cpu")


# What torch's kernels by blocks refuse on CUDA (torch/_inductor/kernel/flex/flex_attention.py and
# torch/nn/attention/flex_attention.py, 2.13), besides what they read wrongly.
REFUSED_BY_BLOCKS = {
    "heads of fewer than 16 entries": lambda q, k, v: min(x.shape[-1] for x in (q, k, v)) < 16,
    "other dtypes of query, key and value": lambda q, k, v: len({x.dtype for x in (q, k, v)}) > 1,
    "query heads that are no multiple of key heads": lambda q, k, v: q.shape[1] % k.shape[1],
    "heads in several pieces": lambda *heads: not all(x.is_contiguous() for x in heads),
}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(("entries", "by_blocks"), [(16, True), (8, False)])
def test_a_model_gives_kernels_by_blocks_nothing_that_they_refuse(
    monkeypatch, precision, entries, by_blocks
):
    """As on a GPU, with a kernel in their place that refuses what they do."""
    asked = []

    def kernel(q, k, v, *, block_mask, enable_gqa):
        asked.append([why for why, refuses in REFUSED_BY_BLOCKS.items() if refuses(q, k, v)])
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        seen = backend.sliding_window(40, 24)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)

    window_mask, dense = backend.window_mask, backend.sliding_window
    monkeypatch.setattr(backend, "_flex_attention", lambda: kernel)
    monkeypatch.setattr(backend, "can_compile", lambda: True)
    monkeypatch.setattr(backend, "_block_mask", lambda *shape: object())
    monkeypatch.setattr(
        backend, "sliding_window", lambda length, window, _=None: dense(length, window)
    )
    torch.manual_seed(0)
    sizes = {"depth": 2, "width": 64, "heads": 4, "kv_heads": 2, "inner": 128}
    heads = {"head_dim": entries, "rotary_dim": entries, "window": 24, "sequence_length": 40}
    net = LLM(vocab_size=97, **sizes, **heads, base_width=1, output_multiplier=1.0)
    tokens = torch.randint(97, (2, 40))
    with backend.autocast(torch.device("cpu"), precision):
        expected = net(tokens)
        monkeypatch.setattr(
            backend, "window_mask", lambda *sizes: window_mask(*sizes[:3], torch.device("cuda"))
        )
        found = net(tokens)
    assert asked == ([[], []] if by_blocks else [])
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
