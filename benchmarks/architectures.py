"""Which architectures of others `widthwise.widen` accepts, refuses, and gets wrong (none).

Each is made small, once with heads that grow in number and, where it has heads, once with a head
dimension that grows. What is accepted is held against the narrow model again: on another batch, and
over steps of AdamW. A second table counts why others are refused.

    uv run python benchmarks/architectures.py --cases "llama*" "swin*"
"""

import argparse
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

import widthwise
from widthwise.errors import UserError
from widthwise.upscaling.exactly import Exactly

Make = Callable[[int, str], nn.Module]  # factor, which of HEADS and HEAD_DIM grows -> module
HEADS, HEAD_DIM = "heads", "head_dim"
BOTH, ONE_WAY = (HEADS, HEAD_DIM), (HEADS,)
STEPS, RATE = 5, 1e-3


@dataclass(frozen=True)
class Case:
    """make: of the module. inputs: seed -> positional arguments. grow: what may grow in it."""

    make: Make
    inputs: Callable[[int], tuple]
    grow: tuple[str, ...] = BOTH


def tokens(seed: int) -> tuple:
    """Token ids, (2, 12)."""
    return (torch.randint(3, 90, (2, 12), generator=torch.Generator().manual_seed(seed)),)


def pairs(seed: int) -> tuple:
    """Token ids of an encoder and, behind a mask that is left out, of a decoder."""
    return (*tokens(seed), None, *tokens(seed + 100))


def normal(*shape: int) -> Callable[[int], tuple]:
    """Inputs of a shape, normal."""
    return lambda seed: (torch.randn(shape, generator=torch.Generator().manual_seed(seed)),)


IMAGES, SMALL, FRAMES = normal(2, 3, 64, 64), normal(2, 3, 32, 32), normal(2, 16, 32)


def sizes(k: int, grow: str, heads: int = 4, head_dim: int = 8) -> tuple[int, int, int]:
    """(width, heads, head_dim) of a factor."""
    if grow == HEADS:
        return heads * head_dim * k, heads * k, head_dim
    return heads * head_dim * k, heads, head_dim * k


# Hugging Face: what a config calls its width, its inner width, its heads.
NAMES = ("hidden_size", "intermediate_size", "num_attention_heads")
SHAPE: dict[str, Any] = {"vocab_size": 96, "num_hidden_layers": 2, "use_cache": False}
PLAIN: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def hf(
    model: str,
    config: str,
    names: tuple[str, str, str] = NAMES,
    more: Callable[[int, int, int], Mapping] | None = None,
    shape: Mapping = SHAPE,
    **settings: Any,
) -> Make:
    """A model of Hugging Face's. more: (width, heads, head_dim) -> settings that follow them."""

    def make(k: int, grow: str) -> nn.Module:
        import transformers

        width, heads, head_dim = sizes(k, grow)
        given = {name: n for name, n in zip(names, (width, 3 * width, heads), strict=True) if name}
        given = {
            **PLAIN,
            **shape,
            **settings,
            **given,
            **(more(width, heads, head_dim) if more else {}),
        }
        return getattr(transformers, model)(getattr(transformers, config)(**given))

    return make


