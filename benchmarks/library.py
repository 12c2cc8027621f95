"""CPU seconds that the library takes on models of others: roles, groups, factors.

Roles make the model once more, at the base width, to see its initial spreads.

    uv run python benchmarks/library.py
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import nn

import widthwise


def resnet18(width: int) -> nn.Module:
    """torchvision's ResNet-18 with so many channels in its first stage."""
    from torchvision.models.resnet import BasicBlock, ResNet

    class Wide(ResNet):
        def _make_layer(self, block, planes, *arguments, **options):
            if planes == 64:  # the first stage, behind a stem of 64 channels
                self.inplanes = width
                self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
                self.bn1 = nn.BatchNorm2d(width)
            return super()._make_layer(block, planes * width // 64, *arguments, **options)

    model = Wide(BasicBlock, [2, 2, 2, 2])
    model.fc = nn.Linear(8 * width, 1000)
    return model


def gpt2(width: int) -> nn.Module:
    """Hugging Face's GPT-2, twelve layers, heads of 64."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_embd=width, n_head=width // 64))


def llama(width: int) -> nn.Module:
    """Hugging Face's Llama with the sizes of Llama 3.2 1B, without values."""
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.device("meta"):
        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=128_256,
                hidden_size=width,
                intermediate_size=4 * width,
                num_hidden_layers=16,
                num_attention_heads=width // 64,
                num_key_value_heads=width // 256,
                tie_word_embeddings=True,
            )
        )


CASES: dict[str, tuple[Callable, int, torch.Tensor]] = {
    "ResNet-18": (resnet18, 64, torch.zeros(2, 3, 64, 64)),
    "GPT-2": (gpt2, 768, torch.zeros(1, 16, dtype=torch.long)),
    "Llama on meta": (llama, 2048, torch.zeros(1, 16, dtype=torch.long)),
}


def main(words: list[str] | None = None) -> None:
    """Print a line a model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shrink", type=int, default=1, help="divide widths by this")
    arguments = parser.parse_args(words)
    torch.set_num_threads(1)
    print("| model | parameters | make, s | roles, s | plan, ms | groups, ms |")
    print("|---|---|---|---|---|---|")
    for name, (make, width, inputs) in CASES.items():
        base = width // arguments.shrink
        begin = time.process_time()
        model = make(base)
        made = time.process_time()
        roles = widthwise.roles(make, base, inputs)
        found = time.process_time()
        plan = widthwise.plan(model, roles, "muP")
        planned = time.process_time()
        plan.groups(0.01)
        grouped = time.process_time()
        count = sum(p.numel() for p in model.parameters())
        print(
            f"| {name} | {count:,} | {made - begin:.2f} | {found - made:.2f} | "
            f"{1000 * (planned - found):.1f} | {1000 * (grouped - planned):.1f} |"
        )


if __name__ == "__main__":
    main()
