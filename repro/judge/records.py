"""The data behind each figure as committed: kept, drawn again without training, compared with."""

import tempfile
from pathlib import Path

from repro.errors import UserError
from repro.files import read_json, sha256_file, write_bytes, write_json
from repro.judge.products import built_folder, render
from repro.judge.scoreboard import board
from repro.suite import registry
from repro.suite.registry import ROOT
from repro.suite.suite import Suite

RECORDS = ROOT / "records"
# Second tier of `verify`: relative difference allowed where data come from other hardware.
TOLERANCE = 0.02


def record(suite: Suite) -> list[Path]:
    """Copy data, claims, provenance and picture of the configured figures to records/, and write
    the scoreboard of all that lies there beside them."""
    written = []
    for figure_name in registry.selected_figures(suite.config.figures):
        folder = built_folder(suite, figure_name)
        provenance = read_json(folder / "provenance.json")
        (device,) = {entry["device"] for entry in provenance["made"]}
        target = RECORDS / suite.config.scale / suite.label / device / figure_name
        for source, suffix in (("data.csv", ".csv"), ("figure.png", ".png")):
            write_bytes(target.with_suffix(suffix), (folder / source).read_bytes())
        write_json(
            target.with_suffix(".json"),
            {
                "provenance": provenance,
                "data_sha256": sha256_file(folder / "data.csv"),
                "claims": read_json(folder / "claims.json"),
            },
        )
        written.append(target)
    _write_boards(written)
    return written


def rejudge(suite: Suite) -> list[Path]:
    """Judge and draw the configured figures on record again, from the data there: for a changed
    claim or drawing, whose runs and table are what they were."""
    written = []
    for figure_name in registry.selected_figures(suite.config.figures):
        for base in recorded(suite, figure_name):
            saved, data = _saved(base), base.with_suffix(".csv")
            with tempfile.TemporaryDirectory() as folder:
                pdf = Path(folder, "figure.pdf")
                png = base.with_suffix(".png")
                claims = render(figure_name, data, saved["provenance"], pdf, png)
            write_json(base.with_suffix(".json"), saved | {"claims": claims})
            written.append(base)
    _write_boards(written)
    return written


def _saved(base: Path) -> dict:
    """A record's JSON; raises UserError where its data are not those recorded."""
    saved, data = read_json(base.with_suffix(".json")), base.with_suffix(".csv")
    if not data.exists() or sha256_file(data) != saved["data_sha256"]:
        raise UserError(f"{data}: is not the data recorded; restore records/ with git")
    return saved


def _write_boards(written: list[Path]) -> None:
    """The scoreboard of all that lies beside what was written."""
    for folder in {target.parents[1] for target in written}:
        title = folder.relative_to(RECORDS).as_posix()
        write_bytes(folder / "scoreboard.md", board(title, recorded_claims(folder)))


def recorded_claims(folder: Path) -> list[dict]:
    """Judged claims of every figure on record in records/<scale>/<data>/<device>/."""
    saved = (folder / f"{name}.json" for name in registry.figure_names())
    return [claim for path in saved if path.exists() for claim in read_json(path)["claims"]]


def recorded(suite: Suite, figure_name: str) -> list[Path]:
    """The records of a figure at this scale and data, one per device, without suffix."""
    folder = RECORDS / suite.config.scale / suite.label
    found = folder.glob(f"*/{figure_name}.json")
    return sorted(path.with_suffix("") for path in found)


def redraw(suite: Suite) -> list[str]:
    """Draw the configured figures from records/ into figures/, without training; offline.

    Returns what was drawn and which figures have no record.
    """
    drawn, missing = [], []
    for figure_name in registry.selected_figures(suite.config.figures):
        bases = recorded(suite, figure_name)
        missing += [] if bases else [f"figures/{figure_name}.pdf: no record"]
        for base in bases[:1]:
            saved = _saved(base)
            pdf, png = (Path("figures") / (figure_name + s) for s in (".pdf", ".png"))
            render(figure_name, base.with_suffix(".csv"), saved["provenance"], pdf, png)
            drawn.append(str(pdf))
    if not drawn:
        raise UserError(
            f"no records for scale {suite.config.scale}, data {suite.label}; there are "
            + ", ".join(
                sorted(
                    {
                        p.parent.parent.parent.relative_to(RECORDS).as_posix()
                        for p in RECORDS.rglob("*.csv")
                    }
                )
            )
        )
    return drawn + missing


def verify(suite: Suite) -> tuple[list[str], bool]:
    """Hold every configured figure against records/, in two tiers.

    Identical data by SHA-256; or, for other hardware, equal keys, numbers within TOLERANCE, and
    the same verdict for every claim.
    Returns lines to print and whether all agree; a figure without a record does not count.
    """
    import pandas as pd

    lines, agree = [], True
    for figure_name in registry.selected_figures(suite.config.figures):
        folder = built_folder(suite, figure_name)
        data = folder / "data.csv"
        outcomes = []
        for base in recorded(suite, figure_name):
            saved = read_json(base.with_suffix(".json"))
            if saved["data_sha256"] == sha256_file(data):
                outcomes.append("identical")
                continue
            found = difference(pd.read_csv(data), pd.read_csv(base.with_suffix(".csv")))
            found = found or changed_verdicts(read_json(folder / "claims.json"), saved["claims"])
            outcomes.append(found or f"equal within {TOLERANCE:.0%}, the same verdicts")
        good = [o for o in outcomes if o.startswith(("identical", "equal"))]
        agree = agree and (bool(good) or not outcomes)
        none = ["no record at this scale and data"]
        lines.append(f"{figure_name}: {([*sorted(good, reverse=True), *outcomes] or none)[0]}")
    return lines, agree


def changed_verdicts(new: list[dict], old: list[dict]) -> str:
    """The first claim whose verdict differs, in words; empty when none does."""
    before = {row["claim"]: row["verdict"] for row in old}
    for row in new:
        if row["verdict"] != before.get(row["claim"]):
            return f"differs: {row['claim']} is {row['verdict']}, was {before.get(row['claim'])}"
    return ""


def difference(new, old) -> str:
    """Where two tables differ by more than TOLERANCE; empty when they do not."""
    import numpy as np

    if list(new.columns) != list(old.columns) or len(new) != len(old):
        return f"differs: {new.shape} rows and columns against {old.shape}"
    for column in new.columns:
        a, b = new[column], old[column]
        if a.dtype.kind == "f" or b.dtype.kind == "f":
            close = np.isclose(a.astype(float), b.astype(float), rtol=TOLERANCE, equal_nan=True)
        else:
            close = (a == b).to_numpy()
        if not close.all():
            row = int(np.flatnonzero(~close)[0])
            return f"differs: column {column}, row {row}: {a[row]} against {b[row]}"
    return ""
