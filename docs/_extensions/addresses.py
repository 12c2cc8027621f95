"""Links of docs/ that lead out of it, to files of the checkout, so that they hold on GitHub too.

What the site has as a page, its own or the report's, is linked there, and has to be there, its
anchor too. Any other file is a link into the repository where GitHub's workflow says which that is,
and else a copy that is downloaded.
"""

import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

PAGES = {  # file of the checkout -> the page that includes it
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changes",
    "config/README.md": "configuration",
}
# Files of the checkout -> the pages of the report that show them.
SHOWN = {
    r"studies/(\w+)/README\.md": r"papers/\1.html",
    r"records/reduced/embedded/cpu/scoreboard\.md": r"index.html",
    r"records/([^/]+)/([^/]+)/cpu/(\w+)/(\w+)\.md": r"figures/\1/\2/\3/\4.html",
}


def repository() -> str | None:
    """The address of the checkout's files on GitHub, where it is known."""
    asked = (os.environ.get(f"GITHUB_{word}") for word in ("SERVER_URL", "REPOSITORY", "SHA"))
    server, name, commit = asked
    return f"{server}/{name}/blob/{commit}" if server and name and commit else None


class Outward(SphinxTransform):
    """Replaces what MyST makes of a link that does not lead to a page of docs/."""

    default_priority = 400  # before what is downloaded is collected

    def apply(self) -> None:
        """In one page."""
        for node in [
            *self.document.findall(download_reference),
            *self.document.findall(pending_xref),
        ]:
            if node.get("reftype") == "myst" and (new := self.instead(node)) is not node:
                node.replace_self(new)

    @property
    def root(self) -> Path:
        """The checkout, of which docs/ is a folder."""
        return Path(self.env.srcdir).parent

    def instead(self, node: nodes.Element) -> nodes.Node:
        """What a link becomes; the same node, perhaps changed, where it stays one for Sphinx."""
        target, anchor = node["reftarget"], node.get("reftargetid")
        if node.get("refdomain") == "doc":
            if target in self.env.found_docs:
                return node
            name = os.path.relpath(f"{target}.md", self.root)
        else:
            target, _, after = target.partition("#")
            anchor = anchor or after
            if not target:
                return node
            name = os.path.relpath(self.env.relfn2path(target, self.env.docname)[1], self.root)
        words = [child.deepcopy() for child in node.children]
        if name in PAGES:
            options = {"reftype": "myst", "refexplicit": True, "refdoc": self.env.docname}
            return pending_xref(
                "", *words, refdomain="doc", reftarget=PAGES[name], reftargetid=anchor, **options
            )
        for pattern, page in SHOWN.items():
            if found := re.fullmatch(pattern, name):
                return self.to_report(node, f"results/{found.expand(page)}", anchor, words)
        if (self.root / name).is_file():
            if address := repository():
                return nodes.reference("", "", *words, refuri=f"{address}/{name}", internal=False)
            if not isinstance(node, download_reference):
                up = os.path.relpath(self.root / name, self.env.srcdir)
                return download_reference("", "", *words, reftarget=f"/{up}", reftype="myst")
        return node

    def to_report(
        self, node: nodes.Element, path: str, anchor: str | None, words: list[nodes.Node]
    ) -> nodes.Node:
        """A link to a page of the report, which is there."""
        page = Path(self.app.outdir) / path
        found = page.is_file() and (not anchor or f'id="{anchor}"' in page.read_text("utf-8"))
        after = f"#{anchor}" if anchor else ""
        if not found:
            logging.getLogger(__name__).warning(
                "the report has no %s%s", path, after, location=node, type="report"
            )
        address = "../" * self.env.docname.count("/") + path + after
        return nodes.reference("", "", *words, refuri=address, internal=True)


def setup(app) -> dict[str, bool]:
    """As an extension of Sphinx."""
    app.add_transform(Outward)
    return {"parallel_read_safe": True}
