"""Checks of the suite's own models while they train.

coordinate_check.py  do activations change as much at every width?
tiny.py              a tiny run of every architecture. No torch
"""
