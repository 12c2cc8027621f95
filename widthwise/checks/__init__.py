"""Is it right? Checks of a model of one's own over widths.

coordinates.py  the coordinate check: does a network do the same at every width?
proof.py        roles that prove themselves: what modules give, what a step changes
given.py        what a user gives a check: batches, a loss
seen.py         what it looks at: the stream, attention's logits, the output
slopes.py       the law of each, slopes of sizes against width, the verdict
depths.py       sizes of models of several depths, and the law of each
picture.py      its plot
transfer.py     what is lost where the narrow model is tuned and the wide one trained
joint.py        the lowest points of curves of one shape; no torch
sweep.py        losses over rates: best rates, what is lost, intervals; no torch
regret.py       what is lost, by parametrization and width; no torch
"""
