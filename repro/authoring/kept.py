"""A try as files: its studies, and a figure that shows them. No torch."""

from collections.abc import Mapping
from dataclasses import fields
from string import Template
from typing import Any

from repro.core import catalog, discovery
from repro.core.tried import Tried
from repro.errors import UserError

LINE = 100  # characters, as the lint counts

RUNS = Template('''\
"""$docstring"""

from repro.core.tried import Tried
from studies.$paper import $module

$defined = Tried(
$settings).kept($module)
''')

AGAIN = Template('''\
"""$docstring"""

from $module import FIGURE as ORIGINAL
from repro.verdicts.figure import again

FIGURE = again(
    ORIGINAL,
    "$name",
    {
$studies    },
)
''')


def files(name: str, tried: Tried) -> dict[str, str]:
    """The files of a figure that shows a try's runs in the place of those of its studies.

    name: `<paper>/<figure>`. Raises UserError where the paper is another than the test's, and on
    what cannot be at the default scale.
    """
    slug, own = name.split("/")
    paper = tried.figure.split("/")[0]
    if slug != paper:
        raise UserError(f"--keep {name}: {tried.test} is of {paper}; give {paper}/{own}")
    tried.studies("reduced")
    words = f"{tried.test} with other settings"
    settings = {each.name: getattr(tried, each.name) for each in fields(tried)}
    heads = ((f"    {key}=", value) for key, value in settings.items() if value)
    found, runs_of = {}, {}
    lines = "".join(f"{head}{python(value, head)},\n" for head, value in heads)
    for study in tried.modules:
        module = study.split("/")[1]
        runs_of[study] = f"{slug}/{own}_{'runs' if len(tried.modules) == 1 else module}"
        found[f"studies/{runs_of[study]}.py"] = RUNS.substitute(
            docstring=f"The runs of {words}."[: LINE - 6],
            paper=paper,
            module=module,
            defined="STUDY" if study in discovery.stages(study) else "STAGES",
            settings=lines,
        )
    pairs = "".join(f'        "{old}": "{new}",\n' for old, new in runs_of.items())
    assert tried.figure in catalog.figure_names()
    return found | {
        f"figures/{name}.py": AGAIN.substitute(
            docstring=f"{tried.figure} with the runs of {words}."[: LINE - 6],
            module=f"figures.{tried.figure.replace('/', '.')}",
            name=own,
            studies=pairs,
        ),
    }


def python(value: Any, before: str) -> str:
    """A list or mapping of plain values in Python as the lint writes it. before: what stands before
    it in its line, which says how far its lines are indented."""
    line = repr(value).replace("'", '"')
    if len(before) + len(line) < LINE:
        return line
    indent = " " * (len(before) - len(before.lstrip()))
    begin, end = line[0], line[-1]
    pairs = value.items() if isinstance(value, Mapping) else (("", each) for each in value)
    heads = ((indent + "    " + (f'"{key}": ' if key else ""), each) for key, each in pairs)
    inner = "".join(f"{head}{python(each, head)},\n" for head, each in heads)
    return f"{begin}\n{inner}{indent}{end}"
