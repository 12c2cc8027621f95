"""Parametrizations: what depends on the width, and how. No torch until something is drawn.

rules.py   the words: Role, Power, Rule
tables/    the parametrizations that ship, a file each
named.py   a parametrization by its name, or by the path of a file of one's own
recipes.py one for an optimizer, with its rule of weight decay
plans.py   a model with one: factors, optimizer groups
initial.py its initial values
checked.py what `Plan.check` asks
steps.py   whether an optimizer makes the steps that a recipe's rates are for
"""

from widthwise.parametrization.named import s_of, shipped, table
from widthwise.parametrization.plans import Plan, plan
from widthwise.parametrization.recipes import (
    DECAYS,
    Recipe,
    attention_multiplier,
    output_multiplier,
    recipe,
    tied_multiplier,
    with_inits,
)
from widthwise.parametrization.rules import (
    DEGREE,
    KINDS,
    ONE,
    Power,
    Role,
    Rule,
    check_groups,
    check_roles,
    format_power,
    init_std,
    standard_std,
)

__all__ = [
    "DECAYS",
    "DEGREE",
    "KINDS",
    "ONE",
    "Plan",
    "Power",
    "Recipe",
    "Role",
    "Rule",
    "attention_multiplier",
    "check_groups",
    "check_roles",
    "format_power",
    "init_std",
    "output_multiplier",
    "plan",
    "recipe",
    "s_of",
    "shipped",
    "standard_std",
    "table",
    "tied_multiplier",
    "with_inits",
]
