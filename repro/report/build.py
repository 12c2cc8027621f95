"""Makes the site: Sphinx renders docs/ and the pages of what is on record in one go."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from repro.core.locks import replacing
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import write_bytes
from repro.lineage.checkout import ROOT
from repro.products import forecast
from repro.products.known import origin
from repro.report import pages, text
from repro.report.model import Site, site
from repro.verdicts import words

# Of one core: of the site without a figure, and of each (found: 20 for 12 figures, 64 for 59).
DOCS_SECONDS, FIGURE_SECONDS = 8.0, 1.0
LISTED = "files.txt"  # of all files that a site has: what may be replaced by the next one
# Of what Sphinx says: where, and what is wrong there.
SAID = re.compile(r"(?m)^(?:.*/)?(docs/\S+?): (?:WARNING|ERROR|CRITICAL): (.*)$")


def beforehand(suite: Suite, folder: Path) -> str:
    """What making the site does, and about how long: nothing is said until it is done."""
    figures = len(suite.selected()[0])
    time = forecast.minutes(DOCS_SECONDS + FIGURE_SECONDS * figures)
    return f"making the site of {text.counted(figures, 'figure')} in {folder}, {time} of one core"


def report(suite: Suite, folder: Path) -> Site:
    """Make the site with the results of a configuration in a folder, in place of an earlier one;
    returns what it shows. Raises UserError as `model.site`, and where the folder holds anything
    else."""
    check_replaceable(folder)
    with replacing(folder) as made:
        shown = site(suite)
        write(shown, made.with_name("source"), made)
        note_files(made)
        with suppress(PermissionError):  # of a disk that has no such rights, as CIFS
            made.chmod(0o777 & ~_umask())
        check_replaceable(folder)
    return shown


def write(shown: Site, source: Path, folder: Path) -> None:
    """Write the site into a folder. source: an empty folder for what it is made from."""
    docs = sources(source)
    pages.write(shown, docs / pages.RESULTS)
    render(docs, folder)
    copy(docs / pages.RESULTS, folder / pages.RESULTS, but="*.md")


def sources(folder: Path) -> Path:
    """A copy of docs/ that lies in a checkout as docs/ does; what it links to is not copied."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name != "docs":
            (folder / path.name).symlink_to(path)
    docs = folder / "docs"
    copy(ROOT / "docs", docs, but="*.pyc")
    (docs / pages.RESULTS).mkdir()
    return docs


def copy(folder: Path, to: Path, but: str) -> None:
    """Copy a folder's files, but for some, without their rights: a disk may have none, as CIFS."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.match(but):
            copied = to / path.relative_to(folder)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)


def render(docs: Path, folder: Path) -> None:
    """Render a copy of docs/; raises UserError where a link of its pages leads nowhere."""
    call = [sys.executable, "-P", "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2"]
    settings = ["-c", str(ROOT / "docs"), "-d", str(docs.parent / "doctrees")]
    done = subprocess.run(
        [*call, *settings, str(docs), str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        found = [f"{where}: {what}" for where, what in SAID.findall(done.stderr)]
        said = (done.stderr.strip() or done.stdout.strip())[-500:]
        raise UserError("\n".join(found) or f"the site: {said or f'sphinx: {done.returncode}'}")


def summary(shown: Site, folder: Path) -> str:
    """Where a site is and what is in it, for the terminal."""
    rows, place = shown.main_rows, origin(figure.known for figure in shown.main)
    page = folder / pages.RESULTS / "index.html"
    return f"{page}: {text.counted(len(rows), 'test')}: {words.counts(rows)}; {place}"


def check_replaceable(folder: Path) -> None:
    """Raise UserError unless a folder is missing, empty or an earlier site and nothing else."""
    other = "move it, or give another --folder"
    if folder.is_symlink():
        raise UserError(f"{folder}: is a link; give the folder that it leads to as --folder")
    listed = folder / LISTED
    ours = listed.is_file() and (folder / "index.html").is_file()
    if folder.exists() and not ours and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is no site of this suite; {other}")
    if ours:
        written = listed.read_text("utf-8", errors="replace").splitlines()
        if foreign := sorted(set(_files(folder)) - {*written, LISTED}):
            raise UserError(f"{folder / foreign[0]}: is no part of the site there; {other}")


def note_files(folder: Path) -> None:
    """Note which files a site has, so that the next one takes no other away."""
    lines = "".join(f"{name}\n" for name in sorted(_files(folder)))
    write_bytes(folder / LISTED, lines.encode(), durable=False)


def _files(folder: Path) -> list[str]:
    return [p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
