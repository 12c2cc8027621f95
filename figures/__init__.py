"""Figures and tables, one file each: what is shown and claimed."""
