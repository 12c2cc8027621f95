"""muP for GPT-2 of Hugging Face: heads grow in number, the readout is the embedding transposed.

python examples/gpt2.py
widthwise check examples/gpt2.py:make --recipe muP --lr 0.003 --widths 64 128 256
"""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

import widthwise as ww

BASE, WIDTH, HEAD_DIM = 64, 256, 16


def make(width: int) -> nn.Module:
    """The model at a width; a head's dimension is held fixed, so that heads grow in number."""
    settings = {"n_embd": width, "n_head": width // HEAD_DIM, "n_layer": 2, "n_positions": 32}
    special = {"bos_token_id": 0, "eos_token_id": 0}
    return GPT2LMHeadModel(GPT2Config(vocab_size=128, **settings, **special)).eval()


def batches(seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(tokens, next tokens): random walks on a circle of 128 tokens."""
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randint(1, 4, (8, 33), generator=generator)
    walks = steps.cumsum(1) % 128
    return [(walks[:, :-1], walks[:, 1:])]


if __name__ == "__main__":
    torch.manual_seed(0)
    tokens, targets = batches(0)[0]
    roles = ww.roles(make, BASE, tokens)
    print(roles)

    model = make(WIDTH)
    plan = ww.plan(model, roles, "muP").init_()  # the tied readout's logits get their factor
    groups = plan.groups(lr=0.003, weight_decay=0.1)
    for group in groups:
        print(f"{len(group['params']):2} tensors  lr {group['lr']:.2g}  eps {group['eps']:.2g}")
    optimizer = torch.optim.AdamW(groups)
    for step in range(10):
        logits = model(tokens).logits
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step}  loss {loss.item():.3f}")
