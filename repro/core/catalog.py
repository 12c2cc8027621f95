"""The figures that exist, found by listing figures/. No torch.

A broken file is reported, in one line, to whoever asks for it, and stops nobody else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from repro.errors import UserError, did_you_mean
from repro.lineage import checkout
from repro.lineage.checkout import is_listed, kind, near_name


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What `repro.verdicts.figure.Figure` begins with.

    title: one line, shown above the picture and in `python -m repro show`.
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


@cache
def figure_names() -> tuple[str, ...]:
    """`<paper>/<figure>` of all figures, broken ones too, by paper; fig2 before fig10."""
    names = checkout.of_papers("figures")
    return tuple(sorted(names, key=lambda n: (n.split("/")[0], _natural(n.split("/")[1]))))


def _natural(name: str) -> tuple:
    stem = name.rstrip("0123456789")
    return (stem, int(name[len(stem) :] or 0))


@cache
def figure(name: str) -> Shown:
    """A figure; raises UserError if there is none of that name, or its file is broken."""
    file, module = f"figures/{name}.py", figure_module(name)
    found = getattr(module, "FIGURE", None)
    if not isinstance(found, Shown):
        near = near_name("FIGURE", module)
        raise UserError(f"{file}: defines no FIGURE{near}; see Figure in repro/verdicts/figure.py")
    found.check(file)
    return found


@cache
def figure_module(name: str) -> ModuleType:
    """The file of a figure, imported; raises UserError as `figure` does."""
    if name not in figure_names():
        raise UserError(f"unknown figure {name!r}: {did_you_mean(name, figure_names())}")
    file = f"figures/{name}.py"
    if name in checkout.of_papers("studies"):
        raise UserError(
            f"{file}: is named as studies/{name}.py is; their results would be mixed: rename one, "
            f"for example the study to {name.split('/')[-1]}_runs.py"
        )
    return checkout.load(file)


def pages() -> dict[str, list[str]]:
    """Page -> its figures, every paper's of that name: `fig3` -> [`embedding_lr/fig3`, ...]."""
    result: dict[str, list[str]] = {}
    for name in figure_names():
        result.setdefault(name.split("/")[1], []).append(name)
    return result


def matching_figures(selection: Iterable[str], place: str = "config key figures") -> list[str]:
    """The names of the figures that a selection asks for, each once.

    selection: words, each `all`, a paper, a figure or a page. place: where the user wrote them.
    Raises UserError, naming the place, on any other word.
    """
    papers = {name.split("/")[0] for name in figure_names()}
    chosen: list[str] = []
    for word in selection:
        if word == "all":
            chosen += figure_names()
        elif word in papers:
            chosen += [name for name in figure_names() if name.startswith(f"{word}/")]
        elif word in pages():
            chosen += pages()[word]
        elif word in figure_names():
            chosen.append(word)
        else:
            known = ["all", *papers, *pages(), *figure_names()]
            raise UserError(f"{place}: unknown {word!r}, {did_you_mean(word, known)}")
    return list(dict.fromkeys(chosen))
