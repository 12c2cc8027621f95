"""Models over shared blocks; each names the role of every one of its parameters."""
