"""What each parameter of any module is, from the module at two widths.

forward.py      what a module does with each axis of its parameters, seen in one forward pass
operators.py    what each operator does with the axes it is given
moves.py        where the dimensions of an operator's results come from
shapes.py       which dimension of a tensor runs along which of another
constants.py    values that nothing draws
degrees.py      the degree of a weight in the parameters that it is made of
sizes.py        one law of sizes: by which power of the width tensors grow
warnings.py     what a user should look at
uses.py         what is seen of a parameter; no torch
kinds.py        what a parameter is, from what was seen of it
passes.py       what a pass at each of two widths showed
roles.py        the role of each parameter
attention.py    attention whose head dimension grows
branches.py     residual branches of layers in a stack
making.py       models of a width, as `make` makes them
deeper.py       the roles of a deeper module
stacks.py       which layer of a deeper module is like which
draws.py        initial values of large tensors, drawn for their spread alone
placed.py       what make draws, and what it places
flow.py         which parameters can hold a factor
multipliers.py  a recipe's factors, and the parameters that hold them
wrapped.py      modules that are wrapped: compiled, sharded, copied
"""
