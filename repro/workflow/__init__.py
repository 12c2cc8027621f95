"""Jobs in their order on this machine or a cluster, with Snakemake and without. No torch at import.

Jobs
  jobs.py       the workflow's jobs, also without Snakemake
  worker.py     a process from which the jobs of a call are forked
  handover.py   a job hands itself over to the worker of its call
  gpus.py       this machine's GPUs, shared out among jobs
  cluster.py    what a job asks of a Slurm cluster
  budget.py     what figures cost, as a table

Snakemake
  calls.py      which calls of Snakemake run here, and the lock of a killed one
  internals.py  what is used of Snakemake below its documented surface

What one sees
  progress.py   lines in a log, a bar on a terminal
  terminal.py   a line a job, with how much is done
  interrupt.py  Ctrl-C of a workflow
  bytecode.py   where a call's processes keep what Python compiled
"""
