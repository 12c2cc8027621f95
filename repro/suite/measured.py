"""How fast a device is, by the file that `benchmarks/gpu.sh` wrote there. No torch.

A line of JSON a stage. What is read here:

    {"stage": "machine", "format": FORMAT, "name": the device's}
    {"stage": "speeds", "flops": {precision: of square products, a second},
        "memory": bytes a second}
    {"stage": "steps", "steps": [{"model", "precision", "parameters", "flops": of a step,
        "microbatches", "layers", "seconds": of a step, ...}, ...]}
    {"stage": "reading", "images_a_second": that one core decodes and crops}, which may be missing
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.cost import GPU_RATES, IMAGE_SECONDS, Speeds
from repro.errors import UserError
from repro.files import open_file, parse_json
from repro.suite.foreign import NUMBER, RELEASE, WORDS, fits

FORMAT = "repro benchmarks/gpu 1"
SHARE = 0.4  # of the speed of products that training is assumed to reach where it was not measured
PRECISION = "|".join(GPU_RATES)
FORMS: dict[str, dict[str, Any]] = {  # stage -> its entries -> their form
    "machine": {"format": FORMAT, "name": WORDS},
    "speeds": {"flops": {PRECISION: NUMBER}, "memory": NUMBER},
    "steps": {"steps": [{RELEASE: (WORDS, NUMBER, None)}]},
}
STEP = {
    "model": WORDS,
    "precision": PRECISION,
    **dict.fromkeys(("parameters", "flops", "microbatches", "layers", "seconds"), NUMBER),
}
REMEDY = "make it on the device: bash benchmarks/gpu.sh"


@dataclass(frozen=True)
class Measured:
    """A device's name and speeds."""

    name: str
    speeds: Speeds


def read(path: Path) -> Measured:
    """What a file says. A precision whose products were not timed takes as long as float32, which
    is how a CPU carries out all of them.

    Raises UserError on a file that is another's, that lacks a stage or where one failed.
    """
    try:
        with open_file(path) as file:
            lines = [parse_json(line, path, REMEDY) for line in file.read().splitlines()]
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); {REMEDY}") from None
    stages = {line.get("stage"): line for line in lines if isinstance(line, Mapping)}
    for name, forms in FORMS.items():
        found = stages.get(name, {})
        if "error" in found:
            raise UserError(f"{path}: its stage {name} failed; {REMEDY}")
        for entry, form in forms.items():
            if not fits(found.get(entry), form):
                raise UserError(f"{path}: has no {entry} of a stage {name} to read; {REMEDY}")
    products, memory = stages["speeds"]["flops"], stages["speeds"]["memory"]
    steps = stages["steps"]["steps"]
    numbers = [*products.values(), memory, *(s.get(k) for s in steps for k in STEP)]
    whole = all(fits(step.get(key), form) for step in steps for key, form in STEP.items())
    if not (whole and steps and all(isinstance(n, str) or n > 0 for n in numbers)):
        raise UserError(f"{path}: has a step that lacks something, or a speed of 0; {REMEDY}")
    if "float32" not in products:
        raise UserError(f"{path}: has no products in float32; {REMEDY}")
    by_model = defaultdict(list)
    for step in steps:
        rate = step["flops"] / step["seconds"]
        by_model[step["model"], step["precision"]].append((step["parameters"], rate))
    images = stages.get("reading", {}).get("images_a_second", 1 / IMAGE_SECONDS)
    if not (fits(images, NUMBER) and images > 0):
        raise UserError(f"{path}: has no images_a_second of a stage reading to read; {REMEDY}")
    speeds = Speeds(
        rates={p: SHARE * products.get(p, products["float32"]) for p in GPU_RATES},
        bandwidth=memory,
        # A step that does little else than start kernels takes as long as its layers.
        layer_seconds=min(s["seconds"] / (s["microbatches"] * s["layers"]) for s in steps),
        steps={pair: sorted(found) for pair, found in by_model.items()},
        image_seconds=1 / images,
    )
    return Measured(stages["machine"]["name"], speeds)
