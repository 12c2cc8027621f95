"""What each subcommand does: (suite, its arguments) -> lines to print, or None.

Imports are within the functions, so that a command starts without the libraries of the others.
"""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from repro.errors import UserError

if TYPE_CHECKING:
    from repro.core.suite import Suite

AXES = ("widths", "rates")  # options of which there are several values


def configured(arguments: Namespace) -> tuple["Suite", str]:
    """The suite under a command's configuration, and what `arithmetic.apply` says of it."""
    from repro.core.config import configuration
    from repro.core.suite import Suite, keep_plans
    from repro.lineage import arithmetic

    keep_plans()
    config = configuration(arguments.config)
    # First: a dataset may read its files, with a library that takes an arithmetic as it is loaded.
    notice = arithmetic.apply(config.arithmetic)
    return Suite(config), notice


def told_of_records(arguments: Namespace) -> str:
    """That records which a command has read are not as they were committed; "" of one that writes
    them."""
    records = sys.modules.get("repro.products.records")
    return "" if records is None or arguments.command == "record" else records.told_of_changed()


def show(suite: "Suite", arguments: Namespace) -> str:
    """What is known: of a paper, a figure or a test; of all, by a word; else a line a figure."""
    first, *rest = arguments.what or [""]
    if arguments.json and first != "cost":
        raise UserError("show --json: is of `show cost` alone; claims.json has the rest")
    if first == "cost":
        return _cost(suite, rest, arguments.json)
    if first == "registered":
        from repro.products.explain import registered

        return registered(rest)
    whole = {"": _figures, "statements": _statements, "laws": _laws, "board": _board}
    if first in whole and not rest:
        return whole[first](suite)
    from repro.products.explain import explain
    from repro.products.summary import folded

    asked = bool(arguments.config)
    return "\n".join(folded("\n".join(explain(suite, w, asked) for w in arguments.what)))


def _statements(suite: "Suite") -> str:
    """How every paper's statements fared."""
    from repro.products.summary import on_record

    return "\n".join(on_record())


def _laws(suite: "Suite") -> str:
    """Laws of other papers against every slope on record."""
    from repro.report.laws import lines

    return "\n".join(lines())


def _board(suite: "Suite") -> str:
    """The board of `transfer`."""
    from repro.transfer_bench.leaders import lines

    return "\n".join(lines(suite))


def _figures(suite: "Suite") -> str:
    """The figures there are, with what is known of them at the configured scale; on stderr, the
    files that cannot be used."""
    from repro.core import catalog

    for line in suite.faults():
        print(f"warning: {line}", file=sys.stderr)
    names = suite.usable_figures()
    return "\n".join(
        f"figures/{name}.pdf  {catalog.figure(name).title}  [{_known(suite, name)}]"
        for name in names
    )


def _known(suite: "Suite", name: str) -> str:
    """What a figure took and how its tests fared, as far as results or records say."""
    from repro.products.forecast import minutes
    from repro.products.known import find
    from repro.verdicts.words import counts

    try:
        known = find(suite, name) if suite.offers(name) else None
    except UserError as error:
        return str(error)
    if known is None:
        return "no results and no records"
    spent = sum(entry["seconds"] for entry in known.provenance["made"])
    return f"{minutes(spent)} of one core; {counts(known.results['tests']) or 'no test'}"


def _cost(suite: "Suite", asked: Sequence[str], as_json: bool) -> str:
    """Runs, operations, memory and time of figures."""
    from repro.authoring import untold
    from repro.core import discovery
    from repro.core.study import GPU_SCALES
    from repro.lineage import checkout
    from repro.products import forecast
    from repro.workflow import budget
    from repro.workflow.cluster import load_site

    names = asked or suite.config.figures
    figures = discovery.selected_figures(names, "cost")
    if "all" in names:  # those that the scale has
        figures = [name for name in figures if suite.offers(name)]
    site = load_site(checkout.ROOT / "profiles" / "slurm")
    on_gpu = suite.config.scale in GPU_SCALES  # for a CPU records/ has seconds
    price = budget.on_gpu(site.cpus_per_gpu) if on_gpu else forecast.price(suite, figures)
    if as_json:
        return json.dumps(budget.hours_by_paper(suite, figures, price), indent=1)
    by_study = bool(asked)
    lines = budget.table(suite, figures, price, site, by_study)
    lines += budget.too_large(suite, figures, site)
    lines += budget.too_long(suite, figures, site)
    lines += budget.feeding(suite, figures, price)
    lines += untold.untold(suite, figures)
    return "\n".join([*lines, *budget.passes(suite, figures)])


def fetch(suite: "Suite", arguments: Namespace) -> None:
    """Prepare a dataset, or encode a prepared one by a tokenizer trained on it, or GPT-2's."""
    from repro.data.needs import Tokens
    from repro.workflow import jobs

    if arguments.vocab_size is None:
        jobs.fetch(suite, arguments.dataset)
    else:
        need = Tokens(arguments.dataset, arguments.vocab_size, arguments.tokenizer)
        jobs.tokenize(suite, need)


def choose(suite: "Suite", arguments: Namespace) -> None:
    """Choose among the runs of a stage what cells of another take."""
    from repro.workflow import jobs

    jobs.choose(suite, suite.choice(arguments.study, arguments.choice))


def train(suite: "Suite", arguments: Namespace) -> None:
    """Carry out the runs of one cell."""
    from repro.workflow import jobs

    jobs.train_beside_others(suite, suite.cell(arguments.study, arguments.cell), _place(arguments))


