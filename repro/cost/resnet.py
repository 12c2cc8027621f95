"""ResNet-18 with a width factor, as of Ma et al., Appendix F.4."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Convolution(NamedTuple):
    """A convolution of a ResNet at one resolution, with the BatchNorm behind it."""

    inputs: int
    outputs: int
    kernel: int
    positions: int  # height x width of the output

    @property
    def macs(self) -> int:
        """Multiply-adds per image, F.4: C_in C_out k^2 H_out W_out."""
        return self.inputs * self.outputs * self.kernel**2 * self.positions


def channels(width: float | Sequence[float]) -> list[int]:
    """Channels of the four stages: 64, 128, 256 and 512 times `width`, or one factor a stage."""
    widths = width if isinstance(width, Sequence) else (width,) * 4
    return [round(64 * 2**stage * factor) for stage, factor in enumerate(widths)]


def convolutions(*, width: float | Sequence[float], resolution: int) -> Iterator[Convolution]:
    """ResNet-18's 20 convolutions, the three 1 x 1 shortcuts among them.

    3 x 3 stem of stride 1, no max-pool; the last three stages halve the resolution, pixels.
    """
    inputs, *_ = stages = channels(width)
    yield Convolution(3, inputs, 3, resolution**2)
    for stage, outputs in enumerate(stages):
        if stage:
            resolution = -(-resolution // 2)
            yield Convolution(inputs, outputs, 1, resolution**2)
        yield Convolution(inputs, outputs, 3, resolution**2)
        for _ in range(3):
            yield Convolution(outputs, outputs, 3, resolution**2)
        inputs = outputs


def flops(*, width: float | Sequence[float], classes: int, resolution: int = 32) -> int:
    """Training operations per image, F.4: 6 times the multiply-adds of all layers.

    The printed totals count the shortcut convolutions and the linear layer.
    """
    macs = sum(layer.macs for layer in convolutions(width=width, resolution=resolution))
    return 6 * (macs + channels(width)[-1] * classes)


def parameters(*, width: float | Sequence[float], classes: int) -> int:
    """Convolutions without biases, BatchNorm's scales and shifts, the linear layer with biases."""
    layers = convolutions(width=width, resolution=32)
    own = sum(c.inputs * c.outputs * c.kernel**2 + 2 * c.outputs for c in layers)
    return own + (channels(width)[-1] + 1) * classes


def activations(*, width: float | Sequence[float], classes: int, resolution: int) -> int:
    """Numbers kept per image: the image, every convolution's output, and ReLU's.

    A ReLU follows every 3 x 3 convolution (the second of a block after the sum); its output is
    the next layer's input.
    """
    kept = sum(
        c.outputs * c.positions * (2 if c.kernel == 3 else 1)
        for c in convolutions(width=width, resolution=resolution)
    )
    return 3 * resolution**2 + kept + channels(width)[-1] + classes
