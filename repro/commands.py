"""What each subcommand does: (suite, its arguments) -> lines to print, or None.

Imports are within the functions, so that a command starts without the libraries of the others.
"""

import json
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repro.core.suite import Suite


def configured(arguments: Namespace) -> tuple["Suite", str]:
    """The suite under a command's configuration, and what `arithmetic.apply` says of it."""
    from repro.core.suite import Suite, configuration, keep_plans
    from repro.lineage import arithmetic

    keep_plans()
    config = configuration(arguments.config)
    # First: a dataset may read its files, with a library that takes an arithmetic as it is loaded.
    notice = arithmetic.apply(config.arithmetic)
    return Suite(config), notice


def list(suite: "Suite", arguments: Namespace) -> str:
    """The figures there are, with the minutes and verdicts that are known at the configured scale;
    on stderr, the files that cannot be used."""
    from repro.core import catalog

    for line in suite.faults():
        print(f"warning: {line}", file=sys.stderr)
    names = suite.usable_figures()
    return "\n".join(
        f"figures/{name}.pdf  {catalog.figure(name).title}  [{_known(suite, name)}]"
        for name in names
    )


def papers(suite: "Suite", arguments: Namespace) -> str:
    """The papers there are, each as its own file says."""
    from repro.report import cited

    return "\n".join(map(str, cited.write())) if arguments.write else cited.listed()


def _known(suite: "Suite", name: str) -> str:
    """What a figure took and how its claims fared, as far as results or records say."""
    from repro.errors import UserError
    from repro.products.forecast import minutes
    from repro.products.known import find
    from repro.verdicts.judged_claims import fared

    try:
        known = find(suite, name) if suite.offers(name) else None
    except UserError as error:
        return str(error)
    if known is None:
        return "no results and no records"
    spent = sum(entry["seconds"] for entry in known.provenance["made"])
    return f"{minutes(spent)} of one core; {fared(known.claims) or 'no claim'}"


def cost(suite: "Suite", arguments: Namespace) -> str | None:
    """Runs, operations, memory and time of figures."""
    if arguments.page:
        from pathlib import Path

        from repro.report import costs

        costs.write(Path(arguments.page))
        return None
    from repro.authoring import untold
    from repro.core import discovery
    from repro.core.study import GPU_SCALES
    from repro.lineage import checkout
    from repro.products import forecast
    from repro.workflow import budget
    from repro.workflow.cluster import load_site

    names = arguments.figures or suite.config.figures
    figures = discovery.selected_figures(names, "cost")
    if "all" in names:  # those that the scale has
        figures = [name for name in figures if suite.offers(name)]
    site = load_site(checkout.ROOT / "profiles" / "slurm")
    on_gpu = suite.config.scale in GPU_SCALES  # for a CPU records/ has seconds
    price = budget.on_gpu(site.cpus_per_gpu) if on_gpu else forecast.price(suite, figures)
    if arguments.json:
        return json.dumps(budget.hours_by_paper(suite, figures, price), indent=1)
    by_study = bool(arguments.figures)
    lines = budget.table(suite, figures, price, site, by_study)
    lines += budget.too_large(suite, figures, site)
    lines += budget.too_long(suite, figures, site)
    lines += budget.feeding(suite, figures, price)
    lines += untold.untold(suite, figures)
    return "\n".join([*lines, *budget.passes(suite, figures)])


def bounds(suite: "Suite", arguments: Namespace) -> str | None:
    """Where the bounds of all claims come from."""
    from repro.report import marks
    from repro.verdicts import bounds

    if arguments.page:
        marks.fill(arguments.page, bounds.COMMAND, bounds.lines)
        return None
    return "\n".join(bounds.lines())


def explain(suite: "Suite", arguments: Namespace) -> str:
    """From a verdict to its runs."""
    from repro.products.explain import explain

    return explain(suite, arguments.claim)


def registered(suite: "Suite", arguments: Namespace) -> str | None:
    """What was registered of claims' tests, and whether before their runs."""
    from repro.products import explain, preregistered_table
    from repro.report import marks

    if arguments.page:
        marks.fill(Path(arguments.page), preregistered_table.PAGE, preregistered_table.lines)
        return None
    return explain.registered(arguments.claims)


def laws(suite: "Suite", arguments: Namespace) -> str | None:
    """Laws of other papers, each held against the slopes on record."""
    from repro.report import laws, marks

    if arguments.page:
        marks.fill(arguments.page, laws.PAGE, laws.lines)
        return None
    return "\n".join(laws.lines())


def fetch(suite: "Suite", arguments: Namespace) -> None:
    """Prepare a dataset."""
    from repro.workflow import jobs

    jobs.fetch(suite, arguments.dataset)


def tokenize(suite: "Suite", arguments: Namespace) -> None:
    """Train a BPE tokenizer, or take GPT-2's, and encode a dataset."""
    from repro.data.needs import Tokens
    from repro.workflow import jobs

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


def reduce(suite: "Suite", arguments: Namespace) -> str:
    """Collect a figure's cells into a table; prints the folder to draw it in."""
    from repro.products import built, run_table

    run_table.reduce(suite, arguments.figure, arguments.key)
    return built.picture_folder(suite, arguments.figure).as_posix()


