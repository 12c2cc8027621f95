"""Hugging Face's models, made small."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from benchmarks.zoo.inputs import Make, sizes

# Hugging Face: what a config calls its width, its inner width, its heads.
NAMES = ("hidden_size", "intermediate_size", "num_attention_heads")
SHAPE: dict[str, Any] = {"vocab_size": 96, "num_hidden_layers": 2}
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


def llama(
    width: int, heads: int = 2, depth: int = 2, tied: bool = False, **settings: Any
) -> nn.Module:
    """A Llama by its width; settings: others of its config."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": width, "intermediate_size": 2 * width, "vocab_size": 32}
    counts = {"num_attention_heads": heads, "num_hidden_layers": depth}
    more: Any = sizes | counts | {"tie_word_embeddings": tied} | settings
    return LlamaForCausalLM(LlamaConfig(**more))


def gpt2(width: int, heads: int = 2, depth: int = 2, **settings: Any) -> nn.Module:
    """A GPT-2 by its width, whose readout is tied; settings: others of its config."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": width, "n_head": heads, "n_layer": depth, "vocab_size": 32}
    more: Any = sizes | {"n_positions": 8, "bos_token_id": 0, "eos_token_id": 0} | settings
    return GPT2LMHeadModel(GPT2Config(**more))


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


GPT2: dict[str, Any] = {"shape": {"vocab_size": 96, "n_layer": 2, "n_positions": 32}}
GPT2_NAMES = ("n_embd", "n_inner", "n_head")
POSITIONS: dict[str, Any] = {"max_position_embeddings": 32}
BERT: dict[str, Any] = POSITIONS | {"type_vocab_size": 2}
ENCODERS = ("d_model", "encoder_ffn_dim", "encoder_attention_heads")
LAYERS: dict[str, Any] = {
    "vocab_size": 96,
    "encoder_layers": 2,
    "decoder_layers": 2,
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


def _t5(width: int, heads: int, head_dim: int) -> dict:
    return {"d_kv": head_dim, "num_decoder_layers": 2, "decoder_start_token_id": 0}


CAUSAL: dict[str, Make] = {
    "gpt2": hf("GPT2LMHeadModel", "GPT2Config", GPT2_NAMES, **GPT2),
    "gpt2, untied": hf("GPT2LMHeadModel", "GPT2Config", GPT2_NAMES, **GPT2, **UNTIED),
    "gpt-neo": hf(
        "GPTNeoForCausalLM",
        "GPTNeoConfig",
        ("hidden_size", "intermediate_size", "num_heads"),
        shape={"vocab_size": 96, "num_layers": 2},
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
        shape={"vocab_size": 96, "n_layer": 2},
    ),
    "mpt": hf(
        "MptForCausalLM",
        "MptConfig",
        ("d_model", "", "n_heads"),
        shape={"vocab_size": 96, "n_layers": 2},
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
        use_cache=False,  # in eval mode transformers' own backward fails by its state
        context_length=32,
    ),
    "recurrent-gemma": hf(
        "RecurrentGemmaForCausalLM",
        "RecurrentGemmaConfig",
        use_cache=False,  # transformers' own fails by a cache
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
        {"vocab_size": 96, "num_layers": 2},
    ),
    "t5, gated, untied": hf(
        "T5ForConditionalGeneration",
        "T5Config",
        ("d_model", "d_ff", "num_heads"),
        _t5,
        {"vocab_size": 96, "num_layers": 2},
        feed_forward_proj="gated-gelu",
        **UNTIED,
    ),
    "bart": hf(
        "BartForConditionalGeneration", "BartConfig", ENCODERS, _decoders, LAYERS, **POSITIONS
    ),
    "marian": hf("MarianMTModel", "MarianConfig", ENCODERS, _decoders, LAYERS, **POSITIONS),
}
