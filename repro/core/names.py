"""The names of stages, and of claims in a sentence."""

import re
from dataclasses import dataclass, replace

from repro.errors import UserError

CLAIM_IN_TEXT = re.compile(r"\{([^{}]+)\}")  # of a figure's outcome, `{fig1.slope}`

SMALL = ".small.png"  # the suffix of a figure's picture for 430 pixels, beside its PNG


@dataclass(frozen=True)
class StageName:
    """The name of a study, of one of its stages, or of one round of either that is a search:
    `<paper>/<study>`, `<paper>/<study>/<stage>`, `<paper>/<study>+<round>` and
    `<paper>/<study>/<stage>+<round>`.

    stage: "" in a study that has only one. round: 0 is the grid that the study declares.
    """

    paper: str
    study: str
    stage: str = ""
    round: int = 0

    @classmethod
    def parse(cls, name: str) -> "StageName":
        """A name's parts; there need not be such a stage. Raises UserError if what follows the `+`
        is not a number from 1."""
        whole, plus, number = name.partition("+")
        paper, _, rest = whole.partition("/")
        study, _, stage = rest.partition("/")
        if plus and not (number.isascii() and number.isdigit() and int(number) > 0):
            raise UserError(f"stage {name!r}: a round of a search is a number from 1")
        return cls(paper, study, stage, int(number or 0))

    def __str__(self) -> str:
        stage = f"/{self.stage}" if self.stage else ""
        return self.module + stage + (f"+{self.round}" if self.round else "")

    @property
    def module(self) -> str:
        """`<paper>/<study>`, as the file of studies/ that declares the stage."""
        return f"{self.paper}/{self.study}".rstrip("/")

    def at_round(self, number: int) -> "StageName":
        """Another round of the same stage; 0 is its starting grid."""
        return replace(self, round=number)
