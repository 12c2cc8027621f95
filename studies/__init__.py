"""Studies, one file each: what is run."""
