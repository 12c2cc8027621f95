"""Forest Cover Type (Blackard & Dean 1999): 10 continuous and 44 binary features, 7 classes.

embedded: a synthetic table of the same columns, labelled by a random network, deterministic.
real: scikit-learn's fetch_covtype, which checks the published checksum of UCI's file.
folder: UCI's covtype.data or covtype.data.gz (55 columns, no header), or Kaggle's train.csv
    (columns by name); or any table with a header, table.csv, whose column `label` has the classes.
For each source: a stratified split, 80 % train and 20 % valid. Continuous features are standardised
with mean and standard deviation of the train part, binary ones unchanged; labels start at 0. Of a
table.csv a feature is binary if it has no values but 0 and 1.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from repro.data.source import Listed, Source
from repro.errors import UserError
from repro.files import read_sealed, sha256, sha256_file, write_sealed

ROWS = 581_012
CONTINUOUS = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
)
FEATURES = (
    *CONTINUOUS,
    *(f"Wilderness_Area{i}" for i in range(1, 5)),
    *(f"Soil_Type{i}" for i in range(1, 41)),
)
LABEL = "Cover_Type"
CLASSES = 7
UCI_FILES = ("covtype.data", "covtype.data.gz")
KAGGLE_FILE = "train.csv"
OWN_FILE, OWN_LABEL = "table.csv", "label"

VALID_SHARE = 0.2
SPLIT_SEED = 0

EMBEDDED_ROWS = 15_000
EMBEDDED_SHA256 = "f3ac492040268f4b0ed06a6bcb4d1e991dfa377dec7280af54b1bbb64dae39f1"
LISTED = Listed(
    source="UCI's `covtype.data.gz`, through scikit-learn",
    digest="SHA-256 `614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771`, "
    "scikit-learn, which checks it",
    download="11 MB",
    folder="UCI's `covtype.data` or `covtype.data.gz`, or Kaggle's `train.csv`; or `table.csv`, "
    "any table of numbers whose first line names its columns, the one of the classes `label` (in "
    "words or numbers). The MLP then has its inputs and classes",
)


def identity(source: Source) -> dict:
    """What the data are, for a run's id; reads a folder's file, but uses no network.

    Raises UserError when a folder does not hold exactly one of the files.
    """
    made_with = {"valid_share": VALID_SHARE, "split_seed": SPLIT_SEED}
    if source.kind == "embedded":
        found = {"sha256": EMBEDDED_SHA256}
    elif source.kind == "real":
        found = {"publisher": "UCI, through scikit-learn", "rows": ROWS}
    else:
        path = _file(source.folder)
        digest = sha256_file(path)
        found = {"sha256": {path.name: digest}}
        found |= {"shape": _own_shape(path, digest)} if path.name == OWN_FILE else {}
    return {"source": source.kind} | found | made_with


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return f"embedded table in place of Forest Cover Type ({EMBEDDED_ROWS:,} generated rows)"
    if source.kind == "real":
        return f"Forest Cover Type (UCI, {ROWS:,} rows)"
    path = _file(source.folder)
    return f"table from folder {source.folder.name} ({path.name} sha256 {sha256_file(path)[:8]})"


def arrays(source: Source) -> dict:
    """{"train": {"inputs": (rows, 54) float32, "labels": (rows,) int64 from 0}, "valid": ...}.

    Raises UserError when what was found is not what was expected.
    """
    if source.kind == "embedded":
        from repro.data.synthetic_table import cover_table

        table = cover_table(EMBEDDED_ROWS)
        found = sha256(table.astype("<i8").tobytes())
        if found != EMBEDDED_SHA256:
            raise UserError(
                f"covtype (synthetic): the table has SHA-256 {found}, expected {EMBEDDED_SHA256}; "
                "nothing was written"
            )
    elif source.kind == "real":
        table = _download()
    else:
        path = _file(source.folder)
        if path.name == OWN_FILE:
            return prepare(*_own_table(path))
        table = read_table(path)
    return prepare(table)


def _own_table(path: Path):
    """The table of a table.csv, its classes last, numbered from 1, and the names of its features.

    Raises UserError as `read_table`.
    """
    import numpy as np

    from repro.data.tables import read_csv

    names, table = read_csv("covtype", path, header=True, words=OWN_LABEL)
    if OWN_LABEL not in names:
        raise UserError(
            f"covtype: {path} has no column {OWN_LABEL}, found {', '.join(names[:8])}; name the "
            "column of the classes so"
        )
    order = [number for number, name in enumerate(names) if name != OWN_LABEL]
    labels = table[:, names.index(OWN_LABEL)]
    _check_classes(path, True, labels)
    return np.column_stack([table[:, order], labels]), [names[number] for number in order]


def _own_shape(path: Path, digest: str) -> dict[str, int]:
    """How many features and classes a table.csv has, which a model must have too; it is read once
    for its digest."""
    memory = Path("resources", "digests", f"{digest[:12]}.json")
    if not memory.exists():
        table, names = _own_table(path)
        write_sealed(memory, {"inputs": len(names), "classes": int(table[:, -1].max())})
    kept = read_sealed(memory, kind={"inputs": int, "classes": int})
    return {key: kept[key] for key in ("inputs", "classes")}


def _file(folder: Path) -> Path:
    names = (*UCI_FILES, KAGGLE_FILE, OWN_FILE)
    found = [folder / name for name in names if (folder / name).exists()]
    if len(found) != 1:
        raise UserError(
            f"covtype: {folder} holds {' and '.join(p.name for p in found) or 'none'} of "
            f"{', '.join(names)}, expected exactly one; give UCI's file, Kaggle's train.csv, "
            "or a table.csv of yours"
        )
    return found[0]


def _download():
    import numpy as np
    from sklearn.datasets import fetch_covtype

    try:
        features, labels = fetch_covtype(return_X_y=True)
    except Exception as error:  # network, checksum, a damaged cache: many kinds, one message
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise UserError(
            f"covtype: UCI's file could not be fetched ({reason}); try again, or use "
            "covtype=FOLDER or covtype=embedded"
        ) from error
    if features.shape != (ROWS, len(FEATURES)):
        raise UserError(
            f"covtype: the download has {features.shape[0]} rows of {features.shape[1]} features, "
            f"expected {ROWS} of {len(FEATURES)}: clear scikit-learn's data folder, try again"
        )
    return np.column_stack([features, labels])


def read_table(path: Path):
    """A file's table (rows, 55) float64: the features in UCI's order, then the label from 1 to 7.

    Raises UserError naming the file and the line or column at fault.
    """
    import numpy as np

    from repro.data.tables import line_of, read_csv

    header = path.name == KAGGLE_FILE
    if header:
        names, table = read_csv("covtype", path, header=True)
        missing = [name for name in (*FEATURES, LABEL) if name not in names]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise UserError(
                f"covtype: {path} has no column {', '.join(missing[:3])}{more}; expected Kaggle's "
                f"54 features and {LABEL}, found {len(names)} columns; name a table of your own "
                f"{OWN_FILE}, and its classes' column {OWN_LABEL}"
            )
        table = table[:, [names.index(name) for name in (*FEATURES, LABEL)]]
    else:
        _, table = read_csv("covtype", path, header=False)
        if table.shape[1] != len(FEATURES) + 1:
            raise UserError(
                f"covtype: {path} has {table.shape[1]} columns, expected {len(FEATURES)} features "
                "and the label; give UCI's file as published"
            )
    binary = table[:, len(CONTINUOUS) : -1]
    wrong = np.argwhere((binary != 0) & (binary != 1))
    if len(wrong):
        row, column = wrong[0]
        raise UserError(
            f"covtype: {path} line {line_of(path, header, row)} has {binary[row, column]:g} in "
            f"{FEATURES[len(CONTINUOUS) + column]}, expected 0 or 1; are the columns in order?"
        )
    labels = table[:, -1]
    wrong = np.flatnonzero(~np.isin(labels, range(1, CLASSES + 1)))
    if len(wrong):
        raise UserError(
            f"covtype: {path} line {line_of(path, header, wrong[0])} has label "
            f"{labels[wrong[0]]:g}, expected 1 to {CLASSES}; give the labels as published"
        )
    _check_classes(path, header, labels)
    return table


def _check_classes(path: Path, header: bool, labels) -> None:
    """Raise UserError, naming the line, where a class has one row."""
    import numpy as np

    from repro.data.tables import line_of

    _, rows, counts = np.unique(labels, return_index=True, return_counts=True)
    if alone := sorted(rows[counts == 1]):
        raise UserError(
            f"covtype: {path} line {line_of(path, header, alone[0])} is the only row of its class, "
            f"{labels[alone[0]]:g}, and each needs one to train on and one to validate; leave that "
            "line out"
        )


def prepare(table, own: Sequence[str] = ()) -> dict:
    """Split and standardise a table (rows, 55); returns what `arrays` returns. own: names of the
    features of a table of other columns.

    Raises UserError if a class has too few rows for both splits, if there is only one class, or if
    a number is so large that its column has no finite standard deviation.
    """
    import numpy as np
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    labels = table[:, -1].astype(np.int64) - 1
    classes = np.unique(labels)
    if len(classes) < 2:
        raise UserError(f"covtype: {len(table)} rows of one class, nothing to tell apart; give two")
    if len(table) * VALID_SHARE < len(classes):
        raise UserError(
            f"covtype: {len(table)} rows cannot be split by class, a fifth of them are fewer than "
            f"the {len(classes)} classes; give {math.ceil(len(classes) / VALID_SHARE)} or more"
        )
    train, valid = train_test_split(
        np.arange(len(table)), test_size=VALID_SHARE, stratify=labels, random_state=SPLIT_SEED
    )
    names, continuous = own or FEATURES, np.arange(len(CONTINUOUS))
    if own:
        continuous = np.flatnonzero(~np.isin(table[:, :-1], (0, 1)).all(axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        scaler = StandardScaler().fit(table[np.ix_(train, continuous)].astype(np.float64))
    result = {}
    for split, index in {"train": train, "valid": valid}.items():
        inputs = table[index, :-1].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # the error below names the column
            inputs[:, continuous] = scaler.transform(inputs[:, continuous])
        wrong = np.flatnonzero(~np.isfinite(inputs.astype(np.float32)).all(axis=0))
        if len(wrong):
            largest = np.abs(table[:, wrong[0]]).max()
            raise UserError(
                f"covtype: {names[wrong[0]]} reaches {largest:g}, too large to standardise; "
                "mend that cell"
            )
        result[split] = {"inputs": inputs.astype(np.float32), "labels": labels[index]}
    return result
