"""Pages in a real browser: Debian's Chromium, driven by Playwright. `.ci/run browser` installs what
it needs; where that is not there, tests that import this are skipped."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
PHONE = {"width": 390, "height": 800}
DESK = {"width": 1400, "height": 900}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # Its sandbox needs rights that a container's root has not; the pages are our own.
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def opening(browser, site):
    """A function (page, **options of a new context) -> that page, opened; at the end nothing may
    have been said on the console or asked of a network."""
    said, asked, contexts = [], [], []

    def failed(request):
        if request.failure != "net::ERR_ABORTED":  # so ends what becomes a download
            said.append(f"{request.failure}: {request.url}")

    def warned(message):
        if message.type != "log":  # furo logs a change of its theme
            said.append(message.text)

    def visit(path, **options):
        context = browser.new_context(**{"viewport": DESK, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", warned)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", failed)
        page.goto(f"file://{site / path}")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not said
    assert all(url.startswith("file://") for url in asked)
