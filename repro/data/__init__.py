"""Preparation of the datasets declared in data/, tokenization, and batches."""
