"""Datasets, one file each: where they come from, their digests and counts."""
