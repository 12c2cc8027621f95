"""The site: what is judged and how sure it is, among the pages of docs/. No torch, no network.

The site
  build.py     makes the site, by Sphinx
  pages.py     writes the pages of what is on record from templates/, as Markdown
  model.py     what the pages show, as plain data
  front.py     what they show first: answers, statements by networks, a test at every scale
  places.py    scales and data of which there are records
  address.py   where the project is published
  settings.py  the settings of a figure's runs, here and in the paper
  plot.py      a figure's data as columns, for the plot of its page
  strip.py     a test's bound and interval on one axis
  board.py     the board of transfer, a page of its own
  text.py      formulae, Markdown and sentences as HTML

Parts of pages that a command writes
  marks.py     the parts of a page that a command writes
  cited.py     who the papers are, and which of their figures are on record
  costs.py     the tables of docs/cost.md
  datasets.py  what pages list of every dataset
  laws.py      laws of other papers, held against every slope on record
"""
