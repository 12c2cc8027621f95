"""Between neural-tangent and maximal-update: the s-family at s = 1/2."""

from functools import partial

from widthwise.parametrization.tables import _s_family

NAME, S = "hybrid", 1 / 2
rules, TIED = partial(_s_family.rules, S), _s_family.tied(S)
