"""Random data with a run's shapes, for benchmarks, checks and tests without a dataset."""

import itertools
from collections.abc import Iterator, Mapping

import torch

from repro.cost.bart import denoising_vocabulary_size
from repro.data.denoising import FIRST, PADDING
from repro.data.loading import Data


class Repeated:
    """Batches that are all the same one."""

    def __init__(self, batch: tuple[torch.Tensor, ...]):
        self.batch = batch

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """The batch, endlessly."""
        return itertools.repeat(self.batch)


def random_data(spec: Mapping, device: torch.device | str) -> Data:
    """One random batch with the shapes of a training task's spec; also the validation batch.

    Tokens and labels are uniform, features and images Gaussian, drawn with the spec's seed and the
    same on every device. Corrupted texts are as long as the originals.
    """
    data, model = spec["data"], spec["model"]
    rows, length = data["batch_size"], data.get("sequence_length")
    side = data.get("resolution", model.get("resolution"))
    generator = torch.Generator().manual_seed(spec["seed"])

    def integers(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator).to(device)

    settings: dict[str, int] = {}
    batch: tuple[torch.Tensor, ...]
    if "mask_share" in data:
        size = denoising_vocabulary_size(data["vocab_size"])
        settings = {"vocab_size": size, "padding": PADDING, "sequence_length": length}
        tokens_BT = integers(FIRST, size, rows, length)
        total_B = torch.full((rows,), tokens_BT.numel(), device=device)
        batch = (tokens_BT, tokens_BT, tokens_BT, total_B)
    elif length:
        settings = {"vocab_size": data["vocab_size"], "sequence_length": length}
        tokens_BT = integers(0, data["vocab_size"], rows, length + 1)
        batch = (tokens_BT[:, :-1], tokens_BT[:, 1:])
    else:
        features = (3, side, side) if side else (model["inputs"],)
        inputs = torch.randn(rows, *features, generator=generator).to(device)
        batch = (inputs, integers(0, model["classes"], rows))
    return Data(Repeated(batch), [batch], settings)
