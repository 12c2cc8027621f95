"""The report: a static site of what reproduces and how sure it is. No torch, pandas or network.

pages.py     writes the site from templates/ and static/
model.py     what the pages show, as plain data
settings.py  the settings of a figure's runs, here and in the paper
plot.py      a figure's data as columns, for the plot of its page
strip.py     a claim's bound and interval on one axis
board.py     the board of transfer, a page of its own
asides.py    what a figure puts beside the rows of its table
text.py      formulae, Markdown and sentences as HTML
"""
