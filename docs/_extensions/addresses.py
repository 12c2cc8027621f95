"""Links of docs/ that lead out of it, to files of the checkout, so that they hold on GitHub too.

What the site has as a page is linked there, and has to be there, its
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

ROOT = Path(__file__).resolve().parents[2]
PAGES = {  # file of the checkout -> the page that includes it
    r"CONTRIBUTING\.md": "contributing",
    r"CHANGELOG\.md": "changes",
    r"config/README\.md": "configuration",
}
# Files of the checkout -> the pages of what is on record that show them.
SHOWN = {
    r"studies/(\w+)/README\.md": r"results/papers/\1",
    r"README\.md": r"results/index",
    r"records/([^/]+)/([^/]+)/cpu/(\w+)/(\w+)\.md": r"results/figures/\1/\2/\3/\4",
}
HTML = "results/"  # of a page there, anchors are those of its HTML


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

    def name(self, path: str | Path) -> str:
        """A file by its place in the checkout, which a copy of docs/ may lie in by links."""
        roots = (Path(self.env.srcdir).parent, ROOT)
        root = next((root for root in roots if Path(path).is_relative_to(root)), roots[0])
        return os.path.relpath(path, root)

    def instead(self, node: nodes.Element) -> nodes.Node:
        """What a link becomes; the same node, perhaps changed, where it stays one for Sphinx."""
        target, anchor = node["reftarget"], node.get("reftargetid")
        words = [child.deepcopy() for child in node.children]
        if node.get("refdomain") == "doc":
            if target in self.env.found_docs:
                return self.to_page(node, target, anchor, words)
            name = self.name(Path(self.env.srcdir) / f"{target}.md")
        else:
            target, _, after = target.partition("#")
            anchor = anchor or after
            if not target:
                return node
            name = self.name(self.env.relfn2path(target, self.env.docname)[1])
        for pattern, page in {**SHOWN, r"docs/(.*)\.md": r"\1", **PAGES}.items():
            if (found := re.fullmatch(pattern, name)) and found.expand(page) in self.env.found_docs:
                return self.to_page(node, found.expand(page), anchor, words)
        if (ROOT / name).is_file():
            if address := repository():
                return nodes.reference("", "", *words, refuri=f"{address}/{name}", internal=False)
            up = os.path.relpath(ROOT / name, self.env.srcdir)
            return download_reference("", "", *words, reftarget=f"/{up}", reftype="myst")
        return node

    def to_page(
        self, node: nodes.Element, page: str, anchor: str | None, words: list[nodes.Node]
    ) -> nodes.Node:
        """A link to a page of the site, whose anchor has to be there."""
        if not (anchor and page.startswith(HTML)):
            options = {"reftype": "myst", "refexplicit": True, "refdoc": self.env.docname}
            return pending_xref(
                "", *words, refdomain="doc", reftarget=page, reftargetid=anchor, **options
            )
        if f'id="{anchor}"' not in Path(self.env.doc2path(page)).read_text("utf-8"):
            logging.getLogger(__name__).warning(
                "%s has no #%s", page, anchor, location=node, type="report"
            )
        address = f"{'../' * self.env.docname.count('/')}{page}.html#{anchor}"
        return nodes.reference("", "", *words, refuri=address, internal=True)


def setup(app) -> dict[str, bool]:
    """As an extension of Sphinx."""
    app.add_transform(Outward)
    return {"parallel_read_safe": True}
