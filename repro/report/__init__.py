"""The report: a static site of what reproduces and how sure it is. No torch, pandas or network."""
