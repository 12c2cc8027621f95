"""Recipes that people run, each made small from a checkout of its repository; nothing of theirs is
here. Their modules are imported, or the definitions of a script are, without its run."""

import ast
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks._checkouts import (
    ADAMW_RATE,
    BASE,
    BATCH,
    HEAD_DIM,
    LAYERS,
    LENGTH,
    VOCABULARY,
    Line,
    Made,
    Optimizer,
    Recipe,
    cross_entropy,
    drawn,
    module,
    package,
    parts,
    text,
)
from benchmarks._speed_runs import nanochat, track_3


def nano_gpt_mup(checkout: Path, **more: Any) -> Made:
    """The path of training, which is given its targets; without them it samples."""
    gpt = module(checkout / "model.py", checkout.name.replace("-", "_"))

    def sized(width: int, **rules: Any) -> nn.Module:
        return gpt.GPT(
            gpt.GPTConfig(
                block_size=LENGTH,
                vocab_size=VOCABULARY,
                n_layer=LAYERS,
                n_head=width // HEAD_DIM,
                n_embd=width,
                bias=False,
                **rules,
            )
        )

    def make(width: int) -> nn.Module:
        return sized(width, mup_enabled=True, mup_width_multiplier=width / BASE, **more)

    def optimizer(model: Any) -> torch.optim.Optimizer:
        eps = {"adam_eps": 1e-8} if more else {}
        found = model.configure_optimizers(
            weight_decay=0.1, learning_rate=ADAMW_RATE, betas=(0.9, 0.95), device_type="cpu", **eps
        )
        for group in found.param_groups:  # as train.py does at every step
            group["lr"] *= group.get("lr_scale", 1.0)
        return found

    def batches(seed: int) -> list:
        return [((inputs, targets), targets) for inputs, targets in text(seed)]

    def loss(model: nn.Module, batch: tuple) -> torch.Tensor:
        return model(*batch[0])[1]

    def mend(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for group in optimizer.param_groups:
            group["weight_decay"] /= group["lr_scale"]

    return Made(make, optimizer, sized, batches, loss, None if more else mend)


def complete_p(checkout: Path) -> Made:
    return nano_gpt_mup(checkout, depth_alpha_enabled=True)


def mup_mlp(checkout: Path) -> Made:
    mup = package(checkout, "mup")

    arguments = types.SimpleNamespace(output_mult=1.0, init_std=1.0)
    known = {"nn": nn, "F": functional, "MuReadout": mup.MuReadout, "args": arguments}
    path = checkout / "examples" / "MLP" / "main.py"
    parts(path, lambda node: isinstance(node, ast.ClassDef) and node.name == "MLP", known)
    mlp = known["MLP"]

    def make(width: int) -> nn.Module:
        model = mlp(width)
        mup.set_base_shapes(model, mlp(BASE), delta=mlp(2 * BASE))
        return model

    def plain(width: int) -> nn.Module:
        model = mlp(width)
        mup.set_base_shapes(model, None)
        return model

    def batches(seed: int) -> list:
        inputs = torch.randn(16, 3072, generator=drawn(seed))
        return [(inputs, torch.randint(10, (16,), generator=drawn(seed + 1)))]

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return mup.MuSGD(model.parameters(), lr=0.1, momentum=0.9)

    return Made(make, optimizer, plain, batches, cross_entropy)


class Layers(nn.Module):
    """In place of torch's TransformerEncoder, which today passes layers more than theirs take."""

    def __init__(self, layers: nn.ModuleList) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, stream: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            stream = layer(stream, mask)
        return stream


def mup_transformer(kind: str, rate: float) -> Callable[[Path], Made]:
    """The example with the optimizer of that name at the rate of its readme, and two heads, as it
    has them; without dropout, whose noise would hide slopes. Plain: its `standparam`, with heads
    of one size, since muP divides the logits of heads that grow, which the module makes itself."""

    def build(checkout: Path) -> Made:
        mup = package(checkout, "mup")
        example = module(checkout / "examples" / "Transformer" / "model.py", "mup_transformer")
        arguments = types.SimpleNamespace(attn_mult=1, output_mult=1)

        def sized(width: int, heads: int = 2, **more: Any) -> nn.Module:
            model = example.TransformerModel(
                arguments, VOCABULARY, width, heads, width, LAYERS, dropout=0, bias=False, **more
            )
            model.transformer_encoder = Layers(model.transformer_encoder.layers)
            return model

        def make(width: int) -> nn.Module:
            model = sized(width)
            mup.set_base_shapes(model, sized(BASE), delta=sized(2 * BASE))
            return model

        def plain(width: int) -> nn.Module:
            return sized(width, width // HEAD_DIM, standparam=True)

        def optimizer(model: nn.Module) -> torch.optim.Optimizer:
            return getattr(mup, kind)(model.parameters(), lr=rate)

        def batches(seed: int) -> list:
            """A sequence a column, as the example has them."""
            return [(inputs.t().contiguous(), targets.t()) for inputs, targets in text(seed)]

        return Made(make, optimizer, plain, batches, cross_entropy)

    return build


def mup_resnet(checkout: Path) -> Made:
    """18 layers for CIFAR's size, the first of a quarter of the width, with MuSGD as the example
    has it."""
    mup = package(checkout, "mup")
    example = module(checkout / "examples" / "ResNet" / "resnet.py", "mup_resnet")

    def sized(width: int) -> nn.Module:
        return example.ResNet18(wm=width / (4 * BASE))

    def make(width: int) -> nn.Module:
        model = sized(width)
        mup.set_base_shapes(model, sized(BASE), delta=sized(2 * BASE))
        return model

    def plain(width: int) -> nn.Module:
        model = sized(width)
        mup.set_base_shapes(model, None)
        return model

    def batches(seed: int) -> list:
        images = torch.randn(16, 3, 32, 32, generator=drawn(seed))
        return [(images, torch.randint(10, (16,), generator=drawn(seed + 1)))]

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return mup.MuSGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

    return Made(make, optimizer, plain, batches, cross_entropy)


def adamw(decay: float, **more: Any) -> Optimizer:
    """One rate and one decay for all parameters."""
    return lambda model: torch.optim.AdamW(
        model.parameters(), lr=ADAMW_RATE, weight_decay=decay, **more
    )


def matrices(model: nn.Module, within: str) -> list[nn.Parameter]:
    """Those of the layers whose names begin so: each reads the width."""
    return [p for name, p in model.named_parameters() if name.startswith(within) and p.ndim == 2]


def slowed(optimizer: torch.optim.Optimizer, reading: list[nn.Parameter], wider: float) -> None:
    """Give tensors of an optimizer of one group a rate as 1/width, and a decay times the width."""
    (group,) = optimizer.param_groups
    chosen = {id(p) for p in reading}
    others = [p for p in group["params"] if id(p) not in chosen]
    assert len(others) + len(reading) == len(group["params"])
    group["params"] = others
    rate, decay = group["lr"] / wider, group["weight_decay"] * wider
    optimizer.add_param_group({"params": reading, "lr": rate, "weight_decay": decay})


def scaled(tensors: list[nn.Parameter], factor: float) -> None:
    """Make tensors larger before training."""
    for each in tensors:
        each.data *= factor


def lingua(checkout: Path) -> Made:
    """With attention by torch, so that xformers, which it imports, need not be there."""
    for name in ("xformers", "xformers.ops"):
        sys.modules.setdefault(name, types.ModuleType(name))
    for name in ("fmha", "AttentionBias"):
        setattr(sys.modules["xformers.ops"], name, types.SimpleNamespace)
    transformer = package(checkout, "apps.main.transformer")

    def make(width: int) -> nn.Module:
        model = transformer.LMTransformer(
            transformer.LMTransformerArgs(
                dim=width,
                n_layers=LAYERS,
                n_heads=width // HEAD_DIM,
                vocab_size=VOCABULARY,
                max_seqlen=LENGTH,
                multiple_of=32,
            )
        )
        model.init_weights()
        return model

    def mend(model: Any, optimizer: torch.optim.Optimizer) -> None:
        wider = model.dim / BASE
        slowed(optimizer, [*matrices(model, "layers."), model.output.weight], wider)
        scaled([model.tok_embeddings.weight], wider**0.5)
        scaled([model.output.weight], wider**-0.5)

    return Made(make, adamw(0.1, betas=(0.9, 0.95)), make, text, cross_entropy, mend)


class Causal(nn.Module):
    """Attention by torch over a sequence of (tokens, heads, head_dim)."""

    def forward(self, q: Any, k: Any, v: Any, *, scale: float | None = None, **more: Any) -> Any:
        q, k, v = (each.transpose(0, 1) for each in (q, k, v))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
        return seen.transpose(0, 1)


def torchtitan(checkout: Path) -> Made:
    """Llama 3 as its configurations make it, with attention by torch, since theirs is compiled. A
    batch is one sequence, as their packed ones are."""
    llama = package(checkout, "torchtitan.models.llama3")

    def make(width: int) -> nn.Module:
        heads = width // HEAD_DIM
        config = llama.Llama3Model.Config(
            dim=width,
            vocab_size=VOCABULARY,
            tok_embeddings=llama.Embedding.Config(
                num_embeddings=VOCABULARY,
                embedding_dim=width,
                param_init=llama._EMBEDDING_INIT,
            ),
            norm=llama.RMSNorm.Config(normalized_shape=width, param_init=llama._NORM_INIT),
            lm_head=llama.Linear.Config(
                in_features=width,
                out_features=VOCABULARY,
                param_init=llama._output_linear_init(width),
            ),
            layers=llama._build_llama3_layers(
                n_layers=LAYERS,
                dim=width,
                n_heads=heads,
                hidden_dim=3 * width,
                rope=llama.ComplexRoPE.Config(
                    dim=HEAD_DIM, max_context_length=BATCH * LENGTH, theta=500000, scaling="llama"
                ),
                attn_backend="flex",
            ),
        )
        model = config.build()
        for layer in model.layers.values():
            layer.attention.inner_attention = Causal()
        model.init_states()
        return model

    def batches(seed: int) -> list:
        return [(inputs.flatten(), targets.flatten()) for inputs, targets in text(seed)]

    def mend(model: Any, optimizer: torch.optim.Optimizer) -> None:
        wider = model.lm_head.weight.shape[1] / BASE
        within = matrices(model, "layers.")
        slowed(optimizer, [*within, model.lm_head.weight], wider)
        scaled([*within, model.lm_head.weight], wider**-0.5)

    return Made(make, adamw(0.1, betas=(0.9, 0.95)), make, batches, cross_entropy, mend)


def hugging_face(kind: str) -> Callable[[Path], Made]:
    """A model as its configuration makes it, with AdamW as `Trainer` has it."""

    def build(checkout: Path) -> Made:
        import transformers

        def make(width: int) -> nn.Module:
            heads = width // HEAD_DIM
            config = {
                "GPT2": lambda: transformers.GPT2Config(
                    vocab_size=VOCABULARY,
                    n_positions=LENGTH,
                    n_embd=width,
                    n_layer=LAYERS,
                    n_head=heads,
                    resid_pdrop=0.0,
                    embd_pdrop=0.0,
                    attn_pdrop=0.0,
                ),
                "Llama": lambda: transformers.LlamaConfig(
                    vocab_size=VOCABULARY,
                    hidden_size=width,
                    intermediate_size=4 * width,
                    num_hidden_layers=LAYERS,
                    num_attention_heads=heads,
                    num_key_value_heads=heads,
                    max_position_embeddings=LENGTH,
                ),
            }[kind]()
            config.use_cache = False
            return transformers.AutoModelForCausalLM.from_config(config)

        def mend(model: Any, optimizer: torch.optim.Optimizer) -> None:
            wider = model.config.hidden_size / BASE
            within = matrices(model, "transformer.h." if kind == "GPT2" else "model.layers.")
            if kind == "GPT2":  # whose readout is the embedding
                model.lm_head.register_forward_pre_hook(lambda _, given: (given[0] / wider,))
                slowed(optimizer, within, wider)
            else:
                slowed(optimizer, [*within, model.lm_head.weight], wider)
                scaled([model.lm_head.weight], 1 / wider)
            scaled(within, wider**-0.5)

        return Made(make, adamw(0.0), make, text, cross_entropy, mend)

    return build


def sampled(number: int) -> Line:
    """Of both branches of nanoGPT-mup."""
    return Line(
        "model.py",
        (number,),
        "without targets, as in sampling, logits lack the factor that they have with targets. "
        "Training does not see it",
        "samples of a model m times as wide as its base are drawn as at temperature 1/m",
        "the same factor there",
        trained=False,
    )


ONE_RATE = (
    "at four times the width, a step moves what a matrix returns four times as much, so that each "
    "size needs a rate of its own",
    "for matrices that read the width a rate as 1/width, and a weight decay times the width",
)
ONE_SPREAD = (
    "standard deviation is 0.02 at every width, where one by fan-in falls as width^-1/2",
    "at four times the width, a matrix of a layer returns twice as much at the start",
    "for the layers' matrices a number for each width, as width^-1/2",
)
READOUT = (
    "the readout starts as width^-1/2",
    "at four times the width, the layers' updates do twice as much to the loss, even with the "
    "rates above",
    "as 1/width",
)
MUP = "19814971934ef91dd546f88e913fc963e096d11c"
GPT2, LLAMA = (
    f"src/transformers/models/{name}/configuration_{name}.py" for name in ("gpt2", "llama")
)
TIED, UNTIED = "src/transformers/models/gpt2/modeling_gpt2.py", "src/transformers/modeling_utils.py"
TRAINER = Line(
    "src/transformers/trainer.py",
    (1273,),
    "`Trainer` by default has one rate for all parameters. Its `optimizers=` takes any other",
    *ONE_RATE,
)
SIZES = "a configuration a size, each with a rate of its own"
RECIPES = {
    "nanochat": Recipe(
        "karpathy/nanochat",
        "92d63d4e8bb4df75c3b71618f31ddde2378b2bcd",
        "a family of sizes by `--depth`, whose width grows with the depth; rates tuned 768 wide",
        nanochat,
        (
            Line(
                "nanochat/gpt.py",
                (433, 440),
                "the embedding's rate falls as width^-1/2. muP has a constant. Where the "
                "vocabulary is large, as it is there and is not here, [Hayou & "
                "Liu](https://arxiv.org/abs/2506.15025) argue for the rule of this line",
                "at four times the width, a step moves the embedding half as much",
                "a constant rate",
            ),
            Line(
                "nanochat/gpt.py",
                (439,),
                "the readout's rate falls as width^-1/2",
                "at four times the width, a step of the readout moves the logits twice as much",
                "as 1/width, with a weight decay times the width",
            ),
            Line(
                "nanochat/gpt.py",
                (250, 441),
                "value embeddings start as width^-1/2, and so falls their rate",
                "at four times the width, they add half as much to attention's values",
                "both constant, as of every embedding",
            ),
            Line(
                "nanochat/optim.py",
                (159, 161),
                "an update gets the size of one of full rank, which a batch of fewer tokens than "
                "the width does not give. With the 32 tokens here the effect of attention's c_proj "
                "grows or cannot be told",
                "nothing: the batches that it trains on have more tokens than the width",
                "none is needed there; here the update's size is left as it is",
            ),
        ),
    ),
    "modded-nanogpt, track 3": Recipe(
        "KellerJordan/modded-nanogpt",
        "f411b3d346aa52d3504324ca93c230fd84c6c07f",
        "one width, 768, at which optimizers are compared; it claims no transfer",
        track_3,
        (
            Line(
                "records/track_3_optimization/train_gpt_simple.py",
                (288,),
                "the readout's rate is one number",
                "nothing at 768; at four times the width, a step of the readout moves the logits "
                "four times as much",
                "for other widths as 1/width, with a weight decay times the width",
            ),
        ),
    ),
    "nanoGPT-mup": Recipe(
        "EleutherAI/nanoGPT-mup",
        "b2a5e60948d2e11885dc76c1355af98705f54a70",
        "muP for widths, as a reference to read",
        nano_gpt_mup,
        (
            Line(
                "model.py",
                (319,),
                "hidden layers' rate falls as 1/width, and what a step's decay takes away is rate "
                "times decay, so that it fades as 1/width. Whether it should is an open question. "
                "Forward pass, initial values and rates are muP's",
                "at four times the width, a step's decay takes away a quarter as much",
                "divide the decay by the same factor, as the completep branch does in its line 349",
            ),
            sampled(225),
        ),
    ),
    "nanoGPT-mup, completep": Recipe(
        "EleutherAI/nanoGPT-mup",
        "6f8bc3bdc744556141255f810a22387b2255b6c1",
        "CompleteP for widths and depths, as a reference to read; here widths alone",
        complete_p,
        (sampled(232),),
    ),
    "mup, MLP": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, with MuSGD",
        mup_mlp,
    ),
    "mup, Transformer, MuAdam": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, at its readme's rate",
        mup_transformer("MuAdam", 0.01),
    ),
    "mup, Transformer, MuSGD": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, at its readme's rate",
        mup_transformer("MuSGD", 0.5),
    ),
    "mup, ResNet": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, with MuSGD",
        mup_resnet,
    ),
    "lingua": Recipe(
        "facebookresearch/lingua",
        "437d680e521873bb5971067148a69587790da853",
        f"{SIZES}; it claims no transfer",
        lingua,
        (
            Line("lingua/optim.py", (153,), "all parameters have one rate", *ONE_RATE),
            Line(
                "apps/main/transformer.py",
                (124, 129),
                "the embedding starts as width^-1/2",
                "at four times the width, a token's embedding is half as large beside what layers "
                "add to it",
                "a constant start",
            ),
            Line("apps/main/transformer.py", (124, 137), *READOUT),
        ),
    ),
    "torchtitan, Llama 3": Recipe(
        "pytorch/torchtitan",
        "b5bcd76c66d0acb1a08b176d9639425bc55e0b2a",
        f"{SIZES}, less for larger ones; it claims no transfer",
        torchtitan,
        (
            Line(
                "torchtitan/components/optimizer/optimizer.py",
                (388, 391),
                "`default_adamw` has one rate for all parameters. Its `param_groups` would take "
                "others",
                *ONE_RATE,
            ),
            Line(
                "torchtitan/models/llama3/__init__.py",
                (46, 64),
                f"matrices' {ONE_SPREAD[0]}",
                *ONE_SPREAD[1:],
            ),
            Line("torchtitan/models/llama3/__init__.py", (55, 57), *READOUT),
        ),
        ("spmd_types==0.2.3", "tyro", "einops"),
    ),
    "transformers, GPT-2": Recipe(
        "huggingface/transformers",
        "",
        "a configuration a size; the rate is the user's; it claims no transfer",
        hugging_face("GPT2"),
        (
            TRAINER,
            Line(GPT2, (89,), f"by default matrices' {ONE_SPREAD[0]}", *ONE_SPREAD[1:]),
            Line(
                TIED,
                (695,),
                "the readout is the embedding, as GPT-2 has it, and its logits have no factor of "
                "the width",
                "at four times the width, logits are twice as large at the start, and a step moves "
                "them four times as much",
                "logits times base width / width",
            ),
        ),
    ),
    "transformers, Llama": Recipe(
        "huggingface/transformers",
        "",
        "a configuration a size; the rate is the user's; it claims no transfer",
        hugging_face("Llama"),
        (
            TRAINER,
            Line(LLAMA, (72,), f"by default matrices' {ONE_SPREAD[0]}", *ONE_SPREAD[1:]),
            Line(
                UNTIED,
                (2313,),
                "the readout starts with the spread of all other matrices",
                "at four times the width, logits are twice as large at the start, and the layers' "
                "updates do four times as much to the loss, even with the rates above",
                READOUT[2],
            ),
        ),
    ),
}
