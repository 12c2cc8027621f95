"""Command line: one subcommand per rule of the workflow, and what a person asks by hand."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from repro import launch, registry
from repro.cluster import load_site
from repro.config import Config, parse
from repro.errors import UserError
from repro.registry import ROOT, Suite
from repro.study import Cell
from repro.tasks import TASKS, Tokens

FORCED = {
    "shard": "cut the state among the ranks, also where it fits",
    "recompute": "recompute activations, also where they fit",
    "compile": "compile the model's blocks, on CUDA",
}


def load_config(words: list[str]) -> Config:
    """config/config.yaml with `key=value` words over it, as snakemake --config does."""
    import yaml

    values = yaml.safe_load((ROOT / "config" / "config.yaml").read_text()) or {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator:
            raise UserError(f"--config {word!r}: give key=value")
        values[key] = yaml.safe_load(value) if value else value
    return parse(values, registry.dataset_names())


def fetch(suite: Suite, dataset: str) -> None:
    from repro.data.prepare import prepare

    prepare(
        registry.dataset(dataset),
        suite.source(dataset),
        suite.identity(dataset),
        suite.manifest_path(dataset),
    )


def tokenize(suite: Suite, need: Tokens) -> None:
    from repro.data.prepare import tokenize

    tokenize(
        registry.dataset(need.dataset),
        suite.source(need.dataset),
        suite.manifest_path(need.dataset),
        need,
        suite.tokens_path(need),
    )


def train(suite: Suite, cell: Cell, args) -> None:
    """Carry out a cell's runs, by `args.ranks` processes where they can share its steps."""
    shared = all(TASKS[run.task].cost(run.spec).divides(args.ranks) for run in cell.runs)
    if args.ranks > 1 and not shared:
        print(f"{cell.study}: one process, {args.ranks} would have no equal parts of a step")
    elif args.ranks > 1 and not launch.is_rank():
        launch.check_devices(args.ranks, args.device)
        forced = [f"--{name}" for name in FORCED if getattr(args, name)]
        config = ["--config", *suite.config.arguments()]
        words = ["train", cell.study, cell.name, "--device", args.device, *forced, *config]
        launch.launch(words, args.ranks)
        return
    from repro import distributed
    from repro.cells import Earlier, run_cell
    from repro.progress import Progress

    progress = Progress(
        cell.name.rsplit("-", 1)[0], len(cell.runs), cell.runs[0].spec.get("steps", 1)
    )

    def label(index, run):
        inner = {k.split(".")[-1]: v for k, v in run.axes.items() if k not in cell.axes}
        words = " ".join(
            f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in inner.items()
        )
        return progress(index, words)

    earlier = {
        run_id: (found, suite.cell_path(found), suite.checkpoints_path(found))
        for run_id, found in suite.earlier(cell).items()
    }
    keep = registry.keeps_checkpoints(cell.study)
    forced = {name: getattr(args, name) for name in FORCED}
    with distributed.joined(args.device):
        resumed = run_cell(
            cell,
            suite.cell_path(cell),
            suite.store,
            suite.needs(cell),
            args.device,
            label,
            read=Earlier(earlier),
            checkpoints=suite.checkpoints_path(cell) if keep else None,
            widen=suite.config.at_edge == "widen",
            layout=lambda cost: distributed.choose_layout(cost, args.device, **forced),
        )
        if distributed.is_main():
            print(f"resumed {resumed} runs, trained {len(cell.runs) - resumed}")


def run(suite: Suite, args) -> None:
    done = set()
    for name in registry.selected_figures(args.figures, "run"):
        for cells in suite.figure_cells(name).values():
            for cell in cells:
                carry_out(suite, cell, args, done)


def carry_out(suite: Suite, cell: Cell, args, done: set[str]) -> None:
    """A cell, after the data and the cells it reads. done: ids of those that are not made again."""
    if cell.id in done:
        return
    done.add(cell.id)
    for earlier in suite.earlier(cell).values():
        carry_out(suite, earlier, args, done)
    for need, path in suite.needs(cell).items():
        if not suite.manifest_path(need.dataset).exists():
            fetch(suite, need.dataset)
        if not path.exists():
            tokenize(suite, need)
    train(suite, cell, args)


def show(text) -> None:
    print("\n".join(map(str, text)) if isinstance(text, list) else text)


def verify(suite: Suite, args) -> None:
    from repro.records import verify

    lines, agree = verify(suite)
    show(lines)
    if not agree:
        raise UserError("verify: some figures differ from records/; see the lines above")


def coordinate_check(suite: Suite, args) -> None:
    from repro.coordinate_check import report

    show(report(args.parametrization, args.widths, args.steps, args.seeds))


def cost(suite: Suite, args) -> None:
    from repro import budget

    figures = registry.selected_figures(args.figures or suite.config.figures, "cost")
    rate = budget.device_rate(args.device_flops, args.measure)
    site = load_site(ROOT / "profiles" / "slurm")
    show(budget.table(suite, figures, *rate, site, by_study=bool(args.figures)))


