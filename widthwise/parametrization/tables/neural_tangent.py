"""The neural-tangent parametrization: the s-family at s = 0."""

from functools import partial

from widthwise.parametrization.tables import _s_family

NAME, S = "neural-tangent", 0.0
rules, TIED = partial(_s_family.rules, S), _s_family.tied(S)
