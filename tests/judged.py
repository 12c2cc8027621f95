"""Rows of a figure's results by name, for tests of what its code judges."""

from repro.verdicts import words

READ = "read, not tested"


def by_name(results):
    """A test's or a reading's name -> its row, with why it tells nothing or what is beside it; a
    reading has a status that says so."""
    tests = {row["test"]: row | {"reason": words.why(row)} for row in results["tests"]}
    read = {r["reading"]: r | {"status": READ, "reason": r["problem"]} for r in results["readings"]}
    return tests | read
