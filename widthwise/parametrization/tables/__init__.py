"""The parametrizations that ship, a file each; `named.find` lists this folder.

sp.py              standard: nothing but the init depends on the width
as_made.py         values as the model is made, one rate for all
mup.py             maximal update, its multiplier in the init
mup_multiplier.py  the same function, with the readout's multiplier as it is printed
lvp.py             for large vocabularies
full_alignment.py  standard init, a rate a layer
umup.py            the exponents of u-muP
_s_family.py       what the three below are members of
neural_tangent.py  s = 0
hybrid.py          s = 1/2
maximal_update.py  s = 1
"""
