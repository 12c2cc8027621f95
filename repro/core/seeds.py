"""Seeds that nobody could have run before a test was registered, and nobody picks. No torch.

A test's arms name their seeds in `studies/<paper>/seeds.csv`. Each is derived from the hash of the
commit that added the arm's row of the register, and the arm's name, so it was unknown until the
design was fixed. Arms that share random numbers share a name. Who wants to can try many commits
until a hash suits them; that stays on trust.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice

from repro.core import rows
from repro.errors import UserError
from repro.files import sha256

PILOT = range(1900, 2000)  # of pilots, and of no registered test
FIRST, LAST = 10_000, 1_000_000  # of derived seeds: of no older run, and short enough to read
COMMIT = re.compile(r"[0-9a-f]{40}")
ARM = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass(frozen=True)
class Arm:
    """The seeds of one arm. The fields are the file's columns, in its order.

    arm: its name. commit: that which added its row to the register. seeds: separated by spaces.
    """

    arm: str
    commit: str
    seeds: str

    def __post_init__(self) -> None:
        if not ARM.fullmatch(self.arm):
            raise ValueError(f"arm {self.arm!r:.40} is no name; use a-z, 0-9, dots and hyphens")
        if not COMMIT.fullmatch(self.commit):
            raise ValueError(f"commit {self.commit!r:.50} is no full hash")
        if self.seeds != " ".join(map(str, derived(self.commit, self.arm, len(self.numbers)))):
            raise ValueError(f"the seeds of {self.arm} are not those of its commit")

    @property
    def numbers(self) -> list[int]:
        """The seeds."""
        return [int(word) for word in self.seeds.split() if word.isdecimal()]


def path(paper: str) -> str:
    """Where a paper's seeds are, relative to the checkout."""
    return f"studies/{paper}/seeds.csv"


def arms(paper: str) -> dict[str, Arm]:
    """Name -> arm, of a paper. Raises UserError, naming the line, on what was not derived."""
    return {arm.arm: arm for _, arm in rows.read(path(paper), Arm)}


def derived(commit: str, arm: str, number: int) -> list[int]:
    """The first seeds of an arm, by the hash of the commit that added its row."""
    return list(islice(_stream(commit, arm), number))


def _stream(commit: str, arm: str) -> Iterator[int]:
    seen: set[int] = set()
    for place in count():
        digest = sha256(f"{commit} {arm} {place}".encode())
        seed = FIRST + int(digest[:16], 16) % (LAST - FIRST)
        if seed not in seen:
            seen.add(seed)
            yield seed


class Seeds(list):
    """Seeds that know their arm, so that a row of the register can name it."""

    def __init__(self, numbers: Iterable[int], arm: str):
        super().__init__(numbers)
        self.arm = arm


def of_arm(paper: str, arm: str, number: int) -> Seeds:
    """The first seeds of an arm, for a study's grid.

    Of an arm that is in no row they are a pilot's, of which no test is registered. Raises
    UserError where the register gave the arm fewer than are asked for.
    """
    known = arms(paper)
    if arm not in known:
        return Seeds(range(PILOT.start, PILOT.start + number), arm)
    found = known[arm].numbers
    if len(found) < number:
        raise UserError(
            f"{path(paper)}: arm {arm} has {len(found)} seeds, and its study asks for {number}; "
            "register a row with as many"
        )
    return Seeds(found[:number], arm)


def clash(seeds: Collection[int], others: Collection[int]) -> str:
    """Which of an arm's seeds others have too, in words; "" where none."""
    both = sorted({*seeds} & {*others})
    return f"seeds {', '.join(map(str, both[:5]))} were run before" if both else ""
