"""The names of stages."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class StageName:
    """A study, one of its stages, or one round of a stage that is a search.

    Written `<paper>/<study>`, `<paper>/<study>/<stage>` and `<paper>/<study>/<stage>+<round>`; a
    study of one stage has no stage of its own name. Round 0 is the grid that the study declares.
    """

    paper: str
    study: str
    stage: str = ""
    round: int = 0

    @classmethod
    def parse(cls, name: str) -> "StageName":
        """The parts of a name; a malformed one has parts that nothing is called by."""
        paper, _, rest = name.partition("/")
        study, _, rest = rest.partition("/")
        stage, _, number = rest.partition("+")
        return cls(paper, study, stage, int(number or 0))

    def __str__(self) -> str:
        return (
            self.module
            + (f"/{self.stage}" if self.stage else "")
            + (f"+{self.round}" if self.round else "")
        )

    @property
    def module(self) -> str:
        """`<paper>/<study>`, the file of studies/ that declares the stage."""
        return f"{self.paper}/{self.study}"

    def at_round(self, number: int) -> "StageName":
        """The same stage's round of this number."""
        return replace(self, round=number)
