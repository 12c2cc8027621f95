"""Next-token prediction with a decoder; learning rate and init are set per kind of role."""

from collections.abc import Mapping

from repro.data.loading import load_data as load_data  # called by `repro.tasks.Task`
from repro.tasks.trainable import Trainable
from repro.training.loop import Training


def build(run: Trainable, *, init: Mapping[str, str]) -> Training:
    """A decoder; records also have `vocab_reached`, the tokenizer's actual vocabulary size.

    init: see `models.draw`.
    """
    net = run.network(init)
    reached = {"vocab_reached": run.loaded.data_settings["vocab_size"]}
    return run.training(
        net, run.updates(net), finish=lambda records: [record | reached for record in records]
    )
