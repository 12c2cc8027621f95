"""Where results come from: checkout, code, history, arithmetic, provenance. No torch at import.

This checkout
  checkout.py      the files of this checkout, and how one is loaded
  history.py       what git knows of this checkout
  import_check.py  whether this checkout's code runs and no other

Its code
  uses.py          what a file imports, defines and uses
  code.py          the files that some code depends on, by its imports

A run
  provenance.py    where and with what a run was made
  arithmetic.py    which vector instructions a run's libraries use
  mkl.py           MKL's kernels for Intel's CPUs, on AMD's too
  foreign.py       what may stand in files that somebody else may have made
"""
