"""Is it right? Checks of a model of one's own over widths.

coordinates.py  the coordinate check: do activations change as much at every width?
given.py        what a user gives a check: batches, a loss
slopes.py       slopes of sizes against width, with a verdict
transfer.py     what is lost where the narrow model is tuned and the wide one trained
regret.py       losses over rates, and what is lost; no torch
command.py      both on the command line, of what a file of one's own defines
"""
