"""Images on the device: channel statistics, normalisation, random crop and flip, pooling."""

import numpy as np
import torch
import torch.nn.functional as F

from repro import backend

CROP_STREAM = 1  # keeps the seeds of crops different from those of the order of rows


def image_statistics(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every channel, float64 (channels,), on a scale from 0 to 1.

    images: (rows, channels, height, width) uint8; 255 corresponds to 1.
    """
    channels = np.moveaxis(images, 1, 0).reshape(images.shape[1], -1)
    share = (
        np.stack([np.bincount(values, minlength=256) for values in channels]) / channels.shape[1]
    )
    levels = np.arange(256) / 255
    mean = share @ levels
    return mean, np.sqrt(share @ levels**2 - mean**2)


def pool(images: np.ndarray, resolution: int) -> np.ndarray:
    """Average blocks of pixels to (rows, channels, resolution, resolution), rounded to uint8.

    Raises ValueError when the resolution does not divide the images' height and width.
    """
    rows, channels, height, width = images.shape
    if height % resolution or width % resolution:
        raise ValueError(f"resolution {resolution} does not divide {height} x {width}")
    block = (height // resolution, width // resolution)
    area = block[0] * block[1]
    columns = images.reshape(rows, channels, resolution, block[0], width).sum(3, dtype=np.int32)
    total = columns.reshape(rows, channels, resolution, resolution, block[1]).sum(4)
    return ((total + area // 2) // area).astype(np.uint8)


class Normalize:
    """uint8 images (batch, channels, height, width) -> float32, (x / 255 - mean) / std."""

    def __init__(self, mean: np.ndarray, std: np.ndarray, device):
        def channels(values):
            return torch.tensor(values, dtype=torch.float32, device=device)[:, None, None]

        self.scale = channels(1 / (255 * std))
        self.shift = channels(-mean / std)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return torch.addcmul(self.shift, images.float(), self.scale)


class CropFlip:
    """A random crop of every image after padding with `pad` black pixels, mirrored with probability
    1/2, then normalised.

    Called with (images, step), uint8 (batch, channels, height, width) and the batch's number. The
    result depends only on these and the seed, so a resumed run sees the same images.
    """

    def __init__(self, pad: int, normalize: Normalize, seed: int):
        self.pad, self.normalize, self.seed = pad, normalize, seed

    def __call__(self, images: torch.Tensor, step: int) -> torch.Tensor:
        batch, channels, height, width = images.shape
        rng = np.random.default_rng((self.seed, step, CROP_STREAM))
        top, left = rng.integers(0, 2 * self.pad + 1, size=(2, batch, 1))
        mirrored = rng.integers(0, 2, size=(batch, 1), dtype=bool)
        rows = top + np.arange(height)
        columns = left + np.where(mirrored, np.arange(width)[::-1], np.arange(width))
        flat = rows[:, :, None] * (width + 2 * self.pad) + columns[:, None, :]
        index = backend.to_device(torch.from_numpy(flat.reshape(batch, 1, -1)), images.device)
        padded = F.pad(images, [self.pad] * 4).flatten(2)
        crops = padded.gather(2, index.expand(-1, channels, -1))
        return self.normalize(crops.view(batch, channels, height, width))
