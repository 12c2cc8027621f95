"""Which papers there are: studies/<slug>/paper.toml says of each who it is. No torch.

`repro.core.discovery.papers` is the one list of them. Nothing knows a paper by its authors' names.
"""

import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from repro.errors import UserError, did_you_mean
from repro.lineage import checkout
from widthwise.hints import misfit

FILE = "paper.toml"
ARXIV = re.compile(r"\d{4}\.\d{5}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A question that a paper answers, and what is on record of it. The fields are the keys.

    question: one sentence. place: where the paper answers it, perhaps how. tests: those that
    decide, of one figure. found: what came out, in words and numbers. against: what speaks against
    it. scale: of the record. In found and against `{fig1.slope}` stands for what a test or reading
    measured there (`repro.products.answered.NUMBER`).
    """

    question: str
    tests: list[str]
    found: str
    against: str = ""
    place: str = ""
    scale: str = "reduced"

    def __post_init__(self) -> None:
        if wrong := misfit(vars(self), Answer):
            raise ValueError(f"answers: {wrong}")
        if not (self.question.strip() and self.found.strip() and self.tests):
            raise ValueError("answers: one lacks a question, a test or what was found")
        if len({name.partition(".")[0] for name in self.tests}) > 1:
            raise ValueError(f"answers: {self.question!r} has tests of several figures")


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Who a folder of studies is of. The fields are the file's keys; slug is the folder's name.

    title: the paper's. authors: each as `Hayou, Soufiane`, in its order; none of what is the
    suite's own. year: it is cited by. arxiv, version: the text that is judged; another version may
    say other things. printed: the proceedings in which it has appeared. code, commit: where the
    authors' code is, and the newest commit of it that was at hand. answers: the questions that it
    answers. page: of the suite's own, what explains it, a file of
    the checkout.
    """

    slug: str
    title: str
    answers: tuple[Answer, ...]
    authors: tuple[str, ...] = ()
    year: int = 0
    arxiv: str = ""
    version: int = 0
    printed: str = ""
    code: str = ""
    commit: str = ""
    page: str = ""

    def __post_init__(self) -> None:
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        said["authors"] = list(self.authors) if isinstance(self.authors, tuple) else self.authors
        said["answers"] = [vars(each) for each in self.answers]
        if wrong := misfit(said, Paper):
            raise ValueError(wrong)
        if not self.title.strip():
            raise ValueError("title is empty")
        if not self.answers:
            raise ValueError("answers is empty; name a question and the test that decides it")
        if odd := [name for name in self.authors if len(name.split(", ")) != 2]:
            raise ValueError(f"author {odd[0]!r}: write the family name first, 'Hayou, Soufiane'")
        if self.ours:
            return
        if not ARXIV.fullmatch(self.arxiv):
            raise ValueError(f"arxiv {self.arxiv!r} is no number as 2506.15025")
        if not (self.authors and self.year and self.version):
            raise ValueError("a paper has authors, year, and the version that is judged")
        if self.commit and not COMMIT.fullmatch(self.commit):
            raise ValueError(f"commit {self.commit!r} is no full commit")

    @property
    def ours(self) -> bool:
        """Whether it is no paper's: the suite's own benchmark, which prints nothing."""
        return not self.arxiv

    @property
    def heading(self) -> str:
        """Its authors as a text names them: `Hayou & Liu`, `Dinan, Yaida & Zhang`, `Ma et al.`; the
        slug of what is ours."""
        names = [name.split(", ")[0] for name in self.authors]
        if len(names) > 3:
            return f"{names[0]} et al."
        return " & ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or self.slug

    @property
    def url(self) -> str:
        """The text that is judged, "" of what is ours."""
        return f"https://arxiv.org/abs/{self.arxiv}v{self.version}" if self.arxiv else ""

    @property
    def cited(self) -> str:
        """`arXiv 2506.15025v1`, "" of what is ours."""
        return f"arXiv {self.arxiv}v{self.version}" if self.arxiv else ""


def is_a_paper(slug: str) -> bool:
    """Whether a slug is a paper's; the suite's own benchmark has studies and figures too, and
    prints nothing. Raises UserError where the file that says so is broken."""
    return Path(checkout.ROOT, "studies", slug, FILE).exists() and not paper(slug).ours


@cache
def slugs() -> tuple[str, ...]:
    """The folders that hold studies or figures."""
    names = [*checkout.of_papers("studies"), *checkout.of_papers("figures")]
    noted = (path.parent.name for path in checkout.ROOT.glob(f"studies/*/{FILE}"))
    return tuple(sorted({*(name.split("/")[0] for name in names), *noted}))


@cache
def paper(slug: str) -> Paper:
    """A paper by its slug; raises UserError, naming its file, where that is missing or is not as
    `Paper` has it."""
    file = f"studies/{slug}/{FILE}"
    path = Path(checkout.ROOT, file)
    if not path.exists():
        raise UserError(
            f"{file}: is missing; write it as that of another paper, or of a folder that is not "
            f"there yet: uv run python -m repro new paper {slug} --arxiv NUMBER"
        )
    try:
        found = tomllib.loads(path.read_text("utf-8"))
        known = [each.name for each in fields(Paper) if each.name != "slug"]
        if unknown := sorted({*found} - {*known}):
            raise ValueError(f"unknown key {unknown[0]!r}, {did_you_mean(unknown[0], known)}")
        if isinstance(found.get("authors"), list):
            found["authors"] = tuple(found["authors"])
        if wrong := misfit(answers := found.get("answers", []), list[dict], "answers"):
            raise ValueError(wrong)
        found["answers"] = tuple(Answer(**each) for each in answers)
        return Paper(slug=slug, **found)
    except (ValueError, TypeError) as error:  # also what is no TOML
        message = re.sub(r"^(Paper|Answer)\.__init__\(\) ", "", f"{error}")
        raise UserError(f"{file}: {message}; see Paper in repro/core/papers.py") from error
