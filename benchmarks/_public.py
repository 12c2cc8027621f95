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


def adamw(decay: float, **more: Any) -> Optimizer:
    """One rate and one decay for all parameters."""
    return lambda model: torch.optim.AdamW(
        model.parameters(), lr=ADAMW_RATE, weight_decay=decay, **more
    )


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

    return Made(make, adamw(0.1, betas=(0.9, 0.95)), make, text, cross_entropy)


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

    return Made(make, adamw(0.1, betas=(0.9, 0.95)), make, batches, cross_entropy)


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

        return Made(make, adamw(0.0), make, text, cross_entropy)

    return build


def sampled(number: int) -> Line:
    """Of both branches of nanoGPT-mup."""
    return Line(
        "model.py",
        (number,),
        "without targets, as in sampling, logits lack the factor that they have with targets: a "
        "model m times as wide as its base samples as at temperature 1/m. Training does not see it",
        "the same factor there",
        seen=False,
    )


ONE_RATE = (
    "one rate for all parameters",
    "for matrices that read the width a rate as 1/width, and a weight decay times the width",
)
ONE_SPREAD = (
    "matrices start with a standard deviation of 0.02 at every width, where one by fan-in falls as "
    "width^-1/2",
    "a number for each width, as width^-1/2",
)
GPT2, LLAMA = (
    f"src/transformers/models/{name}/configuration_{name}.py" for name in ("gpt2", "llama")
)
TRAINER = Line("src/transformers/trainer.py", (1273,), *ONE_RATE)
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
                "the embedding's rate falls as width^-1/2",
                "a constant rate",
            ),
            Line(
                "nanochat/gpt.py",
                (439,),
                "the readout's rate falls as width^-1/2",
                "as 1/width, with a weight decay times the width",
            ),
            Line(
                "nanochat/gpt.py",
                (250, 441),
                "value embeddings start as width^-1/2, and so falls their rate",
                "both constant, as of every embedding",
            ),
            Line(
                "nanochat/optim.py",
                (159, 161),
                "an update gets the size of one of full rank, which a batch of fewer tokens or "
                "words than the width has not. So the effect of attention's c_proj stays unclear "
                "here; with a batch of 512 tokens of 512 words the mended recipe is right",
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
                "the readout's rate is the same at every width",
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
                "times decay, so that it fades as 1/width. Forward pass, initial values and rates "
                "are muP's",
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
        "19814971934ef91dd546f88e913fc963e096d11c",
        "muP for widths, the example of its package, with MuSGD",
        mup_mlp,
    ),
    "lingua": Recipe(
        "facebookresearch/lingua",
        "437d680e521873bb5971067148a69587790da853",
        "a configuration a size, each with a rate of its own; it claims no transfer",
        lingua,
        (
            Line("lingua/optim.py", (153,), *ONE_RATE),
            Line(
                "apps/main/transformer.py",
                (124, 129),
                "the embedding starts as width^-1/2",
                "a constant start",
            ),
        ),
    ),
    "torchtitan, Llama 3": Recipe(
        "pytorch/torchtitan",
        "b5bcd76c66d0acb1a08b176d9639425bc55e0b2a",
        "a configuration a size, each with a rate of its own, less for larger ones; it claims no "
        "transfer",
        torchtitan,
        (
            Line("torchtitan/components/optimizer/optimizer.py", (388, 391), *ONE_RATE),
            Line("torchtitan/models/llama3/__init__.py", (46, 64), *ONE_SPREAD),
        ),
        ("spmd_types==0.2.3", "tyro", "einops"),
    ),
    "transformers, GPT-2": Recipe(
        "huggingface/transformers",
        "",
        "a configuration a size; the rate is the user's; it claims no transfer",
        hugging_face("GPT2"),
        (TRAINER, Line(GPT2, (89,), *ONE_SPREAD)),
    ),
    "transformers, Llama": Recipe(
        "huggingface/transformers",
        "",
        "a configuration a size; the rate is the user's; it claims no transfer",
        hugging_face("Llama"),
        (TRAINER, Line(LLAMA, (72,), *ONE_SPREAD)),
    ),
}
