"""Parametrizations for a model of one's own; what is public is imported from `repro`.

kinds.py        what a parameter is, from what a forward pass shows of it
roles.py        what each parameter of any module is, from two widths and one forward pass
scaling.py      initial spreads, optimizer groups
multipliers.py  factors on readouts and attention's logits
check.py        the coordinate check of a training of one's own
"""
