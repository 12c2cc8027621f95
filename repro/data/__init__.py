"""Tokenization and batches over what the dataset files in data/ prepared."""