def run(suite: "Suite", arguments: Namespace) -> None:
    """Carry out all runs of figures one after another, after their data."""
    from repro.workflow import jobs

    jobs.run(suite, arguments.figures, _place(arguments))


def _place(arguments: Namespace):
    from dataclasses import fields

    from repro.workflow.jobs import Place

    return Place(**{field.name: getattr(arguments, field.name) for field in fields(Place)})


def make(suite: "Suite", arguments: Namespace) -> str:
    """Collect a figure's cells into a table, judge its claims and draw it; prints the folder."""
    from repro.products import picture

    return picture.make(suite, arguments.figure, arguments.key).as_posix()


def publish(suite: None, arguments: Namespace) -> None:
    """Copy a figure to figures/."""
    from repro.products import published

    published.publish(arguments.picture)


def page(suite: "Suite", arguments: Namespace) -> None:
    """Every paper's figure of a name, a page each."""
    from repro.products import built

    built.page(suite, arguments.name)


def report(suite: "Suite", arguments: Namespace) -> str:
    """The site: what reproduces and how sure it is, and docs/, for a browser, without training."""
    from repro.report import build

    print(build.beforehand(suite, arguments.folder), file=sys.stderr, flush=True)
    return build.summary(build.report(suite, arguments.folder), arguments.folder)


def record(suite: "Suite", arguments: Namespace) -> str:
    """Copy the configured figures' data to records/."""
    from repro.products import records

    if arguments.again:
        return "\n".join(map(str, records.rejudge(suite)))
    return "\n".join(map(str, records.record(suite, arguments.unclean)))


def power(suite: "Suite", arguments: Namespace) -> None:
    """How often tests agree on tables drawn from the paper's law, and from rivals'."""
    from repro.authoring import trials

    act = trials.outdated if arguments.check else trials.update
    for line in act(suite, arguments.figures or [*suite.config.figures]):
        print(line, flush=True)


def plan(suite: "Suite", arguments: Namespace) -> None:
    """Designs that tell a figure's tests, beside their price, from its record or a pilot."""
    from repro.authoring import planning, registering

    figure, table = arguments.figure, None
    planning.bound(suite, figure)  # before a pilot is run
    if arguments.pilot is not None:
        table = registering.pilot(suite, figure, arguments.pilot or None)
    for line in planning.plan(suite, figure, table, arguments.seeds):
        print(line, flush=True)


def register(suite: "Suite", arguments: Namespace) -> str:
    """The row of the register of a test, as it is planned."""
    from repro.authoring import registering

    typed = {"why": arguments.why, "known": arguments.known, "window": arguments.window}
    return registering.row(suite, arguments.test, typed, arguments.arms)


def seeds(suite: "Suite", arguments: Namespace) -> str:
    """The seeds of a paper's registered tests, derived from the commits of their rows."""
    from repro.authoring import registering

    return "\n".join(registering.derive(arguments.paper))


def new(suite: "Suite", arguments: Namespace) -> str:
    """Files of a paper, or of a figure and its runs, that pass every test as they are."""
    from repro.authoring import new

    if arguments.what == "pages":
        return "\n".join(new.pages())
    if arguments.what == "paper":
        return "\n".join(new.paper(arguments.slug, arguments.arxiv))
    asked = arguments.seeds, arguments.widths, arguments.dry_run
    return "\n".join(new.figure(arguments.name, *asked))


def try_(suite: "Suite", arguments: Namespace) -> None:
    """One test with your settings: its price, its runs, and what came out beside the record."""
    from repro.products import beside, drawn, tried

    lists = {name: tried.numbers(f"--{name}", getattr(arguments, name)) for name in AXES}
    counts = {
        name: tried.numbers(f"--{name}", [getattr(arguments, name)], whole=True)[0]
        for name in ("seeds", "steps")
        if getattr(arguments, name)
    }
    asked: dict[str, Any] = {**lists, **counts, "changes": tried.changes(arguments.set)}
    asked["optimizer"] = arguments.optimizer
    if arguments.keep and arguments.population:
        raise UserError("--keep: writes no population; leave --population out")
    if arguments.keep:
        from repro.authoring import new

        settings = tried.planned(suite, arguments.test, **asked).settings
        lines = iter(new.kept(arguments.keep, settings, arguments.dry_run))
    elif arguments.population:
        file, dry = arguments.population, arguments.dry_run
        lines = drawn.carried_out(suite, arguments.test, file, dry, **asked)
    else:
        lines = beside.carried_out(suite, arguments.test, arguments.dry_run, **asked)
    for line in lines:
        print(line, flush=True)


def redraw(suite: "Suite", arguments: Namespace) -> str:
    """Draw figures from records/, without training."""
    from repro.products import records

    return "\n".join(records.redraw(suite))


def verify(suite: "Suite", arguments: Namespace) -> str | None:
    """Hold new data against records/."""
    if arguments.tidy:
        from repro.products import tidy

        return "\n".join(tidy.lines(suite))
    from repro.files import write_json
    from repro.products import retrain_cell, verify

    if arguments.cell:
        return retrain_cell.verify_cell(suite, arguments.figures, retrain_cell.print_or_ask)
    outcomes = verify.verify(suite, arguments.figures)
    for outcome in outcomes:
        print(outcome, flush=True)
    if arguments.log:
        write_json(arguments.log, verify.log(suite, outcomes))
    verify.check(suite, outcomes)
    return None
