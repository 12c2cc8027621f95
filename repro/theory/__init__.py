"""Closed forms that measurements are held against.

gaussian_averages.py    averages over the preactivations of wide Transformers
transformer_kernels.py  their kernels and mean tangent kernels, block by block
upscaling_limit.py      training and widening of deep linear networks of infinite width
sign_sgd.py             one SignSGD step
zipf.py                 token frequencies by rank
"""
