"""Recipes that people run, each made small from a checkout of its repository; nothing of theirs is
here. Their modules are imported, or the definitions of a script are, without its run."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks._checkouts import (
    ADAMW_RATE,
    BASE,
    HEAD_DIM,
    LAYERS,
    LENGTH,
    VOCABULARY,
    Line,
    Made,
    Recipe,
    Slip,
    module,
    text,
)
from benchmarks._mup_examples import mup_mlp, mup_resnet, mup_transformer
from benchmarks._rebuilt import OTHERS
from benchmarks._speed_runs import nanochat, track_3
from benchmarks._standard import hugging_face, lingua, torchtitan


def nano_gpt_mup(checkout: Path, **more: Any) -> Made:
    """The path of training, which is given its targets; without them it samples."""
    gpt = module(checkout / "model.py", checkout.name.replace("-", "_"))

    def sized(width: int, **rules: Any) -> nn.Module:
        return gpt.GPT(
            gpt.GPTConfig(
                block_size=LENGTH,
                vocab_size=VOCABULARY,
                n_layer=LAYERS,
                n_head=width // HEAD_DIM,
                n_embd=width,
                bias=False,
                **rules,
            )
        )

    def make(width: int) -> nn.Module:
        return sized(width, mup_enabled=True, mup_width_multiplier=width / BASE, **more)

    def optimizer(model: Any) -> torch.optim.Optimizer:
        eps = {"adam_eps": 1e-8} if more else {}
        found = model.configure_optimizers(
            weight_decay=0.1, learning_rate=ADAMW_RATE, betas=(0.9, 0.95), device_type="cpu", **eps
        )
        for group in found.param_groups:  # as train.py does at every step
            group["lr"] *= group.get("lr_scale", 1.0)
        return found

    def batches(seed: int) -> list:
        return [((inputs, targets), targets) for inputs, targets in text(seed)]

    def loss(model: nn.Module, batch: tuple) -> torch.Tensor:
        return model(*batch[0])[1]

    def mend(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for group in optimizer.param_groups:
            group["weight_decay"] /= group["lr_scale"]

    return Made(make, optimizer, sized, batches, loss, None if more else mend)


def complete_p(checkout: Path) -> Made:
    return nano_gpt_mup(checkout, depth_alpha_enabled=True)


def sampled(number: int) -> Line:
    """Of both branches of nanoGPT-mup."""
    return Line(
        "model.py",
        (number,),
        "without targets, as in sampling, logits lack the factor that they have with targets. "
        "Training does not see it",
        "samples of a model m times as wide as its base are drawn as at temperature 1/m",
        "the same factor there",
        trained=False,
    )


ONE_RATE = (
    "at four times the width, a step moves what a matrix returns four times as much, so that each "
    "size needs a rate of its own",
    "for matrices that read the width a rate as 1/width, and a weight decay times the width",
)
ONE_SPREAD = (
    "standard deviation is 0.02 at every width, where one by fan-in falls as width^-1/2",
    "at four times the width, a matrix of a layer returns twice as much at the start",
    "for the layers' matrices a number for each width, as width^-1/2",
)
READOUT = (
    "the readout starts as width^-1/2",
    "at four times the width, the layers' updates do twice as much to the loss, even with the "
    "rates above",
    "as 1/width",
)
MUP = "19814971934ef91dd546f88e913fc963e096d11c"
GPT2, LLAMA = (
    f"src/transformers/models/{name}/configuration_{name}.py" for name in ("gpt2", "llama")
)
TIED, UNTIED = "src/transformers/models/gpt2/modeling_gpt2.py", "src/transformers/modeling_utils.py"
TRAINER = Line(
    "src/transformers/trainer.py",
    (1273,),
    "`Trainer` by default has one rate for all parameters. Its `optimizers=` takes any other",
    *ONE_RATE,
)
SIZES = "a configuration a size, each with a rate of its own"
RECIPES = {
    "nanochat": Recipe(
        "karpathy/nanochat",
        "92d63d4e8bb4df75c3b71618f31ddde2378b2bcd",
        "a family of sizes by `--depth`, whose width grows with the depth; rates tuned 768 wide",
        nanochat,
        (
            Line(
                "nanochat/gpt.py",
                (433, 440),
                "the embedding's rate falls as width^-1/2. muP has a constant. Where the "
                "vocabulary is large, as it is there and is not here, [Hayou & "
                "Liu](https://arxiv.org/abs/2506.15025) argue for the rule of this line",
                "at four times the width, a step moves the embedding half as much",
                "a constant rate",
            ),
            Line(
                "nanochat/gpt.py",
                (439,),
                "the readout's rate falls as width^-1/2",
                "at four times the width, a step of the readout moves the logits twice as much",
                "as 1/width, with a weight decay times the width",
            ),
            Line(
                "nanochat/gpt.py",
                (250, 441),
                "value embeddings start as width^-1/2, and so falls their rate",
                "at four times the width, they add half as much to attention's values",
                "both constant, as of every embedding",
            ),
            Line(
                "nanochat/optim.py",
                (159, 161),
                "an update gets the size of one of full rank, which a batch of fewer tokens than "
                "the width does not give. With the 32 tokens here the effect of attention's c_proj "
                "grows or cannot be told",
                "nothing: the batches that it trains on have more tokens than the width",
                "none is needed there; here the update's size is left as it is",
            ),
        ),
    ),
    "modded-nanogpt, track 3": Recipe(
        "KellerJordan/modded-nanogpt",
        "f411b3d346aa52d3504324ca93c230fd84c6c07f",
        "one width, 768, at which optimizers are compared; it claims no transfer",
        track_3,
        (
            Line(
                "records/track_3_optimization/train_gpt_simple.py",
                (288,),
                "the readout's rate is one number",
                "nothing at 768; at four times the width, a step of the readout moves the logits "
                "four times as much",
                "for other widths as 1/width, with a weight decay times the width",
            ),
        ),
    ),
    "nanoGPT-mup": Recipe(
        "EleutherAI/nanoGPT-mup",
        "b2a5e60948d2e11885dc76c1355af98705f54a70",
        "muP for widths, as a reference to read",
        nano_gpt_mup,
        (
            Line(
                "model.py",
                (319,),
                "hidden layers' rate falls as 1/width, and what a step's decay takes away is rate "
                "times decay, so that it fades as 1/width. Whether it should is an open question. "
                "Forward pass, initial values and rates are muP's",
                "at four times the width, a step's decay takes away a quarter as much",
                "divide the decay by the same factor, as the completep branch does in its line 349",
            ),
            sampled(225),
        ),
    ),
    "nanoGPT-mup, completep": Recipe(
        "EleutherAI/nanoGPT-mup",
        "6f8bc3bdc744556141255f810a22387b2255b6c1",
        "CompleteP for widths and depths, as a reference to read; here widths alone",
        complete_p,
        (sampled(232),),
    ),
    "mup, MLP": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, with MuSGD",
        mup_mlp,
    ),
    "mup, Transformer, MuAdam": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, at its readme's rate",
        mup_transformer("MuAdam", 0.01),
    ),
    "mup, Transformer, MuSGD": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, at its readme's rate",
        mup_transformer("MuSGD", 0.5),
    ),
    "mup, ResNet": Recipe(
        "microsoft/mup",
        MUP,
        "muP for widths, the example of its package, with MuSGD",
        mup_resnet,
    ),
    "lingua": Recipe(
        "facebookresearch/lingua",
        "437d680e521873bb5971067148a69587790da853",
        f"{SIZES}; it claims no transfer",
        lingua,
        (
            Line("lingua/optim.py", (153,), "all parameters have one rate", *ONE_RATE),
            Line(
                "apps/main/transformer.py",
                (124, 129),
                "the embedding starts as width^-1/2",
                "at four times the width, a token's embedding is half as large beside what layers "
                "add to it",
                "a constant start",
            ),
            Line("apps/main/transformer.py", (124, 137), *READOUT),
        ),
    ),
    "torchtitan, Llama 3": Recipe(
        "pytorch/torchtitan",
        "b5bcd76c66d0acb1a08b176d9639425bc55e0b2a",
        f"{SIZES}, less for larger ones; it claims no transfer",
        torchtitan,
        (
            Line(
                "torchtitan/components/optimizer/optimizer.py",
                (388, 391),
                "`default_adamw` has one rate for all parameters. Its `param_groups` would take "
                "others",
                *ONE_RATE,
            ),
            Line(
                "torchtitan/models/llama3/__init__.py",
                (46, 64),
                f"matrices' {ONE_SPREAD[0]}",
                *ONE_SPREAD[1:],
            ),
            Line("torchtitan/models/llama3/__init__.py", (55, 57), *READOUT),
        ),
        ("spmd_types==0.2.3", "tyro", "einops"),
    ),
    "transformers, GPT-2": Recipe(
        "huggingface/transformers",
        "",
        "a configuration a size; the rate is the user's; it claims no transfer",
        hugging_face("GPT2"),
        (
            TRAINER,
            Line(GPT2, (89,), f"by default matrices' {ONE_SPREAD[0]}", *ONE_SPREAD[1:]),
            Line(
                TIED,
                (695,),
                "the readout is the embedding, as GPT-2 has it, and its logits have no factor of "
                "the width",
                "at four times the width, logits are twice as large at the start, and a step moves "
                "them four times as much",
                "logits times base width / width",
            ),
        ),
    ),
    "transformers, Llama": Recipe(
        "huggingface/transformers",
        "",
        "a configuration a size; the rate is the user's; it claims no transfer",
        hugging_face("Llama"),
        (
            TRAINER,
            Line(LLAMA, (72,), f"by default matrices' {ONE_SPREAD[0]}", *ONE_SPREAD[1:]),
            Line(
                UNTIED,
                (2313,),
                "the readout starts with the spread of all other matrices",
                "at four times the width, logits are twice as large at the start, and the layers' "
                "updates do four times as much to the loss, even with the rates above",
                READOUT[2],
            ),
        ),
    ),
    **OTHERS,
}

MEGATRON = "https://github.com/NVIDIA/Megatron-LM/pull/3715"
NEOX = "https://github.com/EleutherAI/gpt-neox"
SLIPS = (
    Slip(
        "Megatron-LM, muP beside Muon",
        f"[NVIDIA/Megatron-LM#3715]({MEGATRON}) mended both, and is merged.",
        (
            Line(
                "",
                (),
                "With muP on, Adam's factor was put on Muon's matrices too",
                "at four times the width, an update of these matrices does a quarter as much",
                "the factor for Adam's tensors alone",
            ),
            Line(
                "",
                (),
                "Muon's default step was by sqrt(max(in, out))",
                "at four times the width, an update does twice as much",
                "a step by sqrt(out / in), which is the default since, where muP is on",
            ),
        ),
    ),
    Slip(
        "mup, MuAdam with a weight decay",
        '[microsoft/mup#73](https://github.com/microsoft/mup/pull/73) proposes a warning. "Doing a '
        'coord check will not indicate" it, says the thread, of the picture that mup draws.',
        (
            Line(
                "mup/optim.py",
                (79,),
                "with a weight decay, `MuAdam` is Adam, which adds the decay to gradients. They "
                "fall with the width, and what is added does not",
                "the wider the model, the more of a step is decay",
                "`MuAdamW`, which the package has",
            ),
        ),
        "microsoft/mup",
        MUP,
    ),
    Slip(
        "mup, tied embedding",
        "[microsoft/mup#55](https://github.com/microsoft/mup/issues/55) asks about it. The "
        "package's Transformer ties its embedding by an option, `--tied`, that is off by default.",
        (
            Line(
                "mup/layer.py",
                (51,),
                "a tied embedding is rescaled as a readout is",
                "at four times the width, the embedding starts twice as large",
                "leave a shared weight as it is",
            ),
        ),
        "microsoft/mup",
        MUP,
    ),
    Slip(
        "gpt-neox, a flag set late",
        f"[EleutherAI/gpt-neox#956]({NEOX}/issues/956) saw a plot that is not flat, and "
        f"[#1061]({NEOX}/pull/1061) says why.",
        (
            Line(
                "",
                (),
                "The model was built with muP off and the flag set after, so that rates alone were "
                "scaled",
                "with muP's rates, but not its factors, a step does more the wider the model",
                "the flag before the model is built",
            ),
        ),
    ),
)
