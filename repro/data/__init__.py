"""Preparation of the datasets declared in data/, tokenization, and batches.

What is prepared
  source.py            where a dataset comes from. No torch
  needs.py             the prepared inputs that a run reads. No torch
  prepare.py           from a dataset's module to prepared files
  leaks.py             validation data that a run trains on
  lockfiles.py         the first download's digest, where nobody publishes one
  digests.py           SHA-256 of large files
  arrays.py            inputs and labels in one file
  tables.py            tables of numbers from CSV files
  text.py              text corpora
  documents.py         streams of documents, and their splits
  parquet.py           the text of parquet files, in parts
  corpus.py            a corpus read as a stream
  image_folder.py      a folder of images sorted by class
  tokenization.py      byte-pair encoding, and stored tokens
  shards.py            a stream's tokens as files of a fixed number
  parts.py             the same, of parts that several processes encode

What is generated
  synthetic_text.py    a language with Zipf-Mandelbrot frequencies
  synthetic_images.py  images, 3 x 32 x 32
  synthetic_table.py   a table with Forest Cover Type's columns
  random_data.py       random data with a run's shapes

What a run reads
  loading.py           its training and validation batches
  batches.py           batches in an order fixed by the seed
  augmentation.py      crop, flip and pooling, on the device
  recipe.py            the augmentation of Dinan, Yaida & Zhang
  transforms.py        its part that is done to an image by itself
  image_batch.py       its part that is done to a batch on the device
  denoising.py         span denoising
  cutting.py           a corpus cut into its blocks
"""
