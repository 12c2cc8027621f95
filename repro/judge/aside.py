"""What the report shows beside the rows of a figure that is a table. No torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    """A row's bar. parts: name -> size, one after the other from 0, the first the darkest. low,
    high: the 95 % interval of their sum; NaN where there is none."""

    parts: Mapping[str, float]
    low: float
    high: float


@dataclass(frozen=True)
class Aside:
    """What stands beside one row.

    bar: None where there is none to draw. figures: words of a link -> where it leads,
    `<paper>/<figure>#<what its plot is asked>`, as `transfer/bowls#workload=decoder`: a setting's
    value by its column's name, `up`, `along`, and `table=open`; it is left out of a report without
    that figure. files: paths in the checkout, which are copied into the report.
    """

    bar: Bar | None = None
    figures: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()


@dataclass(frozen=True)
class Asides:
    """What stands beside all rows.

    rows: an Aside a row of the table. head: of their column. before: the head of the column that
    it stands before. unit: of the bars' sizes. ends: of their common axis; what lies beyond is cut.
    """

    rows: Sequence[Aside]
    head: str
    before: str
    unit: str
    ends: tuple[float, float]

    @property
    def parts(self) -> list[str]:
        """The names of the bars' parts."""
        bars = (row.bar for row in self.rows if row.bar)
        return list(dict.fromkeys(name for bar in bars for name in bar.parts))
