"""Datasets, one file each: where the data come from, with digests and counts."""
