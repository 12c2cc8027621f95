"""What the suite must know of a figure to plan its runs. No torch."""

from dataclasses import dataclass

from repro.errors import UserError
from repro.suite.contracts import is_listed, kind


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What `repro.judge.figure.Figure` begins with.

    title: one line, shown above the picture and in `python -m repro list`.
    studies: whose runs it shows: `<paper>/<study>` for all stages of a study, or
        `<paper>/<study>/<stage>` for one.
    """

    title: str
    studies: tuple[str, ...]

    def check(self, file: str) -> None:
        """Raise UserError, naming the file that defines it, where a value is none of its field."""
        check_text(file, "title", self.title)
        if not is_listed(self.studies) or not all(isinstance(s, str) for s in self.studies):
            raise UserError(f"{file}: studies is {self.studies!r}; give names: ('paper/study',)")
        if not self.studies:
            raise UserError(f"{file}: studies is empty; give names, as ('paper/study',)")


def check_text(file: str, name: str, value: object) -> None:
    """Raise UserError, naming the file, unless a field is a text."""
    if not isinstance(value, str):
        raise UserError(f"{file}: {name} is {kind(value)}, not a text")
