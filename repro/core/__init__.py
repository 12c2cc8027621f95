"""What is run: studies, the runs and jobs they ask for, and a job carried out. No torch at import.

Imports nothing of Snakemake, claims or pages: `workflow`, `verdicts`, `products` are above.

What runs
  study.py        what the author of a study writes: task, grid, scales
  spec.py         settings in nested mappings, by dotted keys
  names.py        the names of stages
  runs.py         a run, its id, and what it takes from earlier stages
  schedule.py     how a study becomes jobs
  filling.py      which short runs share a job on a GPU
  search.py       a grid that extends itself until its optimum lies inside
  rows.py         CSV files beside a paper's studies
  population.py   settings that seeds draw
  seeds.py        seeds derived from the commit of a row of the register
  catalog.py      the figures that there are
  papers.py       who the papers are, each from a file of its own
  discovery.py    the papers, datasets and studies that there are, and which figures show them
  contracts.py    whether a file of theirs defines what it must
  config.py       the configuration: scale, data, figures
  suite.py        the suite under one configuration
  paths.py        where files are, relative to the work folder
  entry.py        an entry of the board, a file in the place of the parametrizations
  tried.py        a try: one test under a reader's settings, in the place of its studies
  axes.py         other seeds, rates, steps, widths and optimizers of a study's stages
  stand_ins.py    runs stood in for by made-up records

One job
  execute.py      carries out a job: its runs, unless finished before
  upstream.py     what a run takes from earlier stages, or from a choice among their runs
  cells.py        the file of a job's runs
  locks.py        locks that end with the process that holds them
  code_of_run.py  the code that a run depends on
"""
