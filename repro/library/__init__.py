"""Parametrizations for a model of one's own; what is public is imported from `repro`.

kinds.py   what a parameter is, from what a forward pass shows of it
roles.py   what each parameter of any module is, from two widths and a forward pass
"""
