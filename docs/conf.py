"""The site: docs/, the library's docstrings and what is on record as pages.

uv run --isolated --only-group site python -m repro report --folder site

No torch and no network: torch is a stand-in that has every name. The pages of what is on record are
written by repro/report/ into results/ of a copy of docs/.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "repro" / "report" / "static"  # of the pages of what is on record
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_extensions")]

from sphinx.ext.autodoc.mock import _MockObject  # noqa: E402

from repro import __version__  # noqa: E402
from repro.report import address  # noqa: E402

project = "Scaling papers, rebuilt"
author = "The scaling-repro authors"
copyright = f"{author}. MIT licence"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "docstrings",  # of _extensions/, as those below
    "commands",
    "addresses",
    "powers",
]
# Pages for the authors, which the repository has; what led to them in the site leads on.
MOVED = dict.fromkeys(("house", "owner"), "contributing")
MOVED |= dict.fromkeys(("promises", "speed"), "running")
exclude_patterns = ["_extensions", "_templates", "results/_*", *(f"{page}.md" for page in MOVED)]
templates_path = ["_templates"]
nitpicky = True  # a name that leads nowhere is a warning, and -W makes that an error
nitpick_ignore_regex = [("py:.*", r".*")]  # but for types of signatures, which are no links here
suppress_warnings = ["myst.strikethrough"]
html_additional_pages = {page: "moved.html" for page in MOVED}
html_context = {"moved": MOVED}

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_mock_imports = ["torch", "safetensors"]
_MockObject.__or__ = _MockObject.__ror__ = lambda self, other: self  # torch.Tensor | None
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "exclude-members": "__init__, __new__"}
maximum_signature_line_length = 80
add_module_names = False
default_role = "code"  # in docstrings
highlight_language = "text"  # where a block of code names none: calls, and what they print

html_theme = "furo"
html_title = project
html_baseurl = address.absolute("")
html_favicon = str(STATIC / "icon.svg")
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # which asks for pages, as a browser does not from a disk
html_static_path = ["_static", str(STATIC)]
html_css_files = ["site.css", "report.css"]
# The colours and letters of the report (repro/report/static/report.css).
FONT = 'system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
MONOSPACE = 'ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace'


def _colours(page: str, raised: str, line: str, text: str, soft: str, link: str) -> dict[str, str]:
    return {
        "font-stack": FONT,
        "font-stack--monospace": MONOSPACE,
        "color-background-primary": page,
        "color-background-secondary": raised,
        "color-background-border": line,
        "color-foreground-primary": text,
        "color-foreground-secondary": soft,
        "color-sidebar-caption-text": soft,
        "color-brand-primary": link,
        "color-brand-content": link,
        "color-brand-visited": link,
    }


html_theme_options = {
    "light_css_variables": _colours(
        "#ffffff", "#f6f7f9", "#d9dde3", "#1b1f24", "#57606c", "#1a56b0"
    ),
    "dark_css_variables": _colours(
        "#15181d", "#1d2128", "#363c47", "#e6e8eb", "#a5aebb", "#8ab8f5"
    ),
    "navigation_with_keys": True,
}


# What furo leaves to a reader who sees: of which level a heading is, which bar is which, that keys
# scroll what is wider than the page, and what the page of the search is.
SAID = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Site">',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<div id="search-results">': '<h1>Search</h1><div id="search-results">',
}


def say(app, exception) -> None:
    """Put it into every page."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text("utf-8")
        for found, said in SAID.items():
            text = text.replace(found, said)
        page.write_text(text, "utf-8")


def setup(app) -> None:
    """As an extension of Sphinx."""
    app.connect("build-finished", say)
