"""The board of transfer: entries by workloads. No torch at import.

score.py       what an entry loses on a workload, against a reference that is fixed
matrix.py      entries by workloads, ties by paired tests
references.py  what is fixed, under which version
leaders.py     the board from what is on record, entries among it
"""
