"""What may stand in files that somebody else may have made: cells, finished runs and records, which
travel. No torch.

Their texts become parts of paths, pages, tables and lines on a terminal. Where such a file is read,
each is held against a pattern, so that nothing behind that has to ask. A seal cannot do it: whoever
can write a file can seal it.
"""

import math
import re
from collections.abc import Mapping

from repro.errors import UserError
from repro.files import REMEDY

NUMBER = float  # stands for every finite number in a form, integers as far as 64 bits hold them
WORDS = r"[A-Za-z0-9(][\w ()@.,:;/+#*-]{0,199}"
RELEASE = r"\w[\w.+!-]{0,59}"
DIGEST = r"[0-9a-f]{64}"
OBJECT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"  # of git
# A spreadsheet's formula begins with `=`, `+`, `-` or `@`, and HTML with `<`.
CELL = r"|[A-Za-z0-9_>.(][\w ()@.,:;/+#*>=-]{0,199}|-inf"

# Entry of a run's provenance -> its form, as `fits` has it. The first must be there; the others are
# of now, of once, or of records.
DEVICE = r"[a-z0-9][a-z0-9()+._-]{0,99}"  # a folder of records/ has its name
NEEDED = {
    "device": DEVICE,
    "inputs": {WORDS: DIGEST},
    "host_cpu": WORDS,
    "versions": {RELEASE: (RELEASE, None)},
    "seconds": NUMBER,
    "commit": (rf"{OBJECT}(?:\+dirty)?", None),
}
KNOWN = NEEDED | {
    "arithmetic": (WORDS, None),
    "capability": RELEASE,
    "began_on": [DEVICE],
    "ranks": NUMBER,
    "layout": {r"[a-z]{1,20}": NUMBER},
    "gpu": {RELEASE: (RELEASE, None)},
    "runs": NUMBER,
    "python": RELEASE,
    "modules": [r"\w+(?:\.\w+)*"],
    "code_sha256": DIGEST,
    "code": DIGEST,
    "trees": {r"\w+": (OBJECT, None)},
}
ANYTHING_ELSE = (WORDS, NUMBER, None)


def plain(text: str) -> str:
    """A text of this machine, as the name of its CPU, as WORDS: any other character is an
    underscore."""
    kept = re.sub(r"[^\w ()@.,:;/+#*-]", "_", text, flags=re.ASCII).lstrip(" @.,:;/+#*)_-")
    return kept[:200] or "unknown"


def fits(value: object, form: object) -> bool:
    """Whether a JSON value has a form: a pattern for a whole text; NUMBER; None; `[form]` for a
    list, `{pattern: form}` for a mapping; a tuple of several forms for either of them."""
    if isinstance(form, str):
        return isinstance(value, str) and re.fullmatch(form, value, re.ASCII) is not None
    if isinstance(form, tuple):
        return any(fits(value, each) for each in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(each, form[0]) for each in value)
    if isinstance(form, dict):
        ((key, inner),) = form.items()
        entries = value.items() if isinstance(value, dict) else [(None, None)]
        return all(fits(k, key) and fits(v, inner) for k, v in entries)
    if form is NUMBER:
        # A run that diverges ends at losses of any size. An integer has the digits it was given.
        if isinstance(value, float):
            return math.isfinite(value)
        return isinstance(value, int) and abs(value) < 2**63
    return value is None


def check_provenance(
    made: Mapping, name: object, remedy: str = REMEDY, lacking: tuple[str, ...] = ()
) -> None:
    """Raise UserError, naming file and entry, unless every entry of a run's provenance has the form
    that this suite gives it. lacking: those that need not be there."""
    for key in NEEDED.keys() - {*lacking} | made.keys():
        form = KNOWN.get(key, ANYTHING_ELSE)
        if not (fits(key, RELEASE) and key in made and fits(made[key], form)):
            raise UserError(_refused(name, "provenance", key, made.get(key), remedy))


def check_record(record: object, name: object, remedy: str = REMEDY) -> None:
    """Raise UserError, naming file and entry, unless a record is a mapping of numbers and of words
    that no page, spreadsheet or terminal takes for more."""
    if not isinstance(record, Mapping):
        raise UserError(_refused(name, "a record", "", record, remedy))
    for key, value in record.items():
        if not (fits(key, RELEASE) and _is_entry(value)):
            raise UserError(_refused(name, "a record", key, value, remedy))


def _is_entry(value: object) -> bool:
    """Whether a value may stand in a record."""
    if isinstance(value, list):
        return all(map(_is_entry, value))
    if isinstance(value, Mapping):
        return all(fits(key, CELL) and _is_entry(inner) for key, inner in value.items())
    return fits(value, (NUMBER, CELL, None))


def _refused(name: object, what: str, key: str, value: object, remedy: str) -> str:
    """The line for an entry that is not as this suite writes it."""
    shown = ascii(value)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
    return f"{name}: {what} has {key!a}: {shown}, which this suite never writes; {remedy}"


def is_shown_as_it_is(value: object) -> bool:
    """Whether every text in a JSON value has only characters to print."""
    if isinstance(value, list):
        return all(map(is_shown_as_it_is, value))
    if isinstance(value, dict):
        return all(map(is_shown_as_it_is, [*value, *value.values()]))
    return not isinstance(value, str) or value.isprintable()
