"""Forest Cover Type for runs that see every row once: of the synthetic table, more rows.

The law of the generated table, its schema and its split are those of `data/covtype.py`, as are the
real data, which are long enough, and what a folder may hold.
"""

from data import covtype
from repro.data.source import Source
from repro.errors import UserError
from repro.files import sha256

EMBEDDED_ROWS = 100_000
EMBEDDED_SHA256 = "287f4dc87f68ef85107faa58c04a3de468db0c8567a632c10c35422225ca2e9d"
LISTED = covtype.LISTED


def identity(source: Source) -> dict:
    """What the data are, for a run's id; raises UserError as `covtype.identity`."""
    found = covtype.identity(source)
    return found | ({"sha256": EMBEDDED_SHA256} if source.kind == "embedded" else {})


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return f"embedded table in place of Forest Cover Type ({EMBEDDED_ROWS:,} generated rows)"
    return covtype.describe(source)


def arrays(source: Source) -> dict:
    """As `covtype.arrays`; raises UserError when what was found is not what was expected."""
    if source.kind != "embedded":
        return covtype.arrays(source)
    from repro.data.synthetic_table import cover_table

    table = cover_table(EMBEDDED_ROWS)
    found = sha256(table.astype("<i8").tobytes())
    if found != EMBEDDED_SHA256:
        raise UserError(
            f"covtype_long (synthetic): the table has SHA-256 {found}, expected {EMBEDDED_SHA256}; "
            "nothing was written"
        )
    return covtype.prepare(table)
