"""Models over shared blocks; each names the role of every one of its parameters.

mlp.py               the multi-layer perceptron of Ma et al.
resnet.py            their ResNet-18 for 32x32 images
gpt2.py              their GPT-2, whose head dimension grows
decoder.py           the decoder of Hayou & Liu's Appendix C
residual_decoder.py  the same, with a factor on its residual branches
llm.py               their pretrained decoder
vit.py               the Vision Transformer of Dinan, Yaida & Zhang
tied_encoder.py      their language encoder with a tied head
bart.py              their BART and R2C2
gru.py               a recurrent language model
blocks.py            Transformer blocks
readout.py           what a multiplier of a readout acts on
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from repro.errors import UserError
from widthwise.parametrization import (
    ONE,
    Role,
    attention_multiplier,
    output_multiplier,
    plan,
    recipe,
    tied_multiplier,
    with_inits,
)


class Model(Protocol):
    """What the class of an `Architecture` must define, besides being a torch.nn.Module.

    Its constructor takes keywords without defaults: `width` and `base_width`, `output_multiplier`
    (the factor on the logits), and whatever else `model` in a study's spec is to say. It draws
    nothing: `Plan.init_` of `widthwise` draws every parameter that has an init, and what
    has none (biases, gains) the constructor sets itself.
    """

    def roles(self) -> Mapping[str, Role]:
        """The role of each parameter, by its name; `check_roles` raises unless all have one."""


@dataclass(frozen=True)
class Architecture:
    """A model's class, and what a parametrization must know of it before torch is imported.

    class_name: in the module `repro.models.<name>`.
    tied: the readout is the embedding transposed, whose multiplier is `tied_multiplier`.
    head_dim_grows: the heads are as many at every width. The constructor then also takes
        `attention_multiplier`, the factor on attention's logits head_dim^-1/2 q.k.
    """

    class_name: str
    tied: bool = False
    head_dim_grows: bool = False


def _said() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name -> what a file says of its model in literals: ARCHITECTURE, the arguments of one, and
    TINY, a tiny run (`tests/tiny.py`). They are read off the source, for the file loads torch.
    """
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        found = {}
        for node in ast.parse(path.read_text("utf-8")).body:
            if not isinstance(node, ast.Assign):
                continue
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id in ("ARCHITECTURE", "TINY"):
                found[target.id] = _literal(path.stem, target.id, node.value)
        if "ARCHITECTURE" in found:
            yield path.stem, found


def _literal(name: str, what: str, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise UserError(
            f"repro/models/{name}.py, line {node.lineno}: {what} is read without carrying the file "
            "out; write numbers, texts, lists and mappings of them"
        ) from None


SAID = dict(_said())
ARCHITECTURES = {name: Architecture(**said["ARCHITECTURE"]) for name, said in SAID.items()}


def multipliers(settings: Mapping, parametrization: str) -> dict[str, float]:
    """The multipliers that a parametrization gives a model, by their names in its constructor."""
    architecture = ARCHITECTURES[settings["name"]]
    for kind, rule in recipe(parametrization).rules.items():
        if kind != "output" and rule.multiplier != ONE:
            raise UserError(
                f"{parametrization}: has a factor on the output of a {kind}, for which the suite's "
                "models have no place: give the init and the rates that are the same"
            )
        if rule.init is None:
            raise UserError(f"{parametrization}: draws nothing, nor do the suite's models")
    ratio = settings["width"] / settings["base_width"]
    readout = tied_multiplier if architecture.tied else output_multiplier
    found = {"output_multiplier": readout(parametrization, ratio)}
    if architecture.head_dim_grows:
        found["attention_multiplier"] = attention_multiplier(parametrization, ratio)
    return found


def build(settings: Mapping, parametrization: str, **more):
    """The model that a spec's settings describe, its parameters not drawn yet (`draw`).

    settings: `name`, one of ARCHITECTURES, and the arguments of its class. more: the arguments that
    follow from the data (vocab_size, sequence_length). Readout and attention get the multipliers
    that `parametrization` says.
    """
    name = settings["name"]
    kind = getattr(import_module(f"repro.models.{name}"), ARCHITECTURES[name].class_name)
    arguments = {key: value for key, value in settings.items() if key != "name"}
    return kind(**arguments, **multipliers(settings, parametrization), **more)


def draw(
    model, parametrization: str, seed: int, init: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Draw a model's initial parameters, on the device they are on.

    parametrization: the one whose init every role takes, but for the kinds of role in `init`, which
    have the init of the parametrization that it names.
    """
    from repro import backend

    generator = backend.generator(next(model.parameters()).device, seed)
    plan(model, None, with_inits(parametrization, init)).init_(generator)
