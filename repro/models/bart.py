"""BART and R2C2 as Dinan, Yaida & Zhang (arXiv 2304.02034), II.2.B, train them.

A pre-LN encoder-decoder without biases, LayerNorms without parameters: besides the one at the
beginning of every residual path, one after each positional embedding, one after each stack. The
word embedding is shared by encoder, decoder and output. Dropout as in fairseq, which the paper
used: of embeddings behind their LayerNorm, of what a block adds to the stream, and of attention.
S is the time axis of the encoder, T that of the decoder.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from repro import backend
from repro.errors import UserError
from repro.models.blocks import MLP, Attention, CrossAttention, attention_scale
from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "BART", "tied": True, "head_dim_grows": True}
TINY = {
    "task": "span_denoising",
    "widths": [32, 64, 128, 256],
    "lr": 0.02,
    "model": {
        "depth": 2,
        "heads": 2,
        "expansion": 4,
        "base_width": 32,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "matrix_std": 0.1,
        "position_std": 0.1,
        "embedding_std": 1.0,
    },
    "data": {
        "batch_size": 8,
        "sequence_length": 16,
        "vocab_size": 64,
        "mask_share": 0.3,
        "span_mean": 3.0,
    },
    "schedule": {"name": "constant", "warmup": 0, "final": 1.0, "steps": 1},
}

NORM_EPS = 1e-5
FIRST_POSITION = 2  # fairseq's tables begin with two rows that no token takes


class BART(nn.Module):
    """Token ids, corrupted (B, S) and original up to each token (B, T), -> logits (B, T, V).

    vocab_size, V: special tokens included. padding: id of [pad], which no token attends to.
    sequence_length: the most tokens of either input; positional tables have two rows more.
    depth: blocks of the encoder, and of the decoder. base_width: 1 for the paper's own factors.
    output_multiplier: N_rescale (eq. 1.24). attention_multiplier: factor on attention's logits
    head_dim^-1/2 q.k.
    matrix_std, position_std, embedding_std: initial standard deviations (II.2.C); a matrix_std of
        None is fan_in^-1/2.
    Parameters hold no values until `Plan.init_` of `widthwise` draws them; then
    `clear_padding` is to be called.
    Raises UserError on a width that is no multiple of heads, and a padding outside the vocabulary.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        padding: int,
        sequence_length: int,
        width: int,
        depth: int,
        heads: int,
        expansion: int,
        base_width: float,
        dropout: float,
        attention_dropout: float,
        matrix_std: float | None,
        position_std: float,
        embedding_std: float,
        output_multiplier: float,
        attention_multiplier: float,
    ):
        super().__init__()
        if width % heads:
            raise UserError(f"model: width {width} is not a multiple of {heads} heads")
        if not 0 <= padding < vocab_size:
            raise UserError(f"model: [pad] is token {padding} of a vocabulary of {vocab_size}")
        self.width, self.expansion, self.base_width = width, expansion, base_width
        self.std = {
            "matrix": matrix_std,
            "position": position_std,
            "embedding": embedding_std,
        }
        self.padding, self.output_multiplier = padding, output_multiplier
        rows = sequence_length + FIRST_POSITION
        self.embedding = nn.Embedding(vocab_size, width, padding_idx=padding)
        self.encoder_positions = nn.Embedding(rows, width)
        self.decoder_positions = nn.Embedding(rows, width)
        head_dim = width // heads
        scale = attention_scale(head_dim, attention_multiplier)
        sizes: dict[str, Any] = {"width": width, "head_dim": head_dim, "scale": scale}
        self.encoder = nn.ModuleList(
            EncoderBlock(**sizes, expansion=expansion, drop=(dropout, attention_dropout))
            for _ in range(depth)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(**sizes, expansion=expansion, drop=(dropout, attention_dropout))
            for _ in range(depth)
        )
        self.dropout = nn.Dropout(dropout)

    def clear_padding(self) -> None:
        """Set the word embedding of [pad] to zero, as it starts (footnote 48)."""
        with torch.no_grad():
            self.embedding.weight[self.padding] = 0

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role."""
        n, wide = self.width, self.expansion * self.width
        ratio = n / self.base_width

        def hidden(fan_in: int, fan_out: int) -> Role:
            return Role("hidden", fan_in, ratio, ratio, std=self.std["matrix"], fan_out=fan_out)

        def stem(std: float | None) -> Role:
            return Role("embedding", width_out=ratio, fan_out=n, std=std)

        roles = {
            "embedding.weight": stem(self.std["embedding"]),
            "encoder_positions.weight": stem(self.std["position"]),
            "decoder_positions.weight": stem(self.std["position"]),
        }
        matrices = {"up.weight": (n, wide), "down.weight": (wide, n)}
        for name, _ in self.named_parameters():
            if name not in roles:
                roles[name] = hidden(*matrices.get(name.split("mlp.")[-1], (n, n)))
        return roles

    def _embed(self, tokens_BT: torch.Tensor, positions: nn.Embedding) -> torch.Tensor:
        rows_TD = positions.weight[FIRST_POSITION : FIRST_POSITION + tokens_BT.shape[1]]
        return self.dropout(norm(self.embedding(tokens_BT) + rows_TD))

    def forward(self, source_BS: torch.Tensor, previous_BT: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, V) of the token after each of previous_BT, given the corrupted source_BS.

        Both padded on the right with [pad].
        """
        seen_BS = source_BS != self.padding
        x_BSD = self._embed(source_BS, self.encoder_positions)
        for block in self.encoder:
            x_BSD = block(x_BSD, seen_BS)
        y_BSD = norm(x_BSD)
        x_BTD = self._embed(previous_BT, self.decoder_positions)
        for block in self.decoder:
            x_BTD = block(x_BTD, y_BSD, seen_BS)
        return backend.readout(scaled(norm(x_BTD), self.output_multiplier), self.embedding.weight)


