"""Optimizers, a file each: what an update is homogeneous in, where weight decay acts.

known.py            what such a file says, and where it is found; no torch
sgd.py              SGD
adam.py             Adam
adamw.py            AdamW
nadam.py            NAdam
adamax.py           Adamax
adagrad.py          Adagrad
rmsprop.py          RMSprop
lion.py             Lion
soap.py             SOAP, by its family
muon.py             Muon for matrices between two widths, AdamW for all else
muon_unit_rms.py    the same, its updates adjusted by the root of outputs over inputs
muon_match_rms.py   the same, its updates as large as AdamW's
_muon_adamw.py      the optimizer of these three
_probed.py          what any other class does, seen in a few steps
"""
