"""What the coordinate check says of right and wrong implementations; writes the table of its page.

uv run python -m benchmarks.calibration [--only WORDS] [--write docs/coordinate-check.md]
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from benchmarks._implementations import Implementation, implementations

PARTS = ("developed", "held", "fresh", "public")
BEGIN, END = "<!-- table -->\n", "<!-- end -->\n"
HEAD = (
    "| part | family | implementation | wrong | verdict | slopes | furthest from its law |\n"
    "|---|---|---|---|---|---|---|\n"
)


def row(each: Implementation) -> str:
    """A line of the table."""
    check = each.check()
    worst = "" if check.passed else check.reason.partition(": ")[2].partition(";")[0]
    found = (each.part, each.family, each.name, each.slip or "nothing", check.verdict)
    return f"| {' | '.join(found)} | {len(check.slopes)} | {worst} |\n"


def named(line: str) -> tuple[str, ...]:
    """What a line of the table is about."""
    return tuple(line.split(" | ")[1:4])


def counts(lines: Iterable[str]) -> str:
    """How many right and wrong ones there are, by part and verdict."""
    found: dict[tuple[str, bool, str], int] = {}
    for line in lines:
        part, _, _, slip, verdict = line.removeprefix("| ").split(" | ")[:5]
        key = part, slip == "nothing", verdict
        found[key] = found.get(key, 0) + 1
    result = "| | right ones: right | unclear | wrong | wrong ones: wrong | unclear | right |\n"
    result += "|---|---|---|---|---|---|---|\n"
    for part in PARTS:
        cells = [found.get((part, True, v), 0) for v in ("right", "unclear", "wrong")]
        cells += [found.get((part, False, v), 0) for v in ("wrong", "unclear", "right")]
        result += f"| {part} | {' | '.join(map(str, cells))} |\n"
    return result


def written(page: str, lines: list[str]) -> str:
    """The page with these lines in place of those that are about the same, and counts over all."""
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    kept = {named(line): line for line in table.partition(HEAD)[2].splitlines(True)}
    kept |= {named(line): line for line in lines}
    order = [(e.family, e.name, e.slip or "nothing") for e in implementations()]
    rows = [kept[key] for key in order if key in kept]
    return before + BEGIN + counts(rows) + "\n" + HEAD + "".join(rows) + END + after


def main(words: list[str] | None = None) -> None:
    """Check them, a line each; write the page's table where a page is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="those with these words in their line")
    parser.add_argument("--write", type=Path, help="the page whose table is brought up to date")
    arguments = parser.parse_args(words)
    print(HEAD, end="")
    for each in implementations():
        if arguments.only not in f"{each.part} {each.family} {each.name} {each.slip}":
            continue
        line = row(each)
        print(line, end="", flush=True)
        if arguments.write:
            page = written(arguments.write.read_text(), [line])
            arguments.write.write_text(page)


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    main()
