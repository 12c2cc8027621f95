"""Maximal-update as Dinan, Yaida & Zhang write it: the s-family at s = 1."""

from functools import partial

from widthwise.parametrization.tables import _s_family

NAME, S = "maximal-update", 1.0
rules, TIED = partial(_s_family.rules, S), _s_family.tied(S)
