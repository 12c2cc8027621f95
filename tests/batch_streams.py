"""What batches of images are held against, whoever makes them."""

import random
from contextlib import contextmanager

import numpy as np
import torch


def first(batches, step, count=3):
    """So many batches from a step on."""
    return [batch for batch, _ in zip(batches.from_step(step), range(count), strict=False)]


@contextmanager
def no_global_draws():
    """The generators that everybody shares are where they were."""
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = random.random(), np.random.random(), float(torch.rand(()))
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    yield
    assert (random.random(), np.random.random(), float(torch.rand(()))) == expected
