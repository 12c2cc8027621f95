"""Command line: one subcommand per rule of the workflow, and what a person asks by hand."""

import sys

from repro.workflow.handover import hand_over

if __name__ == "__main__":  # first: a job that a worker carries out needs none of what follows
    hand_over(sys.argv[1:])

import argparse
import errno
import math
import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repro import __version__, commands
from repro.core.study import SCALES
from repro.errors import UserError, error_line, visible
from repro.files import disk_fault
from repro.lineage import import_check
from repro.lineage.checkout import ROOT
from repro.training import ending, launch

CONFIG = (
    f"as snakemake's: scale ({', '.join(SCALES)}), data (embedded: synthetic; real), figures, "
    "at_edge, arithmetic, max_gpu_hours, max_days, or a dataset: <dataset>=embedded|real|FOLDER"
)
WORDS = {  # argument -> what it is
    "test": "fig3.sqrt-d-rule, or embedding_lr/fig3.sqrt-d-rule",
    "what": "a test as fig3.sqrt-d-rule, a figure as fig3 or embedding_lr/fig3, a paper; or "
    "statements, registered [TEST ...], laws, board, cost [FIGURE ...]",
    "figures": "as in `show`: embedding_lr/fig3; also a paper, or fig3 for every paper's",
    "figure": "as in `show`: embedding_lr/fig3",
    "name": "of figures of several papers: fig3",
    "entry": "defines NAME and rules(family) or PARAMETRIZATION (CONTRIBUTING.md)",
    "dataset": "a file of data/, without .py",
    "paper": "a folder of studies/",
    "vocab_size": "number of tokens to tell apart",
    "study": "<paper>/<study>, or <paper>/<study>/<stage> where it has stages",
    "cell": "name of its file in results/, without .json",
    "choice": "name of its file in results/, without .json",
    "picture": "its folder: results/<scale>/<data>/<paper>/<figure>/<key>",
}
FORCED = {
    "compile": "compile the model's blocks on CUDA, also of a short run",
    "eager": "compile nothing",
}


