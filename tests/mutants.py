"""Honest values with one node changed, as an accident or somebody else may change it."""

import copy
import random
from collections.abc import Iterator
from typing import Any

ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    10**400,
    float("inf"),
    "",
    "odd",
    "a\nb",
    "\x1b[2J",
    "\ud800",
    "=1+1",
    "../../x",
    [],
    {},
    [[]],
    {"": None},
    [None],
)
GONE, TWICE, NAMED = object(), object(), object()  # a node left out, repeated, under another key
CHANGES = (*ODD, GONE, TWICE, NAMED)


def nodes(value: object, place: tuple = ()) -> Iterator[tuple]:
    """The place of every node of a JSON value, the whole of it first."""
    yield place
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    for key, each in inner:
        yield from nodes(each, (*place, key))


def changed(value: object, place: tuple, change: object) -> object:
    """A copy with a node changed."""
    if not place:
        return value if change in (GONE, TWICE, NAMED) else copy.deepcopy(change)
    *way, key = place
    result = copy.deepcopy(value)
    holder = result
    for each in way:
        holder = holder[each]
    if change is TWICE and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif change is NAMED and isinstance(holder, dict):
        holder["odd"] = holder.pop(key)
    elif change in (GONE, TWICE, NAMED):
        del holder[key]
    else:
        holder[key] = copy.deepcopy(change)
    return result


def of(value: object, every: bool) -> Iterator[tuple[str, object]]:
    """(what was changed, the value so changed). every: each change of each node; else one of each,
    drawn alike in every call."""
    draw = random.Random(0)
    for place in nodes(value):
        for change in CHANGES if every else [draw.choice(CHANGES)]:
            word = {id(GONE): "gone", id(TWICE): "twice", id(NAMED): "renamed"}
            yield (
                f"{place}: {word.get(id(change)) or repr(change)[:20]}",
                changed(value, place, change),
            )


def cells(
    rows: list[list[str]], odd: tuple[str, ...], every: bool
) -> Iterator[tuple[tuple[int, int], str]]:
    """(row, column) of every cell, the head's too, and what stands there in its place."""
    draw = random.Random(0)
    for i, row in enumerate(rows):
        for j in range(len(row)):
            yield from (((i, j), cell) for cell in (odd if every else [draw.choice(odd)]))
