"""The cost of a run of a model without a formula, by torch's counter on the meta device.

It takes seconds, for torch is loaded; a formula, `cost` of repro/cost/<model>.py, takes none.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from repro.cost import BYTES, Cost, of_training

ROWS = 2  # of the batch that is counted: the least that a normalization over it takes


def counted(task: str, spec: Mapping) -> Cost:
    """What `of_training` makes of one forward and backward pass."""
    return _counted(task, json.dumps(spec, sort_keys=True))


@lru_cache(maxsize=256)
def _counted(task: str, text: str) -> Cost:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from repro.data.random_data import random_data
    from repro.tasks import TASKS

    spec = json.loads(text)
    few = {**spec, "data": {**spec["data"], "batch_size": ROWS}, "microbatches": 1}
    training = TASKS[task].build(few, random_data(few, "meta"), "meta")
    batch = next(training.batches.from_step(0))
    model = training.model
    own = {id(each) for each in [*model.parameters(), *model.buffers()]}
    kept = 0

    def note(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal kept
        kept += 0 if id(tensor) in own else tensor.numel() * tensor.element_size() // BYTES
        return tensor

    counter = FlopCounterMode(display=False)
    with counter, torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        training.loss(model, batch).backward()
    length = spec["data"].get("sequence_length", 1)
    return of_training(
        spec,
        flops=counter.get_total_flops() // (ROWS * length),
        batch=spec["data"]["batch_size"] * length,
        unit="tokens" if "sequence_length" in spec["data"] else "samples",
        parameters=sum(p.numel() for p in model.parameters()),
        activations=kept // (ROWS * length),
        rows=1,  # nobody says whether its batch may be split
        layers=sum(p.dim() > 1 for p in model.parameters()),
    )