def _kv(width: int, heads: int, head_dim: int) -> dict:
    return {"num_key_value_heads": heads // 2, "head_dim": head_dim}


def _fixed_kv(width: int, heads: int, head_dim: int) -> dict:
    return {"num_key_value_heads": 2, "head_dim": head_dim}


def _dim(width: int, heads: int, head_dim: int) -> dict:
    return {"num_key_value_heads": heads, "head_dim": head_dim}


def _experts(width: int, heads: int, head_dim: int) -> dict:
    return _kv(width, heads, head_dim) | {
        "moe_intermediate_size": 3 * width // 4,
        "shared_expert_intermediate_size": 5 * width // 4,
        "num_experts": 4,
        "num_experts_per_tok": 2,
    }


GPT2: dict[str, Any] = {
    "shape": {"vocab_size": 96, "n_layer": 2, "use_cache": False, "n_positions": 32}
}
GPT2_NAMES = ("n_embd", "n_inner", "n_head")
POSITIONS: dict[str, Any] = {"max_position_embeddings": 32}
BERT: dict[str, Any] = POSITIONS | {"type_vocab_size": 2}
ENCODERS = ("d_model", "encoder_ffn_dim", "encoder_attention_heads")
LAYERS: dict[str, Any] = {
    "vocab_size": 96,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "use_cache": False,
}
UNTIED: dict[str, Any] = {"tie_word_embeddings": False}


def _decoders(width: int, heads: int, head_dim: int) -> dict:
    return {"decoder_ffn_dim": 3 * width, "decoder_attention_heads": heads}


def _mla(width: int, heads: int, head_dim: int) -> dict:
    return {
        "num_key_value_heads": heads,
        "q_lora_rank": 16,
        "kv_lora_rank": 8,
        "qk_rope_head_dim": head_dim // 2,
        "qk_nope_head_dim": head_dim,
        "v_head_dim": head_dim,
        "moe_intermediate_size": width,
    }


def _patch(width: int, heads: int, head_dim: int) -> dict:
    return {}


VISION: dict[str, Any] = {"image_size": 32, "patch_size": 8, "num_labels": 5}


def _t5(width: int, heads: int, head_dim: int) -> dict:
    return {"d_kv": head_dim, "num_decoder_layers": 2, "decoder_start_token_id": 0}


def _stages(*of: int) -> Callable[[int, int, int], dict]:
    """Widths of a network with stages."""

    def more(width: int, heads: int, head_dim: int) -> dict:
        return {"hidden_sizes": [width * each // 2 for each in of]}

    return more


def _swin(width: int, heads: int, head_dim: int) -> dict:
    return {"embed_dim": width, "depths": [2, 2], "num_heads": [heads, 2 * heads], "window_size": 4}


def _clip(k: int, grow: str) -> nn.Module:
    from transformers import CLIPConfig, CLIPModel

    width, heads, _ = sizes(k, grow)
    one = {"hidden_size": width, "intermediate_size": 2 * width, "num_attention_heads": heads}
    one |= {"num_hidden_layers": 2, "projection_dim": width}
    text = one | {"vocab_size": 96, "max_position_embeddings": 32} | PLAIN
    images = one | {"image_size": 32, "patch_size": 8}
    return CLIPModel(CLIPConfig(text_config=text, vision_config=images, projection_dim=width))


CAUSAL: dict[str, Make] = {
    "gpt2": hf("GPT2LMHeadModel", "GPT2Config", GPT2_NAMES, **GPT2),
    "gpt2, untied": hf("GPT2LMHeadModel", "GPT2Config", GPT2_NAMES, **GPT2, **UNTIED),
    "gpt-neo": hf(
        "GPTNeoForCausalLM",
        "GPTNeoConfig",
        ("hidden_size", "intermediate_size", "num_heads"),
        shape={"vocab_size": 96, "num_layers": 2, "use_cache": False},
        attention_types=[[["global", "local"], 1]],
        **POSITIONS,
    ),
    "gpt-j": hf("GPTJForCausalLM", "GPTJConfig", GPT2_NAMES, rotary_dim=4, **GPT2),
    "neox": hf("GPTNeoXForCausalLM", "GPTNeoXConfig", **POSITIONS),
    "llama": hf("LlamaForCausalLM", "LlamaConfig", more=_dim),
    "llama, tied": hf("LlamaForCausalLM", "LlamaConfig", more=_kv, tie_word_embeddings=True),
    "llama, kv fixed": hf("LlamaForCausalLM", "LlamaConfig", more=_fixed_kv),
    "mistral": hf("MistralForCausalLM", "MistralConfig", more=_kv),
    "qwen2": hf("Qwen2ForCausalLM", "Qwen2Config", more=_kv),
    "qwen3": hf("Qwen3ForCausalLM", "Qwen3Config", more=_kv),
    "gemma": hf("GemmaForCausalLM", "GemmaConfig", more=_kv),
    "gemma2": hf("Gemma2ForCausalLM", "Gemma2Config", more=_kv, query_pre_attn_scalar=8),
    "gemma3": hf("Gemma3ForCausalLM", "Gemma3TextConfig", more=_kv, query_pre_attn_scalar=8),
    "phi": hf("PhiForCausalLM", "PhiConfig"),
    "phi3": hf(
        "Phi3ForCausalLM", "Phi3Config", more=lambda w, h, d: {"num_key_value_heads": h // 2}
    ),
    "falcon": hf(
        "FalconForCausalLM",
        "FalconConfig",
        ("hidden_size", "ffn_hidden_size", "num_attention_heads"),
        multi_query=True,
    ),
    "falcon, ALiBi": hf(
        "FalconForCausalLM",
        "FalconConfig",
        ("hidden_size", "ffn_hidden_size", "num_attention_heads"),
        multi_query=False,
        alibi=True,
    ),
    "bloom": hf(
        "BloomForCausalLM",
        "BloomConfig",
        ("hidden_size", "", "n_head"),
        shape={"vocab_size": 96, "n_layer": 2, "use_cache": False},
    ),
    "mpt": hf(
        "MptForCausalLM",
        "MptConfig",
        ("d_model", "", "n_heads"),
        shape={"vocab_size": 96, "n_layers": 2, "use_cache": False},
    ),
    "opt": hf(
        "OPTForCausalLM",
        "OPTConfig",
        ("hidden_size", "ffn_dim", "num_attention_heads"),
        more=lambda w, h, d: {"word_embed_proj_dim": w},
        **POSITIONS,
    ),
    "opt, projected": hf(
        "OPTForCausalLM",
        "OPTConfig",
        ("hidden_size", "ffn_dim", "num_attention_heads"),
        more=lambda w, h, d: {"word_embed_proj_dim": 16},
        **POSITIONS,
    ),
    "olmo2": hf("Olmo2ForCausalLM", "Olmo2Config", more=_dim),
    "cohere": hf("CohereForCausalLM", "CohereConfig", more=_dim),
    "stablelm": hf("StableLmForCausalLM", "StableLmConfig", more=_dim),
    "granite": hf("GraniteForCausalLM", "GraniteConfig", more=_kv),
    "starcoder2": hf("Starcoder2ForCausalLM", "Starcoder2Config", more=_kv),
    "smollm3": hf("SmolLM3ForCausalLM", "SmolLM3Config", more=_kv),
    "mixtral": hf(
        "MixtralForCausalLM", "MixtralConfig", more=_kv, num_local_experts=4, num_experts_per_tok=2
    ),
    "qwen2-moe": hf("Qwen2MoeForCausalLM", "Qwen2MoeConfig", more=_experts),
    "qwen3-moe": hf("Qwen3MoeForCausalLM", "Qwen3MoeConfig", more=_experts),
    "olmoe": hf("OlmoeForCausalLM", "OlmoeConfig", more=_kv, num_experts=4, num_experts_per_tok=2),
    "deepseek-v3": hf(
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        more=_mla,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        first_k_dense_replace=1,
    ),
    "gpt-oss": hf(
        "GptOssForCausalLM", "GptOssConfig", more=_kv, num_local_experts=4, num_experts_per_tok=2
    ),
    "mamba": hf(
        "MambaForCausalLM",
        "MambaConfig",
        ("hidden_size", "intermediate_size", ""),
        more=lambda w, h, d: {"time_step_rank": w // 4, "intermediate_size": 2 * w},
        state_size=8,
    ),
    "mamba2": hf(
        "Mamba2ForCausalLM",
        "Mamba2Config",
        ("hidden_size", "", ""),
        more=lambda w, h, d: {"num_heads": 2 * h, "head_dim": d},
        state_size=8,
        n_groups=1,
        chunk_size=8,
    ),
    "rwkv": hf(
        "RwkvForCausalLM",
        "RwkvConfig",
        ("hidden_size", "intermediate_size", ""),
        more=lambda w, h, d: {"attention_hidden_size": w},
        context_length=32,
    ),
    "recurrent-gemma": hf(
        "RecurrentGemmaForCausalLM",
        "RecurrentGemmaConfig",
        more=lambda w, h, d: _kv(w, h, d) | {"lru_width": w},
        attention_window_size=16,
    ),
    "bert, MLM": hf("BertForMaskedLM", "BertConfig", **BERT),
    "bert, classes": hf("BertForSequenceClassification", "BertConfig", **BERT),
    "roberta": hf("RobertaForMaskedLM", "RobertaConfig", **BERT),
    "albert": hf("AlbertForMaskedLM", "AlbertConfig", embedding_size=16, **BERT),
    "distilbert": hf(
        "DistilBertForMaskedLM",
        "DistilBertConfig",
        ("dim", "hidden_dim", "n_heads"),
        shape={"vocab_size": 96, "n_layers": 2},
        **POSITIONS,
    ),
    "electra": hf("ElectraForSequenceClassification", "ElectraConfig", embedding_size=16, **BERT),
    "deberta-v2": hf("DebertaV2ForSequenceClassification", "DebertaV2Config", **BERT),
    "modernbert": hf("ModernBertForMaskedLM", "ModernBertConfig", cls_token_id=1, sep_token_id=2),
}
CODERS: dict[str, Make] = {
    "t5": hf(
        "T5ForConditionalGeneration",
        "T5Config",
        ("d_model", "d_ff", "num_heads"),
        _t5,
        {"vocab_size": 96, "num_layers": 2, "use_cache": False},
    ),
    "t5, gated, untied": hf(
        "T5ForConditionalGeneration",
        "T5Config",
        ("d_model", "d_ff", "num_heads"),
        _t5,
        {"vocab_size": 96, "num_layers": 2, "use_cache": False},
        feed_forward_proj="gated-gelu",
        **UNTIED,
    ),
    "bart": hf(
        "BartForConditionalGeneration", "BartConfig", ENCODERS, _decoders, LAYERS, **POSITIONS
    ),
    "marian": hf("MarianMTModel", "MarianConfig", ENCODERS, _decoders, LAYERS, **POSITIONS),
}


def _whisper_inputs(seed: int) -> tuple:
    return (*normal(2, 8, 16)(seed), None, *tokens(seed))


PICTURES: dict[str, tuple[Make, Callable, tuple[str, ...]]] = {
    "vit": (hf("ViTForImageClassification", "ViTConfig", more=_patch, **VISION), SMALL, BOTH),
    "dinov2": (
        hf(
            "Dinov2ForImageClassification",
            "Dinov2Config",
            ("hidden_size", "", NAMES[2]),
            **VISION,
            use_mask_token=False,
        ),
        SMALL,
        BOTH,
    ),
    "beit": (
        hf(
            "BeitForImageClassification",
            "BeitConfig",
            more=_patch,
            **VISION,
            use_relative_position_bias=True,
        ),
        SMALL,
        BOTH,
    ),
    "convnext": (
        hf(
            "ConvNextForImageClassification",
            "ConvNextConfig",
            ("", "", ""),
            _stages(1, 2),
            depths=[1, 1],
            num_stages=2,
            patch_size=4,
            num_labels=5,
        ),
        SMALL,
        ONE_WAY,
    ),
    "convnextv2": (
        hf(
            "ConvNextV2ForImageClassification",
            "ConvNextV2Config",
            ("", "", ""),
            _stages(1, 2),
            depths=[1, 1],
            num_stages=2,
            patch_size=4,
            num_labels=5,
        ),
        SMALL,
        ONE_WAY,
    ),
    "swin": (
        hf(
            "SwinForImageClassification",
            "SwinConfig",
            ("", "", ""),
            _swin,
            image_size=32,
            patch_size=4,
            num_labels=5,
        ),
        SMALL,
        BOTH,
    ),
    "swinv2": (
        hf(
            "Swinv2ForImageClassification",
            "Swinv2Config",
            ("", "", ""),
            _swin,
            image_size=32,
            patch_size=4,
            num_labels=5,
        ),
        SMALL,
        BOTH,
    ),
    "segformer": (
        hf(
            "SegformerForImageClassification",
            "SegformerConfig",
            ("", "", ""),
            lambda w, h, d: {"hidden_sizes": [w // 2, w], "num_attention_heads": [h // 2, h]},
            num_encoder_blocks=2,
            depths=[1, 1],
            sr_ratios=[2, 1],
            patch_sizes=[7, 3],
            strides=[4, 2],
            mlp_ratios=[2, 2],
            num_labels=5,
        ),
        SMALL,
        BOTH,
    ),
    "resnet": (
        hf(
            "ResNetForImageClassification",
            "ResNetConfig",
            ("", "", ""),
            lambda w, h, d: {"hidden_sizes": [w, 2 * w], "embedding_size": w},
            depths=[1, 1],
            layer_type="basic",
            num_labels=5,
        ),
        IMAGES,
        ONE_WAY,
    ),
    "clip": (_clip, lambda seed: (*tokens(seed), *SMALL(seed)), BOTH),
    "whisper": (
        hf(
            "WhisperForConditionalGeneration",
            "WhisperConfig",
            ENCODERS,
            _decoders,
            LAYERS,
            num_mel_bins=8,
            max_source_positions=8,
            max_target_positions=32,
            decoder_start_token_id=1,
            suppress_tokens=None,
            begin_suppress_tokens=None,
        ),
        _whisper_inputs,
        BOTH,
    ),
}


def timm(kind: str, **settings: Any) -> Make:
    """A vision transformer of timm's, or of its kin."""

    def make(k: int, grow: str) -> nn.Module:
        from importlib import import_module

        module, _, name = kind.rpartition(".")
        width, heads, _ = sizes(k, grow)
        given = {"img_size": 32, "patch_size": 8, "embed_dim": width, "num_heads": heads}
        given |= {"depth": 2, "num_classes": 5} | settings
        given = {key: value for key, value in given.items() if value is not None}
        return getattr(import_module(f"timm.models.{module}"), name)(**given)

    return make


def _timm_swin(kind: str) -> Make:
    def make(k: int, grow: str) -> nn.Module:
        return timm(
            kind,
            patch_size=4,
            window_size=4,
            depths=(2, 2),
            depth=None,
            num_heads=tuple(n * (k if grow == HEADS else 1) for n in (4, 8)),
        )(k, grow)

    return make


def _timm_conv(kind: str, **settings: Any) -> Make:
    """A convolutional network of timm's by its registered name's class."""

    def make(k: int, grow: str) -> nn.Module:
        from importlib import import_module

        module, _, name = kind.rpartition(".")
        given = settings | {"dims": tuple(n * k for n in settings["dims"])}
        return getattr(import_module(f"timm.models.{module}"), name)(num_classes=5, **given)

    return make


def _efficientnet(k: int, grow: str) -> nn.Module:
    from functools import partial

    from timm.models._efficientnet_builder import decode_arch_def
    from timm.models.efficientnet import EfficientNet

    def rounded(channels, **_):
        return channels * k

    blocks = decode_arch_def([["ds_r1_k3_s1_e1_c8_se0.25"], ["ir_r1_k3_s2_e4_c16_se0.25"]])
    return EfficientNet(
        blocks, num_classes=5, stem_size=8, num_features=32, round_chs_fn=partial(rounded)
    )


def _maxvit(k: int, grow: str) -> nn.Module:
    from timm.models.maxxvit import MaxxVit, MaxxVitCfg, MaxxVitTransformerCfg

    attention = MaxxVitTransformerCfg(
        dim_head=8 * (1 if grow == HEADS else k), window_size=(4, 4), grid_size=(4, 4)
    )
    return MaxxVit(
        MaxxVitCfg(
            embed_dim=(16 * k, 32 * k),
            depths=(1, 1),
            block_type=("M", "M"),
            stem_width=(8 * k, 16 * k),
            transformer_cfg=attention,
            head_hidden_size=32 * k,
        ),
        img_size=32,
        num_classes=5,
    )


def _nfnet(k: int, grow: str) -> nn.Module:
    from timm.models.nfnet import NfCfg, NormFreeNet

    two: Any = (1, 1)
    channels: Any = (16 * k, 32 * k)
    return NormFreeNet(
        NfCfg(
            depths=two,
            channels=channels,
            stem_type="3x3",
            stem_chs=16 * k,
            group_size=8,
            bottle_ratio=0.5,
            num_features=64 * k,
            act_layer="gelu",
            attn_layer="se",
            attn_kwargs={"rd_ratio": 0.5},
        ),
        num_classes=5,
    )


def _timm_resnet(k: int, grow: str) -> nn.Module:
    from timm.models.resnet import BasicBlock, ResNet

    block: Any = BasicBlock
    return ResNet(
        block,
        (1, 1, 1, 1),
        num_classes=5,
        stem_width=8 * k,
        channels=tuple(n * k for n in (8, 8, 16, 16)),
    )


TIMM: dict[str, tuple[Make, Callable, tuple[str, ...]]] = {
    "timm vit": (timm("vision_transformer.VisionTransformer"), SMALL, BOTH),
    "timm vit, QK-norm, scale": (
        timm("vision_transformer.VisionTransformer", qk_norm=True, init_values=0.1),
        SMALL,
        BOTH,
    ),
    "timm vit, MAP": (
        timm("vision_transformer.VisionTransformer", global_pool="map", class_token=False),
        SMALL,
        BOTH,
    ),
    "timm eva": (
        timm("eva.Eva", use_rot_pos_emb=True, swiglu_mlp=True, scale_mlp=True),
        SMALL,
        BOTH,
    ),
    "timm convnext": (
        _timm_conv("convnext.ConvNeXt", depths=(1, 1, 1, 1), dims=(16, 32, 32, 32)),
        SMALL,
        ONE_WAY,
    ),
    "timm resnet": (_timm_resnet, IMAGES, ONE_WAY),
    "timm efficientnet": (_efficientnet, SMALL, ONE_WAY),
    "timm swin": (_timm_swin("swin_transformer.SwinTransformer"), SMALL, BOTH),
    "timm swinv2": (_timm_swin("swin_transformer_v2.SwinTransformerV2"), SMALL, BOTH),
    "timm mixer": (
        timm("mlp_mixer.MlpMixer", num_blocks=2, depth=None, num_heads=None),
        SMALL,
        ONE_WAY,
    ),
    "timm cait": (timm("cait.Cait"), SMALL, BOTH),
    "timm xcit": (timm("xcit.Xcit", depth=2, cls_attn_layers=1), SMALL, BOTH),
    "timm maxvit": (_maxvit, SMALL, BOTH),
    "timm nfnet": (_nfnet, SMALL, ONE_WAY),
}


def _gmlp(k: int, grow: str) -> nn.Module:
    from timm.layers import GatedMlp
    from timm.models import mlp_mixer

    return mlp_mixer.MlpMixer(
        img_size=32,
        patch_size=8,
        num_classes=5,
        num_blocks=2,
        embed_dim=32 * k,
        mlp_ratio=4,
        block_layer=mlp_mixer.SpatialGatingBlock,
        mlp_layer=GatedMlp,
    )


def tv(name: str, **settings: Any) -> Make:
    """A network of torchvision's whose width is a setting."""

    def make(k: int, grow: str) -> nn.Module:
        import torchvision.models as models

        given = {key: value(k) if callable(value) else value for key, value in settings.items()}
        return getattr(models, name)(num_classes=5, **given)

    return make


def _tv_resnet(bottleneck: bool) -> Make:
    def make(k: int, grow: str) -> nn.Module:
        from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

        class Wide(ResNet):
            def _make_layer(self, block, planes, *arguments, **options):
                if planes == 64:
                    self.inplanes = 8 * k
                    self.conv1 = nn.Conv2d(3, 8 * k, 7, 2, 3, bias=False)
                    self.bn1 = nn.BatchNorm2d(8 * k)
                return super()._make_layer(block, planes * k // 8, *arguments, **options)

        block = Bottleneck if bottleneck else BasicBlock
        model = Wide(block, [1, 1, 1, 1])
        model.fc = nn.Linear(64 * k * block.expansion, 5)
        return model

    return make


def _tv_vit(k: int, grow: str) -> nn.Module:
    from torchvision.models import VisionTransformer

    width, heads, _ = sizes(k, grow)
    return VisionTransformer(32, 8, 2, heads, width, 2 * width, num_classes=5)


def _tv_swin(version: int) -> Make:
    def make(k: int, grow: str) -> nn.Module:
        from torchvision.models import SwinTransformer
        from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformerBlockV2

        heads = [n * (k if grow == HEADS else 1) for n in (4, 8)]
        more: dict = {}
        if version == 2:
            more = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}
        return SwinTransformer([4, 4], 32 * k, [2, 2], heads, [4, 4], num_classes=5, **more)

    return make


def _tv_convnext(k: int, grow: str) -> nn.Module:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt(
        [CNBlockConfig(16 * k, 32 * k, 1), CNBlockConfig(32 * k, None, 1)], num_classes=5
    )


def _tv_regnet(k: int, grow: str) -> nn.Module:
    from torchvision.models.regnet import BlockParams, RegNet

    return RegNet(
        BlockParams([1, 1], [16 * k, 32 * k], [8, 8], [1.0, 1.0], [2, 2], 0.25),
        num_classes=5,
        stem_width=8 * k,
    )


def _tv_vgg(k: int, grow: str) -> nn.Module:
    from torchvision.models.vgg import VGG

    def block(a: int, b: int) -> list[nn.Module]:
        return [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(True), nn.MaxPool2d(2)]

    model = VGG(nn.Sequential(*block(3, 8 * k), *block(8 * k, 16 * k)), num_classes=5)
    model.avgpool = nn.AdaptiveAvgPool2d(2)
    model.classifier = nn.Sequential(nn.Linear(64 * k, 32 * k), nn.ReLU(True), nn.Linear(32 * k, 5))
    return model


TORCHVISION: dict[str, tuple[Make, Callable, tuple[str, ...]]] = {
    "timm gmlp": (_gmlp, SMALL, ONE_WAY),
    "tv resnet": (_tv_resnet(False), IMAGES, ONE_WAY),
    "tv resnet, bottleneck": (_tv_resnet(True), IMAGES, ONE_WAY),
    "tv mobilenet-v2": (
        tv(
            "MobileNetV2",
            width_mult=lambda k: 0.5 * k,
            round_nearest=1,
            inverted_residual_setting=[[1, 16, 1, 1], [4, 24, 1, 2]],
        ),
        IMAGES,
        ONE_WAY,
    ),
    "tv mnasnet": (tv("MNASNet", alpha=lambda k: 1.0 * k), IMAGES, ONE_WAY),
    "tv densenet": (
        tv(
            "DenseNet",
            growth_rate=lambda k: 8 * k,
            block_config=(2, 2),
            num_init_features=lambda k: 16 * k,
        ),
        IMAGES,
        ONE_WAY,
    ),
    "tv vgg": (_tv_vgg, SMALL, ONE_WAY),
    "tv vit": (_tv_vit, SMALL, BOTH),
    "tv swin": (_tv_swin(1), SMALL, BOTH),
    "tv swinv2": (_tv_swin(2), SMALL, BOTH),
    "tv convnext": (_tv_convnext, SMALL, ONE_WAY),
    "tv regnet": (_tv_regnet, IMAGES, ONE_WAY),
}


class Sequences(nn.Module):
    """Frames -> an inner module of torch.nn -> a readout."""

    def __init__(self, inner: nn.Module, width: int, out: int):
        super().__init__()
        self.first, self.inner, self.readout = nn.Linear(32, width), inner, nn.Linear(out, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, 32) -> (B, T, 5)."""
        x = self.first(x)
        x = self.inner(x, x) if isinstance(self.inner, nn.Transformer) else self.inner(x)
        return self.readout(x[0] if isinstance(x, tuple) else x)


def _encoder(k: int, grow: str) -> nn.Module:
    width, heads, _ = sizes(k, grow)
    layer = nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True)
    return Sequences(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), width, width)


def _transformer(k: int, grow: str) -> nn.Module:
    width, heads, _ = sizes(k, grow)
    return Sequences(nn.Transformer(width, heads, 1, 1, 2 * width, batch_first=True), width, width)


def recurrent(kind: type, factor: int = 1, **settings: Any) -> Make:
    """A recurrent network of torch.nn's."""

    def make(k: int, grow: str) -> nn.Module:
        width = 16 * k
        given = {key: value * k if key == "proj_size" else value for key, value in settings.items()}
        out = given.get("proj_size", width) * factor
        return Sequences(kind(width, width, batch_first=True, **given), width, out)

    return make


class LowRank(nn.Module):
    """A linear layer with an update of low rank; magnitude: of DoRA's, a length a row."""

    def __init__(self, layer: nn.Linear, rank: int, magnitude: bool):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) * layer.in_features**-0.5)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))
        self.magnitude = nn.Parameter(layer.weight.detach().norm(dim=1)) if magnitude else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., in) -> (..., out)."""
        if self.magnitude is None:
            return self.layer(x) + x @ self.down.T @ self.up.T
        weight = self.layer.weight + self.up @ self.down
        weight = self.magnitude[:, None] * weight / weight.norm(dim=1, keepdim=True)
        return nn.functional.linear(x, weight, self.layer.bias)


def lora(inner: Make, pattern: str, growing: bool = False, magnitude: bool = False) -> Make:
    """A model whose layers of a name's end have updates of low rank, as peft's."""

    def make(k: int, grow: str) -> nn.Module:
        model = inner(k, grow)
        found = [(n, m) for n, m in model.named_modules() if isinstance(m, nn.Linear)]
        for name, layer in found:
            if re.search(pattern, name):
                owner, _, last = name.rpartition(".")
                rank = 4 * (k if growing else 1)
                setattr(model.get_submodule(owner), last, LowRank(layer, rank, magnitude))
        return model

    return make


TORCH: dict[str, tuple[Make, Callable, tuple[str, ...]]] = {
    "TransformerEncoder": (_encoder, FRAMES, BOTH),
    "nn.Transformer": (_transformer, FRAMES, BOTH),
    "LSTM": (recurrent(nn.LSTM), FRAMES, ONE_WAY),
    "LSTM, projected": (recurrent(nn.LSTM, proj_size=8), FRAMES, ONE_WAY),
    "GRU": (recurrent(nn.GRU), FRAMES, ONE_WAY),
    "RNN": (recurrent(nn.RNN), FRAMES, ONE_WAY),
    "GRU, both ways": (recurrent(nn.GRU, 2, bidirectional=True), FRAMES, ONE_WAY),
    "LoRA, llama": (lora(CAUSAL["llama"], r"[qv]_proj"), tokens, BOTH),
    "LoRA, llama, rank grows": (lora(CAUSAL["llama"], r"[qv]_proj", True), tokens, BOTH),
    "LoRA, phi": (lora(CAUSAL["phi"], r"[qv]_proj"), tokens, BOTH),
    "DoRA, llama": (lora(CAUSAL["llama"], r"[qv]_proj", False, True), tokens, BOTH),
}
WITHOUT_HEADS = ("mamba", "rwkv")
CASES: dict[str, Case] = {
    **{n: Case(m, tokens, ONE_WAY if n in WITHOUT_HEADS else BOTH) for n, m in CAUSAL.items()},
    **{name: Case(make, pairs) for name, make in CODERS.items()},
    **{name: Case(*each) for name, each in (PICTURES | TIMM | TORCHVISION | TORCH).items()},
}


@contextmanager
def quiet() -> Iterator[None]:
    """Without what packages say of their own."""
    import transformers

    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _value(output: Any) -> torch.Tensor:
    """A model's first output of numbers with fractions that has a gradient."""
    from widthwise.tracing.shapes import tensors

    return next(t for t in tensors(output) if t.is_floating_point() and t.requires_grad)


def apart(case: Case, narrow: tuple, wide: tuple) -> float:
    """The largest relative difference of outputs over steps of training, each on a batch of its
    own; (model, optimizer) each."""
    worst = 0.0
    for seed in range(1, STEPS + 1):
        values = []
        for model, optimizer in (narrow, wide):
            optimizer.zero_grad()
            with Exactly():
                value = _value(model(*_double(case.inputs(seed))))
                weights = torch.randn(
                    value.shape, generator=torch.Generator().manual_seed(seed), dtype=value.dtype
                )
                (value * weights).mean().backward()
            optimizer.step()
            values.append(value.detach())
        worst = max(worst, float((values[0] - values[1]).abs().max() / values[0].abs().max()))
    return worst


def _double(arguments: tuple) -> tuple:
    return tuple(
        a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
        for a in arguments
    )


WRONG = 1e-7  # of float64, after steps of AdamW


def judge(case: Case, grow: str) -> tuple[str, str]:
    """(accepted, refused, wrong or failed, why)."""
    torch.manual_seed(0)
    model = case.make(1, grow).double().eval()

    def make(k: int) -> nn.Module:
        return case.make(k, grow).double()

    trained = [p for p in model.parameters() if p.requires_grad]
    # eps: where gradients are near nothing, Adam's step follows their rounding.
    optimizer = torch.optim.AdamW(trained, lr=RATE, eps=1e-6, weight_decay=0.1)
    try:
        wide, grown, growth = widthwise.widen(model, optimizer, 2, make, case.inputs(0), **UNTIE)
    except UserError as error:
        return "refused", str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    narrow = getattr(growth, "narrow", None) or (model, optimizer)
    off = apart(case, narrow, (wide, grown))
    return ("accepted" if off < WRONG else "wrong"), f"{off:.1g}"


UNTIE: dict = {}
REASONS = {
    "head dimension grows": "head_dim grows|head_dim\\^",
    "tied": "is a readout too|tied",
    "what an operator does is not known": "is not known here|cannot be told",
    "buffer": "buffer",
}


def reason(words: str) -> str:
    """The cause of a refusal in short."""
    return next((name for name, pattern in REASONS.items() if re.search(pattern, words)), "other")


def main(words: list[str] | None = None) -> None:
    """Print a line a variant, and counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=["*"], help="patterns of names")
    arguments = parser.parse_args(words)
    torch.set_num_threads(1)
    counts: Counter[str] = Counter()
    why: Counter[str] = Counter()
    print("| architecture | grows | verdict | off, or why | CPU s |")
    print("|---|---|---|---|---|")
    with quiet():
        for name, case in CASES.items():
            if not any(fnmatchcase(name, pattern) for pattern in arguments.cases):
                continue
            for grow in case.grow:
                begin = time.process_time()
                try:
                    verdict, words_of_it = judge(case, grow)
                except Exception as error:
                    verdict, words_of_it = "not made", f"{type(error).__name__}: {error}"
                counts[verdict] += 1
                line = words_of_it.replace("\n", " ").replace("|", "/")
                if verdict != "accepted":
                    why[f"{verdict}: {reason(line)}"] += 1
                seconds = time.process_time() - begin
                print(f"| {name} | {grow} | {verdict} | {line} | {seconds:.1f} |", flush=True)
    total = sum(counts.values())
    print(f"\n{total} variants: " + ", ".join(f"{n} {word}" for word, n in counts.most_common()))
    print("; ".join(f"{word} {n}" for word, n in why.most_common()))


if __name__ == "__main__":
    main()
