"""What an author begins with: new files, and a test that is planned before its runs.

new.py          the files of a new paper or figure
kept.py         a try as files
pilot.py        the suite on seeds that judge nothing
planning.py     designs beside their price, and what each promises
prices.py       what each run of a table took
registering.py  a pilot, rows of the register as planned, and their seeds
trials.py       counts the verdicts of tables drawn from laws
untold.py       which claims too few seeds leave untold
"""
