"""The parametrizations that ship, a file each; `named.find` lists this folder.

sp.py              standard: nothing but the init depends on the width
mup.py             maximal update, its multiplier in the init
mup_multiplier.py  the same function, with the readout's multiplier as it is printed
lvp.py             for large vocabularies
full_alignment.py  standard init, a rate a layer
umup.py            the exponents of u-muP
_s_family.py       what neural_tangent.py, hybrid.py and maximal_update.py are members of
"""
