"""The report: a static site of what reproduces and how sure it is. No torch, pandas or network.

pages.py     writes the site from templates/ and static/
model.py     what the pages show, as plain data
front.py     what they show first: findings, registered verdicts, a claim at every scale
places.py    scales and data of which there are records
address.py   where the project is published
settings.py  the settings of a figure's runs, here and in the paper
plot.py      a figure's data as columns, for the plot of its page
strip.py     a claim's bound and interval on one axis
board.py     the board of transfer, a page of its own
asides.py    what a figure puts beside the rows of its table
text.py      formulae, Markdown and sentences as HTML
"""
