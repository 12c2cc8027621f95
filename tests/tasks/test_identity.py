"""A training run is known by the numbers that train it, not by the name of a parametrization."""

import dataclasses

import pytest
from golden import SPECS
from refusals import refused
from tiny import MODELS, tiny_run

from repro import models
from repro.core.runs import Among, Run, Upstream
from repro.core.study import Best
from repro.data.random_data import random_data
from repro.tasks import TASKS
from repro.tasks.identity import READS, WRITES, _factors, trained
from widthwise.parametrization import Power, Rule, named

SPEC = SPECS["warm_start"]


@pytest.fixture
def tables(monkeypatch):
    """A call that replaces a parametrization's table, or takes a new name for it."""
    find = named.find

    def replace(name, rows):
        def found(asked):
            return dataclasses.replace(find("muP"), rules=rows) if asked == name else find(asked)

        monkeypatch.setattr(named, "find", found)
        _factors.cache_clear()

    yield replace
    monkeypatch.undo()
    _factors.cache_clear()


def identity(task, spec):
    return Run(task, TASKS[task].version, spec, {}, {}, TASKS[task].identity).id


def warm_start(parametrization, width=12, **changes):
    model = SPEC["model"] | {"width": width}
    return identity(
        "warm_start", SPEC | {"model": model, "parametrization": parametrization} | changes
    )


def test_at_the_base_width_every_parametrization_is_one_run():
    names = ("SP", "muP", "muP-multiplier", "LVP")
    assert len({warm_start(name, width=4) for name in names}) == 1
    assert len({warm_start(name, width=12) for name in names}) == len(names)


def test_a_run_s_id_changes_with_every_number_of_its_table(tables):
    rows = named.find("muP").rules("adam")
    before = warm_start("muP")
    for kind, rule in rows.items():
        for column in ("init", "lr", "weight_decay", "eps"):
            power = getattr(rule, column)
            if kind == "scalar" or (kind, column) == ("vector", "weight_decay"):
                continue  # no width grows along a scalar; this spec's vectors do not decay
            other = Rule(**{**vars(rule), column: Power(power.n_in + 0.5, power.n_out + 0.25)})
            tables("muP", lambda family, o=other, k=kind: rows | {k: o})
            assert warm_start("muP") != before, (kind, column)
    tables("muP", lambda family: dict(rows))
    assert warm_start("muP") == before


def test_another_name_for_the_same_table_is_the_same_run(tables):
    tables("mine", named.find("muP").rules)
    assert warm_start("mine") == warm_start("muP")


def test_rates_count_and_how_they_are_written_does_not():
    """SP with a table's factors put into its rates by hand is that table, if its decay, eps and
    init are as well."""
    spec = SPECS["language_model"]
    plain = spec | {"optimizer": spec["optimizer"] | {"eps": 0.0, "weight_decay": 0.0}}
    width = spec["model"]["width"]
    by_hand = plain | {
        "parametrization": "SP",
        "init": {"embedding": "LVP", "output": "muP"},
        "lr": {kind: spec["lr"][kind] / width for kind in ("hidden", "output")}
        | {"embedding": spec["lr"]["embedding"]},
    }
    assert identity("language_model", by_hand) == identity("language_model", plain)
    faster = by_hand | {"lr": by_hand["lr"] | {"embedding": 1.0}}
    assert identity("language_model", faster) != identity("language_model", by_hand)


def test_what_is_taken_from_upstream_stays_beside_its_factor():
    tuned = Upstream(Best("tune", "lr"), Among([Run("fake", 1, {"seed": 0}, {}, {})]))
    other = Upstream(Best("tune", "lr"), Among([Run("fake", 1, {"seed": 1}, {}, {})]))
    assert warm_start("muP", lr=tuned) != warm_start("muP", lr=other)
    assert warm_start("muP", lr=tuned) != warm_start("SP", lr=tuned)
    assert warm_start("muP", 4, lr=tuned) == warm_start("SP", 4, lr=tuned)
    decay = SPEC["optimizer"] | {"weight_decay": tuned}
    assert warm_start("muP", optimizer=decay) != warm_start("muP")


def test_a_parametrization_that_there_is_not_is_named_before_anything_runs():
    with refused("unknown parametrization 'muQ'"):
        warm_start("muQ")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["muP-multiplier", "hybrid", "LVP"])
def test_the_id_holds_what_the_optimizer_s_groups_hold(model, name):
    """Of every model at its second width: the numbers in the id are those of the built groups."""
    if name == "LVP" and models.ARCHITECTURES[model].tied:
        pytest.skip("LVP has no tied readout")
    task, spec, widths = tiny_run(model, name)
    optimizer = spec["optimizer"] | {"weight_decay": 0.3}
    spec |= {"model": spec["model"] | {"width": widths[1]}, "optimizer": optimizer}
    ratio = widths[1] / spec["model"]["base_width"]
    training = TASKS[task].build(spec, random_data(spec, "meta"), "meta")
    groups = {id(p): group for group in training.optimizer.param_groups for p in group["params"]}
    roles, held = training.model.roles(), trained(spec)["roles"]
    assert trained(spec)["multipliers"] == models.multipliers(spec["model"], name)

    def value(entry, role):
        if not isinstance(entry, dict):
            return entry
        fans = role.fan_in ** entry["fan_in"] * role.fan_out ** entry["fan_out"]
        return entry["factor"] * fans

    for parameter, tensor in training.model.named_parameters():
        role = roles[parameter]
        widths_of_kind = (
            ratio if role.kind in READS else 1,
            ratio if role.kind in WRITES else 1,
        )
        assert (role.width_in, role.width_out) == pytest.approx(widths_of_kind)
        for key in ("lr", "weight_decay", "eps"):
            expected = value(held[role.kind][key], role)
            assert groups[id(tensor)][key] == pytest.approx(expected), (parameter, key)
