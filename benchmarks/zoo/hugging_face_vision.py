"""Hugging Face's models of pictures and sound, made small."""

from collections.abc import Callable
from typing import Any

from torch import nn

from benchmarks.zoo.hugging_face import ENCODERS, LAYERS, NAMES, PLAIN, _decoders, hf
from benchmarks.zoo.inputs import BOTH, IMAGES, ONE_WAY, SMALL, Row, normal, sizes, tokens

VISION: dict[str, Any] = {"image_size": 32, "patch_size": 8, "num_labels": 5}


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


def _whisper_inputs(seed: int) -> tuple:
    return (*normal(2, 8, 16)(seed), None, *tokens(seed))


PICTURES: dict[str, Row] = {
    "vit": (hf("ViTForImageClassification", "ViTConfig", **VISION), SMALL, BOTH),
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
