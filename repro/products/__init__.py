"""A figure's files: made of its runs, kept in records/, held against them. No torch at import.

What is made
  run_table.py    a figure's table of runs
  alone.py        which stages of its figure a test is measured of
  tried.py        a test under a reader's settings: planned, run and measured
  drawn.py        a test over a reader's population of settings
  picture.py      a figure's files, made of its runs, and their key
  gate.py         what others may have written of a figure, read and held
  published.py    a picture's files, held against their manifest, copied to figures/
  built.py        where a figure's files are, and whether
  tidy.py         what lies in results/ that nothing names

What is kept
  records.py      what is kept of a figure in records/
  verify.py       new results held against records/
  retrain_cell.py one cell trained anew, held against a record
  known.py        which of results/ and records/ shows a figure
  forecast.py     what jobs cost, by the seconds on record

What is said of it
  claims_json.py  all tests and readings, for a program to read
  status.py       one status a test, by its strongest record
  summary.py      how statements fared: at the end of a call, and on record
  answered.py     the papers' questions with their answers
  design.py       what a study runs at a scale
  beside.py       what a try came to, beside what is on record
  explain.py      from a paper, a figure or a test to what is behind it
"""
