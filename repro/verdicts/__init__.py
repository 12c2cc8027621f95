"""What is claimed, and how it is judged, from a table of runs alone. No torch at import.

What a figure is written with
  figure.py           what it is: its texts, claims and functions
  claims.py           claims, what is expected and what was measured of them
  verdict.py          a measurement held against its bound; the calibrated interval
  optimum.py          the optimum of a search, or by a window; by a parabola it is the library's
  run_sweeps.py       tables of runs as sweeps, and the points of a search
  widths.py           the power of the width, where widths may have seeds of their own
  intervals.py        what an interval holds besides the scatter between seeds
  noise.py            tables like a recorded one, from other seeds, under another law
  typeset.py          a table of texts, as Markdown, CSV, or on a page
  drawing.py          the style of all pictures

How a claim is judged
  tabulate.py         makes a figure's table from its cells
  judging.py          makes its judged claims and its picture from the table
  evidence.py         what decides a verdict besides the measurement; the verdict
  power.py            what a claim's test says under each law
  printed.py          what the papers print

What was fixed before
  preregistration.py  what was fixed before the runs that judge a claim
  badge.py            whether a claim was registered before its runs
  earlier.py          what an older rule said of tests registered then: data
  bounds.py           where the bounds of all claims come from

What is said of it
  words.py            the status words: what each means, and how it is shown
  judged_claims.py    judged claims, as JSON has them and as text; a figure's sentence
"""
