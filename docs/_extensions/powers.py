"""Powers in a page's text, as `width^-1/2`, set as the results' pages set theirs."""

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

from repro.report.text import RAISED

AS_TYPED = (nodes.literal, nodes.FixedTextElement, nodes.raw, nodes.Invisible)


def raised(text: str) -> list[nodes.Node]:
    """A text, its powers as superscripts."""
    found: list[nodes.Node] = []
    end = 0
    for power in re.finditer(RAISED, text):
        words = power[1] or power[2]
        found += [nodes.Text(text[end : power.start()]), nodes.superscript(words, words)]
        end = power.end()
    return [*found, nodes.Text(text[end:])]


class Powers(SphinxTransform):
    """Sets the powers of one page; code stays as it is typed."""

    default_priority = 410

    def apply(self) -> None:
        """In one page."""
        for node in [*self.document.findall(nodes.Text)]:
            if re.search(RAISED, node) and not isinstance(node.parent, AS_TYPED):
                node.parent.replace(node, raised(node))


def setup(app) -> dict[str, bool]:
    """As an extension of Sphinx."""
    app.add_transform(Powers)
    return {"parallel_read_safe": True}
