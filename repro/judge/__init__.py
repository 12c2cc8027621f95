"""What is shown and claimed, and how it is judged. No torch at import.

What a figure is written with
  figure.py        what it is: its texts, claims and functions
  claims.py        claims, what is expected and what was measured of them
  verdict.py       a measurement held against its bound; the calibrated interval
  optimum.py       the optimum of a search, or by a window; by a parabola it is the library's
  sweep.py         tables of runs as sweeps, and the points of a search
  widths.py        the power of the width, where widths may have seeds of their own
  intervals.py     what an interval holds besides the scatter between seeds
  typeset.py       a table of texts, as Markdown, CSV, or on a page
  drawing.py       the style of all pictures

How a claim is judged
  judging.py       makes a figure from its runs: table, judged claims, picture
  evidence.py      what decides a verdict besides the measurement; the verdict
  noise.py         tables like a recorded one, from other seeds, under another law
  power.py         what a claim's test says under each law
  trials.py        counts the verdicts of tables drawn from laws
  printed.py       what the papers print
  register.py      what was fixed before the runs that judge a claim
  registering.py   a pilot, and the row that is planned from it
  bounds.py        where the bounds of all claims come from

The board of transfer
  score.py         what an entry loses on a workload, against a reference that is fixed
  matrix.py        entries by workloads, ties by paired tests
  references.py    what is fixed, under which version
  leaders.py       the board from what is on record and was sent in
  entries.py       entries on file: read, held against the plan, runs made anew

What is made and kept
  run_table.py     a figure's table of runs, and its key
  picture.py       a figure's picture, text and claims, and their key
  published.py     a picture's files, held against their manifest, copied to figures/
  built.py         where a figure's files are, and whether
  records.py       what is kept of a figure in records/
  verify.py        new results held against records/
  known.py         which of results/ and records/ shows a figure
  tidy.py          what lies in results/ that nothing names
  forecast.py      how long jobs will take on this machine

What is said of it
  board.py         judged claims, as JSON has them and as text; a figure's sentence
  scoreboard.py    all verdicts in one table
  badge.py         whether a claim was registered before its runs
  earlier.py       what an older rule said of tests registered then: data
  status.py        one status a claim, by its strongest record
  seeds.py         which claims too few seeds leave untold
  confirmed.py     the verdicts of registered claims in one table
  explain.py       from one claim to the runs behind it
  claims_json.py   every judged claim, for a program to read
  cited.py         who the papers are, and which of their figures are on record
  new.py           the files of a new paper or figure
  costs.py         the tables of docs/cost.md
  laws.py          laws of other papers, held against every slope on record
  marks.py         the parts of a page that a command writes
"""
