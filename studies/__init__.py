"""Studies, one file each: which runs are trained or computed, at which settings."""
