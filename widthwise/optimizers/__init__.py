"""Optimizers: what groups are made for, and what torch has not.

known.py  what an update is homogeneous in, and where weight decay acts
muon.py   Muon for matrices between two widths, AdamW for all else
"""
