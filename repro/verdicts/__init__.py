"""What is tested, and how it is judged, from a table of runs alone. No torch at import.

What a figure is written with
  figure.py           what it is: its texts, tests, readings and functions
  answers.py          tests and readings, what is expected and what was measured of them
  statements.py       what a paper states, and how that fared in its tests
  verdict.py          a measurement held against its bound; the calibrated interval
  optimum.py          the optimum of a search, or by a window; by a parabola it is the library's
  run_sweeps.py       tables of runs as sweeps, and the points of a search
  widths.py           the power of the width, where widths may have seeds of their own
  settings.py         an effect in settings that were drawn
  intervals.py        what an interval holds besides the scatter between seeds
  noise.py            tables like a recorded one, from other seeds, under another law
  typeset.py          a table of texts, as Markdown, CSV, or on a page
  drawing.py          the style of all pictures

How it is judged
  tabulate.py         makes a figure's table from its cells
  judging.py          makes its tests, readings and picture from the table
  evidence.py         what decides a verdict besides the measurement; the verdict
  power.py            what a test says under each law
  printed.py          what the papers print
  results.py          what came of tests and readings, as JSON has it: facts

What was fixed before
  preregistration.py  what was fixed before the runs of a test
  badge.py            whether a test was registered before its runs

What is said of it
  words.py            every word of a verdict: a status, a doubt, a cell, a sentence, a row
"""