def draw(suite: None, arguments: Namespace) -> None:
    """Judge a figure's claims and draw it, from the table in the folder above."""
    from repro.files import read_json
    from repro.lineage import arithmetic

    # Before numpy is imported, in whose sums a fit's last digits lie.
    arithmetic.set_environment(
        read_json(arguments.picture.parent / "provenance.json")["arithmetic"]
    )
    from repro.products import picture

    picture.draw(arguments.picture)


def publish(suite: None, arguments: Namespace) -> None:
    """Copy a figure to figures/."""
    from repro.products import published

    published.publish(arguments.picture)


def page(suite: "Suite", arguments: Namespace) -> None:
    """Every paper's figure of a name, a page each."""
    from repro.products import built

    built.page(suite, arguments.name)


def scoreboard(suite: "Suite", arguments: Namespace) -> str | None:
    """All verdicts of the configured figures."""
    from repro.products import scoreboard

    if arguments.page:
        from repro.report import marks

        marks.fill(
            Path(arguments.page), scoreboard.PAGE, partial(scoreboard.counts_on_record, suite)
        )
        return None
    return scoreboard.scoreboard(suite)


def report(suite: "Suite", arguments: Namespace) -> str:
    """The site: what reproduces and how sure it is, and docs/, for a browser, without training."""
    from repro.report import build

    print(build.beforehand(suite, arguments.folder), file=sys.stderr, flush=True)
    return build.summary(build.report(suite, arguments.folder), arguments.folder)


def record(suite: "Suite", arguments: Namespace) -> str:
    """Copy the configured figures' data to records/; of an entry, its losses beside its file."""
    from repro.products import records
    from repro.transfer_bench import entries

    if suite.config.entry:
        return entries.record(suite, suite.config.entry)

    return "\n".join(map(str, records.record(suite, arguments.unclean)))


def rejudge(suite: "Suite", arguments: Namespace) -> str:
    """Judge and draw what is on record again."""
    from repro.products import records

    return "\n".join(map(str, records.rejudge(suite)))


def power(suite: "Suite", arguments: Namespace) -> None:
    """How often claims agree on tables drawn from the paper's law, and from rivals'."""
    from repro.authoring import trials

    if arguments.page:
        from repro.report import marks

        marks.fill(Path(arguments.page), trials.PAGE, partial(trials.page, suite))
        return
    act = trials.outdated if arguments.check else trials.update
    for line in act(suite, arguments.figures or [*suite.config.figures]):
        print(line, flush=True)


def plan(suite: "Suite", arguments: Namespace) -> None:
    """Designs that tell a figure's tests, beside their price, from its record or a pilot."""
    from repro.authoring import planning, registering

    figure, table = arguments.figure, arguments.table
    if arguments.pilot is not None:
        table = registering.pilot(suite, figure, arguments.pilot or None)
    asked = arguments.without or [""], arguments.seeds
    for line in planning.plan(suite, figure, table, *asked):
        print(line, flush=True)


def register(suite: "Suite", arguments: Namespace) -> str:
    """The row of the register of a claim's test, as it is planned."""
    from repro.authoring import registering

    typed = {"why": arguments.why, "known": arguments.known, "window": arguments.window}
    return registering.row(suite, arguments.claim, arguments.plan, typed, arguments.arms)


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
    asked = arguments.of, arguments.seeds, arguments.widths, arguments.rates
    return "\n".join(new.figure(arguments.name, *asked))


def board(suite: "Suite", arguments: Namespace) -> str | None:
    """The board of transfer: who loses how much of what the width gains."""
    from repro.report import marks
    from repro.transfer_bench import leaders

    if arguments.page:
        marks.fill(arguments.page, leaders.PAGE, partial(leaders.lines, suite))
        return None
    return "\n".join(leaders.lines(suite))


def redraw(suite: "Suite", arguments: Namespace) -> str:
    """Draw figures from records/, without training."""
    from repro.products import records

    return "\n".join(records.redraw(suite))


def verify(suite: "Suite", arguments: Namespace) -> str | None:
    """Hold new data against records/."""
    if suite.config.entry:
        from repro.transfer_bench import entries

        return entries.verify(suite, suite.config.entry, entries.shown)
    from repro.files import write_json
    from repro.products import verify

    outcomes = verify.verify(suite, arguments.figures)
    for outcome in outcomes:
        print(outcome, flush=True)
    if arguments.log:
        write_json(arguments.log, verify.log(suite, outcomes))
    verify.check(suite, outcomes)
    return None


def tidy(suite: "Suite", arguments: Namespace) -> str:
    """What lies in results/ that no configuration of this scale and data names; deletes nothing."""
    from repro.products import tidy

    return "\n".join(tidy.lines(suite))


def coordinate_check(suite: "Suite", arguments: Namespace) -> str:
    """Slope of activation sizes against width; status 1 where they depend on it."""
    from repro.checks.coordinate_check import check
    from repro.errors import UserError

    asked = arguments.what, arguments.model, arguments.widths
    found = check(*asked, arguments.steps, arguments.seeds)
    if not found.passed:
        print(found, flush=True)
        raise UserError(f"coordinate-check: {arguments.what}: {found.reason}")
    return str(found)
