"""CIFAR-100 for runs that see every image once: of the synthetic textures, more images.

The law of the generated images, their classes and the validation split are those of
`data/cifar100.py`, as are the real data, which are long enough, and what a folder may hold.
"""

from data import cifar100
from repro.data.source import Source
from repro.errors import UserError
from repro.files import sha256

PART = 5_000  # images that are drawn together, as few gigabytes of memory allow
SEEDS = range(2, 7)  # of the parts; 0 and 1 are those of cifar100's splits
EMBEDDED_SHA256 = "eb67bd4ad2de032a80efad0f68c2f015a0d4a8a57f1761748bfc71cb4327c145"


def identity(source: Source) -> dict:
    """What the data are, for a run's id; raises UserError as `cifar100.identity`."""
    found = cifar100.identity(source)
    if source.kind != "embedded":
        return found
    return found | {"sha256": found["sha256"] | {"train": EMBEDDED_SHA256}}


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        rows = PART * len(SEEDS)
        return f"embedded images in place of CIFAR-100 ({rows:,} generated textures, 10 classes)"
    return cifar100.describe(source)


def arrays(source: Source) -> dict:
    """As `cifar100.arrays`; raises UserError when what was found is not what was expected."""
    found = cifar100.arrays(source)
    if source.kind != "embedded":
        return found
    import numpy as np

    from repro.data.synthetic_images import textured_images

    parts = [textured_images(PART, seed) for seed in SEEDS]
    inputs, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    digest = sha256(inputs.tobytes() + labels.astype("<i8").tobytes())
    if digest != EMBEDDED_SHA256:
        raise UserError(
            f"cifar100_long (synthetic): the images have SHA-256 {digest}, expected "
            f"{EMBEDDED_SHA256}; nothing was written"
        )
    return found | {"train": {"inputs": inputs, "labels": labels}}
