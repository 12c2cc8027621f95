"""Parametrizations for a model of one's own; what is public is imported from `repro`.

kinds.py        what a parameter is, from what a forward pass shows of it
roles.py        what each parameter of any module is, from two widths and a forward pass
tables.py       a parametrization by name, or by the path of a file of one's own
scaling.py      initial spreads, optimizer groups
multipliers.py  factors on readouts and on attention's logits
check.py        the coordinate check, with slopes.py; command.py: on the command line
"""
