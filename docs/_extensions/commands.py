"""`{commands} widthwise` and `{commands} repro`: what their parsers say, a section a command."""

import argparse
import importlib
import os

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

COLUMNS = "80"


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Name -> parser of each subcommand, in the order of its help."""
    (action,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def help_of(parser: argparse.ArgumentParser) -> str:
    """What --help prints, at one width on every machine."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        return parser.format_help().rstrip()
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


class Commands(SphinxDirective):
    """The help of a package's command line, and of each of its commands."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sections; `widthwise check` is at the anchor `widthwise-check`."""
        package = self.arguments[0]
        parser = importlib.import_module(f"{package}.__main__").parser()
        result: list[nodes.Node] = [nodes.literal_block("", help_of(parser), language="text")]
        for name, each in commands(parser).items():
            section = nodes.section(ids=[f"{package}-{name}"])
            section += nodes.title("", "", nodes.literal("", f"{package} {name}"))
            section += nodes.literal_block("", help_of(each), language="text")
            result.append(section)
        return result


def setup(app) -> dict[str, bool]:
    """As an extension of Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
