"""ResNet-18 with a width factor, counted as in Ma et al., Appendix F.4."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from repro.cost import Cost, of_training


class Convolution(NamedTuple):
    """A convolution of a ResNet at one resolution, and the BatchNorm after it."""

    inputs: int
    outputs: int
    kernel: int
    positions: int  # height x width of the output

    @property
    def macs(self) -> int:
        """Multiply-adds per image, F.4: C_in C_out k^2 H_out W_out."""
        return self.inputs * self.outputs * self.kernel**2 * self.positions


def channels(width: float | Sequence[float]) -> list[int]:
    """Channels of the four stages: 64, 128, 256, 512 times `width`, one factor or one per stage."""
    widths = width if isinstance(width, Sequence) else (width,) * 4
    return [round(64 * 2**stage * factor) for stage, factor in enumerate(widths)]


def convolutions(*, width: float | Sequence[float], resolution: int) -> Iterator[Convolution]:
    """ResNet-18's 20 convolutions, including the three 1 x 1 shortcuts.

    The stem is 3 x 3 with stride 1, without max-pool; the last three stages halve the resolution.
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
    """Numbers kept per image: the image and the outputs of every convolution and every ReLU.

    A ReLU follows every 3 x 3 convolution (after the sum for the second one of a block); its
    output is the next layer's input.
    """
    kept = sum(
        c.outputs * c.positions * (2 if c.kernel == 3 else 1)
        for c in convolutions(width=width, resolution=resolution)
    )
    return 3 * resolution**2 + kept + channels(width)[-1] + classes


def cost(spec: Mapping) -> Cost:
    """One run of this model."""
    data, model = spec["data"], spec["model"]
    sizes = {key: model[key] for key in ("width", "classes")}
    return of_training(
        spec,
        flops=flops(**sizes, resolution=data["resolution"]),
        batch=data["batch_size"],
        unit="samples",
        parameters=parameters(**sizes),
        activations=activations(**sizes, resolution=data["resolution"]),
        rows=1,  # not split: batch normalization needs the whole batch
        layers=21,  # 20 convolutions and the readout
    )
