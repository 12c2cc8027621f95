"""What is run, and who runs it. No torch at import.

What runs
  study.py         what the author of a study writes: task, grid, scales
  spec.py          settings in nested mappings, by dotted keys
  names.py         the names of stages
  runs.py          a run, its id, and what it takes from earlier stages
  plan.py          how a study becomes jobs
  filling.py       which short runs share a job on a GPU
  search.py        a grid that extends itself until its optimum lies inside
  rows.py          CSV files beside a paper's studies
  seeds.py         seeds derived from the commit of a row of the register
  checkout.py      the files of this checkout, and how one is loaded
  catalog.py       the figures that there are
  papers.py        who the papers are, each from a file of its own
  registry.py      the papers, datasets and studies that there are, and which figures show them
  contracts.py     whether a file of theirs defines what it must
  config.py        the configuration: scale, data, figures
  suite.py         the suite under one configuration
  paths.py         where files are, relative to the work folder
  pilot.py         the suite on seeds that judge nothing
  entry.py         an entry of the board, a file in the place of the parametrizations

One job
  jobs.py          the workflow's jobs, also without Snakemake
  worker.py        a process from which the jobs of a call are forked
  handover.py      a job hands itself over to the worker of its call
  execute.py       carries out a job: its runs, unless finished before
  upstream.py      what a run takes from earlier stages, or from a choice among their runs
  cells.py         the file of a job's runs
  foreign.py       what may stand in files that somebody else may have made
  locks.py         locks that end with the process that holds them
  uses.py          what a file imports, defines and uses
  code.py          the files that some code depends on, by its imports
  code_of_run.py   those that a run depends on
  definitions.py   the definitions that an expression reaches
  history.py       what git knows of this checkout
  provenance.py    where and with what a run was made
  origin.py        whether this checkout's code runs and no other

Arithmetic
  arithmetic.py    which vector instructions a run's libraries use
  mkl.py           MKL's kernels for Intel's CPUs, on AMD's too
  gpus.py          this machine's GPUs, shared out among jobs

What it takes
  budget.py        what figures cost, as a table
  cluster.py       what a job asks of a Slurm cluster

What one sees
  progress.py      lines in a log, a bar on a terminal
  terminal.py      a line a job, with the time that is left
  interrupt.py     Ctrl-C of a workflow
  calls.py         which calls of Snakemake run here, and the lock of a killed one
  internals.py     what is used of Snakemake below its documented surface
"""
