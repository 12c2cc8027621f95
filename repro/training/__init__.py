"""How a model is trained, the same for all tasks.

loop.py           a run that is built, and the training loop
optimizer.py      optimizers and their groups
settings.py       the optimizers there are, and what each may be told. No torch
quick.py          an optimizer's step on a CPU, the same with less around it
adam.py           AdamW that adds eps where fairseq's Adam does
schedule.py       factors on the learning rate, step by step. No torch
clipping.py       clipping of gradients by a global norm
cross_entropy.py  the cross-entropy of many logits, by chunks of rows
evaluation.py     losses, on held-out data too
perplexity.py     perplexity of a text, per token and per word
checkpoints.py    weights and optimizer state as files
loss_scale.py     the optimizer's step under float16's loss scale
ranks.py          the processes that share a run, a GPU each
ending.py         SIGTERM ends a run with its step
launch.py         starts them, and ends all if one fails
distributed.py    one run's model, gradients and state over them
late_compiler.py  torch's compiler, loaded when it is asked for
"""
