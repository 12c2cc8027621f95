"""What an author begins with: new files, and a test that is planned before its runs.

new.py          the files of a new paper or figure
again.py        those of a figure again, with own seeds, widths and rates
pilot.py        the suite on seeds that judge nothing
registering.py  a pilot, and the row that is planned from it
trials.py       counts the verdicts of tables drawn from laws
untold.py       which claims too few seeds leave untold
"""
