"""The command `widthwise`: checks of what a file of one's own defines."""

import argparse
import signal
import sys

from widthwise import __version__, commands
from widthwise.errors import UserError, error_line, visible
from widthwise.files import said

FILE, FILE_HELP = "FILE.py:make", "with make(width) and batches(seed)"


def parser() -> argparse.ArgumentParser:
    """The whole command line; what a command does is a function of `widthwise.commands`."""
    main = argparse.ArgumentParser(
        prog="widthwise", description="What changes with the width of a network, and how."
    )
    main.add_argument("--version", action="version", version=f"widthwise {__version__}")
    added = main.add_subparsers(dest="command", required=True)

    words = commands.roles.__doc__
    roles = added.add_parser("roles", help=words, description=words)
    roles.set_defaults(run=commands.roles)
    roles.add_argument("what", metavar=FILE, help=FILE_HELP)
    roles.add_argument("--base", type=int, help="the base width; default: the least of WIDTHS")
    roles.add_argument("--save", metavar="ROLES.json", help="write them to a file")

    words = commands.check.__doc__
    check = added.add_parser("check", help=words, description=words)
    check.set_defaults(run=commands.check)
    check.add_argument("what", metavar=FILE, help=FILE_HELP)
    check.add_argument("--recipe", required=True, help="a name, or a file's path")
    _add_optimizer(check)
    check.add_argument("--lr", type=float, help="at the least width")
    check.add_argument("--weight-decay", type=float, default=0.0, help="there; default: 0")
    check.add_argument("--widths", type=int, nargs="+", help="in place of the file's WIDTHS")
    check.add_argument("--depths", type=int, nargs="+", help="make takes both, then")
    check.add_argument("--steps", type=int, default=4, help="training steps; default: 4")
    check.add_argument("--after", type=int, default=0, help="steps before them; default: 0")
    check.add_argument("--seeds", type=int, default=4, metavar="N", help="default: 4")

    words = commands.transfer.__doc__
    transfer = added.add_parser("transfer", help=words, description=words)
    transfer.set_defaults(run=commands.transfer)
    transfer.add_argument("what", metavar=FILE, help=FILE_HELP)
    transfer.add_argument("recipes", nargs="+", metavar="RECIPE", help="a name, or a file's path")
    _add_optimizer(transfer)
    transfer.add_argument("--widths", type=int, nargs="+", help="the least is tuned")
    transfer.add_argument("--depths", type=int, nargs="+", help="of the models of these widths")
    transfer.add_argument("--rates", type=float, nargs="+", help="learning rates at that width")
    transfer.add_argument("--weight-decays", type=float, nargs="+", help="there; default: 0")
    transfer.add_argument("--seeds", type=int, default=3, metavar="N", help="default: 3")
    transfer.add_argument(
        "--threads", type=int, default=1, metavar="N", help="of torch; default: 1"
    )

    words = commands.widen.__doc__
    widen = added.add_parser("widen", help=words, description=words)
    widen.set_defaults(run=commands.widen)
    widen.add_argument("weights", metavar="IN.safetensors", help="of make(1)")
    widen.add_argument("to", metavar="OUT.safetensors", help="where the wide ones go")
    widen.add_argument(
        "--make",
        dest="what",
        required=True,
        metavar=FILE,
        help="with make(factor) and batches(seed)",
    )
    widen.add_argument("--factor", type=int, required=True, help="of the width, a whole number")
    widen.add_argument(
        "--untie", action="store_true", help="give a tied readout weights of its own"
    )
    widen.add_argument(
        "--by", default="copies", help="copies (the default), zeros, or shrink: another function"
    )
    widen.add_argument("--shrink", type=float, help="factor on the old weights by shrink")
    return main


def _add_optimizer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--optimizer", help="a name, or a file's path; default: adamw")
    parser.add_argument("--decay", help="independent, plain or coupled")
    parser.add_argument("--depth", help="rule for the depth: 1/L, 1/sqrt(L) or plain")


def main(words: list[str] | None = None) -> int:
    """Run a command; a mistake of the user's ends in one line on stderr and status 1."""
    arguments = parser().parse_args(words)
    try:
        print(visible(arguments.run(arguments)), flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except UserError as error:
        print(error_line(error), file=sys.stderr)
        return error.status
    except BaseException as error:  # of what a file of a user's defines
        print(error_line(f"{arguments.what}: {said(error)}"), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
