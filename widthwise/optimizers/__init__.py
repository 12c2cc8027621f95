"""Optimizers that torch has not.

muon.py  Muon for matrices between two widths, AdamW for all else
"""
