"""Runs of a paper's scale at full shape, where nothing is computed or little is trained."""

from repro.core import discovery
from repro.core.schedule import cells
from repro.data.random_data import random_data
from repro.tasks import TASKS
from repro.training import loop


def paper_runs(name):
    """Settings of a study's runs at paper scale."""
    study = discovery.study(f"embedding_lr/{name}")
    found = cells(f"embedding_lr/{name}", study, "paper", TASKS[study.task].version, {})
    return [run.spec for cell in found for run in cell.runs]


def of_task(task, spec, device):
    """A run of a spec, on random data."""
    return TASKS[task].build(spec, random_data(spec, device), device)


def step_back(training, batch):
    """A loss and its gradients, of the shapes that they should have."""
    value = training.loss(training.model, batch)
    assert value.shape == ()
    value.backward()
    assert all(p.grad.shape == p.shape for p in training.model.parameters())


def losses_of(training, folder):
    """Training losses of a run."""
    silent = {"progress": lambda step, loss: None, "checkpoint": folder / "state"}
    return [record["train_loss"] for record in loop.fit(training, **silent)]