def calling(place: str, *fields: str):
    """A command that calls `module.function` of repro and prints what it returns."""
    module, name = place.split(".")

    def command(suite: Suite, args) -> None:
        function = getattr(import_module(f"repro.{module}"), name)
        result = function(suite, *(getattr(args, field) for field in fields))
        if result is not None:
            show(result)

    return command


def pack(suite: Suite, args) -> None:
    from repro.packs import pack

    print(f"packed {pack(suite, args.archive)} cells into {args.archive}")


def unpack(suite: Suite, args) -> None:
    from repro.packs import unpack

    print(f"unpacked {unpack(args.archive)} new cells")


def listing(suite: Suite, args) -> None:
    for name in registry.figure_names():
        print(f"figures/{name}.pdf  {registry.figure(name).TITLE}")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    main = argparse.ArgumentParser(prog="python -m repro", description=__doc__)
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "--config",
            nargs="*",
            default=[],
            metavar="KEY=VALUE",
            help="as snakemake's: scale, data, figures, <dataset>=embedded|real|FOLDER",
        )
        command.set_defaults(run=run)
        return command

    add("list", listing, "the figures there are")
    command = add("fetch", lambda suite, args: fetch(suite, args.dataset), "prepare a dataset")
    command.add_argument("dataset")
    command = add(
        "tokenize",
        lambda suite, args: tokenize(suite, Tokens(args.dataset, args.vocab_size, args.tokenizer)),
        "train a BPE tokenizer, or take GPT-2's, encode a dataset",
    )
    command.add_argument("dataset")
    command.add_argument("vocab_size", type=int)
    command.add_argument("--tokenizer", choices=("bpe", "gpt2"), default="bpe")
    command = add(
        "train",
        lambda suite, args: train(suite, suite.cell(args.study, args.cell), args),
        "carry out the runs of one cell",
    )
    command.add_argument("study")
    command.add_argument("cell")
    add_places(command)
    command = add("run", run, "carry out all runs of figures one after another, after their data")
    command.add_argument("figures", nargs="+", metavar="FIGURE")
    add_places(command)
    for name, text in (
        ("reduce", "collect a figure's cells into data.csv"),
        ("draw", "judge a figure's claims and draw it"),
        ("publish", "copy a figure to figures/"),
    ):
        command = add(name, calling(f"products.{name}", "figure"), text)
        command.add_argument("figure")
    command = add("page", lambda suite, args: _page(args.name), "every paper's figure of a name")
    command.add_argument("name")
    add("scoreboard", calling("products.scoreboard"), "all verdicts of the configured figures")
    add("record", calling("records.record"), "copy the configured figures' data to records/")
    add("rejudge", calling("records.rejudge"), "judge and draw what is on record again")
    add("redraw", calling("records.redraw"), "draw figures from records/, without training")
    add("verify", verify, "hold new data against records/")
    command = add("cost", cost, "runs, operations, memory and hours of figures")
    command.add_argument(
        "figures", nargs="*", metavar="FIGURE", help="default: a line each, as configured"
    )
    command.add_argument("--scale", help="as --config scale=SCALE")
    rate = command.add_mutually_exclusive_group()
    rate.add_argument(
        "--device-flops", type=float, metavar="FLOPS", help="operations a second, instead of H100's"
    )
    rate.add_argument("--measure", action="store_true", help="measure this machine's")
    command = add("explain", calling("products.explain", "claim"), "from a verdict to its runs")
    command.add_argument("claim")
    command = add("pack", pack, "finished cells into an archive, to carry them elsewhere")
    command.add_argument("archive", type=Path)
    command = add("unpack", unpack, "cells of an archive into results/")
    command.add_argument("archive", type=Path)
    command = add("coordinate-check", coordinate_check, "slope of activation sizes against width")
    command.add_argument("parametrization")
    command.add_argument("--widths", type=int, nargs="+", default=[64, 128, 256, 512])
    command.add_argument("--steps", type=int, default=4)
    command.add_argument("--seeds", type=int, default=4, choices=range(1, 101), metavar="N")
    return main


def add_places(command: argparse.ArgumentParser) -> None:
    """Where and by how many processes a command trains."""
    command.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    command.add_argument(
        "--ranks", type=int, default=1, metavar="N", help="processes that share a run, a GPU each"
    )
    for name, text in FORCED.items():
        command.add_argument(f"--{name}", action="store_true", help=text)


def _page(name: str) -> None:
    from repro.products import page

    page(name)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; a user's mistake ends in one line on stderr and exit status 1."""
    args = parser().parse_args(arguments)
    if getattr(args, "scale", None):
        args.config = [*args.config, f"scale={args.scale}"]
    try:
        args.run(Suite(load_config(args.config)), args)
    except KeyboardInterrupt:
        if not launch.is_rank():
            print("interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except Exception as error:
        if launch.is_rank():
            launch.report(error)
        elif isinstance(error, UserError):
            print(f"error: {error}", file=sys.stderr)
        else:
            raise
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
