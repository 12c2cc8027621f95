"""A figure's files: made of its runs, kept in records/, held against them. No torch at import.

What is made
  run_table.py            a figure's table of runs, and its key
  picture.py              a figure's picture, text and claims, and their key
  published.py            a picture's files, held against their manifest, copied to figures/
  built.py                where a figure's files are, and whether
  tidy.py                 what lies in results/ that nothing names

What is kept
  records.py              what is kept of a figure in records/
  verify.py               new results held against records/
  known.py                which of results/ and records/ shows a figure
  forecast.py             what jobs cost, by the seconds on record

What is said of it
  claims_json.py          every judged claim, for a program to read
  status.py               one status a claim, by its strongest record
  scoreboard.py           all verdicts in one table
  preregistered_table.py  the verdicts of registered claims in one table
  explain.py              from one claim to the runs behind it
"""
