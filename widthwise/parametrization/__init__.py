"""Parametrizations: what depends on the width, and how. No torch until something is drawn.

rules.py   the words: Role, Power, Rule
tables/    the parametrizations that ship, a file each
named.py   a parametrization by its name, or by the path of a file of one's own
plan.py    initial values, optimizer groups
"""

from widthwise.parametrization.named import (
    Parametrization,
    attention_multiplier,
    find,
    output_multiplier,
    s_of,
    shipped,
    table,
    tied_multiplier,
)
from widthwise.parametrization.plan import initialize, param_groups
from widthwise.parametrization.rules import (
    DEGREE,
    FAMILY,
    KINDS,
    ONE,
    Power,
    Role,
    Rule,
    check_groups,
    check_roles,
    format_power,
    init_std,
)

__all__ = [
    "DEGREE",
    "FAMILY",
    "KINDS",
    "ONE",
    "Parametrization",
    "Power",
    "Role",
    "Rule",
    "attention_multiplier",
    "check_groups",
    "check_roles",
    "find",
    "format_power",
    "init_std",
    "initialize",
    "output_multiplier",
    "param_groups",
    "s_of",
    "shipped",
    "table",
    "tied_multiplier",
]
