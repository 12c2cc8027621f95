"""The cost of task `warm_start` for each of its models."""

from collections.abc import Mapping

from repro.cost import Cost, gpt2, mlp, of_training, resnet, transformer
from repro.errors import UserError


def warm_start_cost(spec: Mapping) -> Cost:
    """One run of task `warm_start`, by its model's name: mlp, resnet or gpt2.

    Raises UserError on another name.
    """
    data, model = spec["data"], spec["model"]
    if model["name"] == "mlp":
        sizes = {key: model[key] for key in ("inputs", "hidden_layers", "width", "classes")}
        return of_training(
            spec,
            flops=mlp.flops(**sizes),
            batch=data["batch_size"],
            unit="samples",
            parameters=mlp.parameters(**sizes),
            activations=mlp.activations(**sizes),
            rows=data["batch_size"],
            layers=sizes["hidden_layers"] + 1,
        )
    if model["name"] == "resnet":
        sizes = {key: model[key] for key in ("width", "classes")}
        return of_training(
            spec,
            flops=resnet.flops(**sizes, resolution=data["resolution"]),
            batch=data["batch_size"],
            unit="samples",
            parameters=resnet.parameters(**sizes),
            activations=resnet.activations(**sizes, resolution=data["resolution"]),
            rows=1,  # not split: batch normalization needs the whole batch
            layers=21,  # 20 convolutions and the readout
        )
    if model["name"] == "gpt2":
        sizes = {key: model[key] for key in ("width", "depth")}
        sizes["vocab_size"] = data["vocab_size"]
        return of_training(
            spec,
            flops=gpt2.flops(**sizes, sequence_length=data["sequence_length"]),
            batch=data["batch_size"] * data["sequence_length"],
            unit="tokens",
            parameters=gpt2.parameters(**sizes, sequence_length=data["sequence_length"]),
            activations=transformer.activations(**sizes, expansion=4),
            rows=data["batch_size"],
            layers=4 * sizes["depth"] + 1,
        )
    raise UserError(f"model {model['name']!r} is unknown: choose from mlp, resnet, gpt2")