def parser() -> argparse.ArgumentParser:
    """The whole command line; what a command does is the function of its name in `commands`."""
    main = argparse.ArgumentParser(
        prog="repro",
        usage="repro COMMAND ...",
        description="Rebuilds the figures of papers and says which claims reproduce.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    main.add_argument("--version", action="version", version=f"repro {__version__}")
    subparsers = main.add_subparsers(
        dest="command", required=True, help=argparse.SUPPRESS, prog="repro"
    )
    lines: list[str] = []

    def group(title: str) -> None:
        lines.extend(["", f"{title}:"])

    def add(name: str, /, config: bool = True, **arguments) -> argparse.ArgumentParser:
        function = getattr(commands, "try_" if name == "try" else name.replace("-", "_"))
        added = subparsers.add_parser(name, description=function.__doc__)
        lines.append(f"  {name:17} {function.__doc__}")
        added.set_defaults(run=function)
        if config:
            added.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE", help=CONFIG)
        for argument, options in arguments.items():
            added.add_argument(argument, **{"help": WORDS.get(argument), **options})
        return added

    group("What is known, in seconds and without training")
    added = add("show", what={"nargs": "*"})
    scales = ", ".join(SCALES)
    added.add_argument("--scale", help=f"{scales}, as --config scale=SCALE")
    added.add_argument("--json", action="store_true", help="of cost: {paper: hours}")
    where = "where to, in place of report/"
    add("report").add_argument("--folder", type=Path, default=Path("report"), help=where)
    add("redraw")

    group("Runs made here, and held against those on record")
    add_try(add("try", test={}))
    add_place(add("run", figures={"nargs": "+", "metavar": "FIGURE"}))
    log = "also write machine, versions, commit and every figure's tier to this file, to send in"
    added = add("verify", figures={"nargs": "*", "metavar": "FIGURE"})
    added.add_argument("--log", type=Path, metavar="FILE", help=log)
    cell = "only train one cell anew, which chance draws, and hold it against the record"
    added.add_argument("--cell", action="store_true", help=cell)
    tidy = "only list what lies in results/ that no configuration of this scale and data names"
    added.add_argument("--tidy", action="store_true", help=tidy)

    group("For authors: what is on record, and how far its tests can be trusted")
    unclean = "also what is of changed files or of several versions of its code; marks the record"
    added = add("record")
    added.add_argument("--unclean", action="store_true", help=unclean)
    again = "judge and draw what is on record anew, and run nothing"
    added.add_argument("--again", action="store_true", help=again)
    added = add("power", figures={"nargs": "*", "metavar": "FIGURE"})
    added.add_argument("--check", action="store_true", help="say what is not of the records as is")
    added = add("plan", figure={})
    words = "first run it on so many seeds that judge nothing; 0: on as many as the design has"
    added.add_argument("--pilot", type=int, choices=range(101), metavar="N", help=words)
    words = "of one design, as `narrow 24; wide 6`; default: the fewest that tell every test"
    added.add_argument("--seeds", default="", metavar="ARMS", help=words)
    added = add("register", test={})
    words = "those of the claim, as `narrow 24; wide 6`; default: all of its figure's"
    added.add_argument("--arms", default="", help=words)
    added.add_argument("--window", default="", help="what a final loss is the mean over")
    added.add_argument("--why", default="", help="why this bound, in your words")
    added.add_argument("--known", default="", help="what is known of the result already")
    add("seeds", paper={})
    add_new(add("new"))

    group("Jobs of the workflow, as Snakemake calls them")
    vocabulary = {"type": int, "nargs": "?", "help": f"to encode it: {WORDS['vocab_size']}"}
    added = add("fetch", dataset={}, vocab_size=vocabulary)
    added.add_argument(
        "--tokenizer", choices=("bpe", "gpt2"), default="bpe", help="default: bpe, trained here"
    )
    add("choose", study={}, choice={})
    add_place(add("train", study={}, cell={}))
    added = add("make", figure={})
    words = "that was planned with; refused where settings or code make another one now"
    added.add_argument("--key", default="", help=words)
    add("publish", config=False, picture={"type": Path, "metavar": "FOLDER"})
    add("page", name={})

    more = ["", "repro COMMAND --help says more of one."]
    main.epilog = "\n".join([*lines[1:], *more])
    return main


def number(word: str) -> float:
    """A number above 0, a whole one where it is one, as widths are but for the ResNet's."""
    value = float(word)
    if not 0 < value < math.inf:
        raise ValueError(word)
    return int(value) if value.is_integer() else value


def add_try(added: argparse.ArgumentParser) -> None:
    """What a test is tried with."""
    words = "of the models that its quantity is of; what hangs on them goes along"
    added.add_argument("--widths", nargs="+", default=[], metavar="N", help=words)
    words = "TOML file of settings: so many as --seeds says, default 16, are drawn, a seed each"
    added.add_argument("--population", default="", metavar="FILE", help=words)
    words = "how many, of no record; default: the study's own"
    added.add_argument("--seeds", default="", metavar="N", help=words)
    words = "learning rates"
    added.add_argument("--rates", nargs="+", default=[], metavar="RATE", help=words)
    added.add_argument("--steps", default="", metavar="N", help="of a run")
    added.add_argument("--optimizer", default="", help="in place of the study's")
    words = "where a dataset lies: wikitext2=FOLDER"
    added.add_argument("--data", nargs="+", default=[], metavar="NAME=FOLDER", help=words)
    added.add_argument("--scale", help=f"{', '.join(SCALES)}; default: reduced")
    words = "any other setting, as `repro show STUDY` names it"
    added.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=words)
    words = "write it as files of the checkout, a figure and its studies, and run nothing"
    added.add_argument("--keep", default="", metavar="PAPER/FIGURE", help=words)
    added.add_argument("--dry-run", action="store_true", help="say what would run, and its price")


def add_new(added: argparse.ArgumentParser) -> None:
    """What is written, and of what."""
    kinds = added.add_subparsers(
        dest="what", required=True, metavar="WHAT", help="paper, figure, or pages: what pages say"
    )
    paper = kinds.add_parser("paper", help="who it is, its page, a first study and figure")
    paper.add_argument("slug", help="its folder, in small letters: rate_transfer")
    paper.add_argument("--arxiv", required=True, metavar="N", help="its number: 2511.01734v1")
    figure = kinds.add_parser("figure", help="a figure and its runs")
    figure.add_argument("name", help="<paper>/<figure>")
    words = "how many, on no record; default: its own"
    figure.add_argument("--seeds", type=int, default=0, metavar="N", help=words)
    figure.add_argument("--widths", type=number, nargs="+", default=[], help="in place of its own")
    words = "say what would be written and trained, and write nothing"
    figure.add_argument("--dry-run", action="store_true", help=words)
    kinds.add_parser("pages", help="what pages say of all papers and figures, anew")


