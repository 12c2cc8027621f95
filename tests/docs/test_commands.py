"""Every command that a page shows is one: its words parse, its keys and targets are there."""

import re
import shlex
from itertools import product

import pytest

from repro.__main__ import parser as repro_parser
from repro.core import catalog, discovery
from repro.core.suite import load
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from widthwise.__main__ import parser as widthwise_parser

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    *sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("studies/*/README.md")]),
    *sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")),
]
# Figures that a page has one write.
TO_COME = {
    "embedding_lr/lvp",
    "embedding_lr/fig3_ratio_2",
    "my_paper/first",
}


IN_A_LINE = r"`(uv run [^`\n]*|widthwise \w+ \w+\.py[^`\n]*)`"  # other code in a line is a name


def blocks(text):
    """What stands in fences without a language, or indented by four, and commands in a line."""
    fences = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S)
    fenced = [block for language, block in fences if language in ("", "sh")]
    prose = re.sub(r"^```[^\n]*\n.*?^```$", "", text, flags=re.M | re.S)
    indented = re.findall(r"(?:^    .*\n)+", prose, re.M)
    return "\n".join([*fenced, *indented, *re.findall(IN_A_LINE, prose)])


def commands(text):
    """Each command, its continued lines joined, without comments."""
    lines = blocks(text).replace("\\\n", " ").splitlines()
    for line in lines:
        words = re.sub(r"\s#\s.*", "", line).strip()
        found = re.match(
            r"(?:uv run (?:--[a-z]\S* \S+ )*)?((?:python -m repro|snakemake|widthwise) .*)", words
        )
        if found and not re.search(r"\.\.\.|<|FILE|FOLDER|STUDY|COMMAND|PATTERN", found[1]):
            yield found[1]


CALLS = [(page, call) for page in PAGES for call in dict.fromkeys(commands(page.read_text()))]


def names(call):
    return call[0].relative_to(ROOT).as_posix() + ": " + call[1][:60]


def parsed(parser, words):
    try:
        return parser.parse_args(words)
    except SystemExit:
        raise AssertionError(words) from None


def check_config(words):
    """Raises UserError on a key or value that is unknown; folders of a user's are not there."""
    words = [w for w in words if not re.search("=(path/to|.*folder)", w)]
    config = load(words).config
    named = [n for n in config.figures if n != "all" and n not in TO_COME]
    assert not named or discovery.selected_figures(named, "config")


def check_target(target):
    """A rule of the Snakefile, or a figure."""
    rules = "".join(
        p.read_text() for p in [ROOT / "Snakefile", *ROOT.glob("workflows/rules/*.smk")]
    )
    path = re.fullmatch(r"figures/(?:(\w+)/)?(\w+)\.pdf", target)
    if not path:
        assert re.search(rf"^rule {target}:", rules, re.M), target
    elif path[1]:
        assert f"{path[1]}/{path[2]}" in {*catalog.figure_names(), *TO_COME}, target
    else:
        assert path[2] in {name.split("/")[1] for name in catalog.figure_names()}, target


def expanded(word):
    """`{a,b}` as a shell reads it."""
    parts = [each.split(",") for each in re.split(r"[{}]", word)]
    if len(parts) == 1:
        return [word]
    even = [[",".join(p)] if i % 2 == 0 else p for i, p in enumerate(parts)]
    return ["".join(each) for each in product(*even)]


def check(command):
    """Raises where a command of a page would end in its usage, or in a mistake of a user's."""
    program, *words = shlex.split(command)
    if program == "python":
        arguments = parsed(repro_parser(), words[2:])
        check_config(arguments.config)
        figures = [n for n in getattr(arguments, "figures", None) or () if n not in TO_COME]
        assert not figures or discovery.selected_figures(figures, "page")
    elif program == "widthwise":
        parsed(widthwise_parser(), words)
    else:
        from snakemake.cli import get_argument_parser

        arguments = parsed(get_argument_parser(), [w for word in words for w in expanded(word)])
        check_config(arguments.config or [])
        if arguments.workflow_profile:
            assert (ROOT / arguments.workflow_profile).is_dir()
        for target in arguments.targets:
            check_target(target)


@pytest.mark.parametrize("call", CALLS, ids=names)
def test_a_command_of_a_page_is_one(call):
    check(call[1])


@pytest.mark.parametrize(
    "command",
    [
        "snakemake figures/embedding_lr/fig1.pdf --config sacle=smoke",
        "snakemake figures/embedding_lr/fig99.pdf",
        "snakemake figures/fig99.pdf",
        "snakemake rebuild",
        "snakemake --worflow-profile profiles/gpu",
        "snakemake --workflow-profile profiles/tpu",
        "python -m repro verify --config figures=embedding_lr/fig99",
        "python -m repro explian fig3.sqrt-d-rule",
        "widthwise check model.py:make",
    ],
)
def test_a_command_that_is_none_is_found(command):
    with pytest.raises((AssertionError, UserError)):
        check(command)


def test_there_are_commands_of_every_kind():
    programs = [call.split()[0] for _, call in CALLS]
    assert {program: programs.count(program) > 2 for program in set(programs)} == dict.fromkeys(
        ("python", "snakemake", "widthwise"), True
    )
    assert len(CALLS) > 35 and len({page for page, _ in CALLS}) > 8