def norm(x_BTD: torch.Tensor) -> torch.Tensor:
    """LayerNorm without parameters."""
    return F.layer_norm(x_BTD, x_BTD.shape[-1:], eps=NORM_EPS)


class EncoderBlock(nn.Module):
    """Bidirectional self-attention, MLP. drop: dropout of the stream, and of attention."""

    def __init__(
        self,
        *,
        width: int,
        head_dim: int,
        scale: float | None,
        expansion: int,
        drop: tuple[float, float],
    ):
        super().__init__()
        self.attention = Attention(width, head_dim, scale, causal=False, dropout=drop[1])
        self.mlp = MLP(width, expansion)
        self.dropout = nn.Dropout(drop[0])

    def forward(self, x_BSD: torch.Tensor, seen_BS: torch.Tensor) -> torch.Tensor:
        """(B, S, D) -> (B, S, D); seen_BS: which tokens are no padding."""
        x_BSD = x_BSD + self.dropout(self.attention(norm(x_BSD), seen_BS))
        return x_BSD + self.dropout(self.mlp(norm(x_BSD)))


class DecoderBlock(nn.Module):
    """Masked self-attention, attention to the normalized encoder output (eq. 2.2 to 2.4), MLP.

    Masked, although II.2.B says bidirectional: section I.0.C masks decoders.
    """

    def __init__(
        self,
        *,
        width: int,
        head_dim: int,
        scale: float | None,
        expansion: int,
        drop: tuple[float, float],
    ):
        super().__init__()
        self.attention = Attention(width, head_dim, scale, causal=True, dropout=drop[1])
        self.cross = CrossAttention(width, head_dim, scale, dropout=drop[1])
        self.mlp = MLP(width, expansion)
        self.dropout = nn.Dropout(drop[0])

    def forward(
        self, x_BTD: torch.Tensor, y_BSD: torch.Tensor, seen_BS: torch.Tensor
    ) -> torch.Tensor:
        """(B, T, D), encoder output (B, S, D) -> (B, T, D)."""
        x_BTD = x_BTD + self.dropout(self.attention(norm(x_BTD)))
        x_BTD = x_BTD + self.dropout(self.cross(norm(x_BTD), y_BSD, seen_BS))
        return x_BTD + self.dropout(self.mlp(norm(x_BTD)))