def add_place(added: argparse.ArgumentParser) -> None:
    """Where and by how many processes a command trains (`repro.workflow.jobs.Place`)."""
    added.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where to train; default: cpu"
    )
    added.add_argument(
        "--ranks", type=int, default=1, metavar="N", help="processes that share a run, a GPU each"
    )
    for name, text in FORCED.items():
        added.add_argument(f"--{name}", action="store_true", help=text)


def is_library(module: str | None) -> bool:
    """Whether a module that is missing is another project's: one of ours is a mistake in it."""
    return module is not None and not (ROOT / module.partition(".")[0]).exists()


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Have SIGTERM end a command as Ctrl-C does, so that temporary files are removed; a run that
    trains saves its state first (`ending`).

    A rank gets it from Slurm and from its launcher, which must see that it was what ended it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number, frame):
        waits = ending.ask()
        if not (waits and launch.is_rank()):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
        if not waits:
            raise ending.Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def is_short_of_memory(error: BaseException) -> bool:
    """Whether an error says so: Python's own, a library's that was not loaded, or torch's."""
    words = ("failed to map segment", "cannot allocate memory", "can't allocate memory")
    said = str(error).lower()
    by_library = isinstance(error, (ImportError, RuntimeError)) and any(w in said for w in words)
    return isinstance(error, MemoryError) or by_library


def mistake_in(error: Exception, command: str) -> UserError | None:
    """The line for an error that is certainly no mistake of the suite; None: a traceback is due."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, ModuleNotFoundError) and is_library(error.name):
        if (error.name or "").partition(".")[0] in sys.stdlib_module_names:
            return UserError(
                f"{command}: {error}: this Python lacks it, or its file may not be read"
            )
        return UserError(
            f"{command}: needs {error.name}, which this environment has not: "
            f"uv run python -m repro {command} ... has the whole suite"
        )
    if is_short_of_memory(error):
        return UserError(
            f"{command}: needs more memory than it may have ({str(error).strip() or 'none left'}); "
            "free some, or allow more with ulimit -v unlimited"
        )
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        error = OSError(errno.EAGAIN, str(error))
    fault = disk_fault(error)
    return UserError(fault) if fault else None


def is_reader_gone() -> bool:
    """Whether nobody reads what is printed any more, as after `| head`."""
    watched = select.poll()
    watched.register(sys.stdout, 0)  # an error is reported in any case
    return any(event & select.POLLERR for _, event in watched.poll(0))


def main(words: list[str] | None = None) -> int:
    """Run a command; what a user, an author or a disk did wrong ends in one line on stderr and its
    exit status."""
    words = sys.argv[1:] if words is None else words
    arguments = parser().parse_args(words)
    if getattr(arguments, "scale", None):
        arguments.config = [*arguments.config, f"scale={arguments.scale}"]
    arguments.config = [*getattr(arguments, "config", []), *getattr(arguments, "data", [])]
    try:
        with ended_by_sigterm():
            import_check.check()
            suite = None
            if "config" in arguments:
                suite, notice = commands.configured(arguments)
                if notice and arguments.command in ("train", "run") and not launch.is_rank():
                    print(notice, file=sys.stderr)
            text = arguments.run(suite, arguments)
            if text:
                print(visible(text), flush=True)
            if changed := commands.told_of_records(arguments):
                print(f"warning: {visible(changed)}", file=sys.stderr)
    except ending.Terminated:
        if launch.is_rank():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)
        print("error: ended by SIGTERM; run the same command again to go on", file=sys.stderr)
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        if not launch.is_rank():
            print("interrupted; run the same command again to go on", file=sys.stderr)
        return 128 + signal.SIGINT
    except Exception as error:
        if isinstance(error, BrokenPipeError) and is_reader_gone():
            # The interpreter flushes stdout once more as it ends.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            return 128 + signal.SIGPIPE
        mistake = mistake_in(error, arguments.command)
        if launch.is_rank():
            launch.report(mistake or error)
        elif mistake is None:
            raise
        else:
            if mistake.trace and not sys.stderr.isatty():
                print(mistake.trace, file=sys.stderr, end="")
            print(error_line(mistake), file=sys.stderr)
            return mistake.status
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
