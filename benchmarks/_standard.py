"""Recipes of the standard parametrization, with AdamW, and what makes each muP by hand."""

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
    Made,
    Optimizer,
    cross_entropy,
    package,
    text,
)


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
