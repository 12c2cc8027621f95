"""The words of parametrizations: role of a parameter x (init, lr, weight decay, eps, multiplier).

The tables themselves are files of `tables/`. Every entry is a power of the role's widths, so a
table there can be held beside the paper's.
Widths are relative to a base width, at which the parametrization equals the standard one; the
tables as the papers print them have base width 1.

Sources: Hayou & Liu (arXiv 2506.15025), Tables 1 and 2; the columns those tables leave out
(SGD, weight decay, eps) follow Ma et al. (arXiv 2602.10545), Table 2. The s-family is Dinan, Yaida
& Zhang's (arXiv 2304.02034), equations 1.99 to 1.116.
"""

import math
from dataclasses import dataclass

from widthwise.identity import named

KINDS = ("embedding", "hidden", "output", "vector", "scalar")
# What reads a width and writes none, within a network, as key-value heads held fixed, routers, maps
# of low rank, is the readout of what lies before it: what it writes is as a network's output, whose
# gradient is of size 1 once what reads it has learned. By a readout's start, 1/n, it reaches the
# width as 1/n, and what is random of it falls as n^-1/2, attention's logits too. By a hidden
# layer's, n^-1/2, it reaches it as n^-1/2, beside the 1/n of all else: Adam's signs follow it, and
# what is projected moves by n * n^-1/2 (tests/checks/test_bottleneck.py, docs/library.md). That
# start, with a readout's rate, is the kind here, for `given=`; no table has a row of it, and a
# recipe takes the hidden one, whose powers of the outputs are 1.
BOTTLENECK = "bottleneck"
# Degree q of the update in the gradient: an update homogeneous of degree q scales as |g|^q.
DEGREE = {"sgd": 1, "adam": 0}


@dataclass(frozen=True)
class Role:
    """What a parameter is to its model: its kind, by which of its axes grow with the width.

    kind        axes that grow   which parameters
    embedding   output           every input layer: embeddings of words and positions, an MLP's
                                 first layer, a ViT's patches, a ResNet's stem ("input-like" in mup)
    hidden      input, output    matrices and convolutions between two widths
    output      input            the readout; within the network too, as a router
    bottleneck  input            by `given=` alone: a readout within that starts as a hidden layer
    vector      output           biases and gains of anything that grows
    scalar      none             the readout's bias

    fan_in: number of inputs summed over, in_features of a linear layer of shape (out_features,
        in_features), in_channels * height * width of a kernel; 1 for vectors, scalars, and tables
        that are looked up.
    fan_out: number of outputs, for the rules that depend on it.
    width_in, width_out: width over base width along each of these axes, 1 where it does not grow.
    depth: number of layers over that at the base depth, of what lies in a layer of a stack; else 1.
    std: the standard init std if it is not the one of the kind (`standard_std`); 0 starts at zero.
        A vector or scalar without one is not drawn: its values are the model's (a gain's 1, a
        bias' 0). A bias as torch draws it shrinks with its layer's fan_in; muP keeps the spread
        that it has at the base width (Ma et al., Table 2; the mup package): state that one here.
    distribution: the law it is drawn from, "normal" or "uniform".
    own: the exponent of the width (read, or written where none is read) in a factor that the model
        has on it itself, as 1/sqrt(fan_in) in a layer's forward; `Recipe.rule` takes it off.
    placed: whether `make` places its values, which are no draws, at every width.
    """

    kind: str
    fan_in: int = 1
    width_in: float = 1.0
    width_out: float = 1.0
    std: float | None = None
    fan_out: int = 1
    distribution: str = "normal"
    depth: float = 1.0
    own: float = 0.0
    placed: bool = False

    @property
    def factor(self) -> "Power":
        """The factor that the model has on it itself."""
        reads = self.kind not in ("embedding", "vector")
        return Power(n_in=self.own) if reads else Power(n_out=self.own)

    @property
    def drawn(self) -> bool:
        """Whether `initialize` draws it, rather than the model."""
        drawn = self.std is not None or self.kind not in ("vector", "scalar")
        return drawn and not self.placed

    @property
    def squared_norm_factor(self) -> float:
        """Factor on a gradient's squared norm that makes it independent of width.

        Widening by k divides a vector's k-fold repeated gradient by k, a matrix' by k_out
        (Ma et al., Appendix D), so its squared norm changes by 1/k, and by k_in / k_out.
        """
        if self.kind == "hidden":
            return self.width_out / self.width_in
        return self.width_in * self.width_out


@dataclass(frozen=True)
class Power:
    """width_in^n_in * width_out^n_out * fan_in^fan_in * fan_out^fan_out * depth^depth."""

    n_in: float = 0.0
    n_out: float = 0.0
    fan_in: float = 0.0
    fan_out: float = 0.0
    depth: float = 0.0

    def __str__(self) -> str:
        names = {"in": self.n_in, "out": self.n_out, "fan_in": self.fan_in, "fan_out": self.fan_out}
        names["depth"] = self.depth
        return " ".join(format_power(n, name) for name, n in names.items() if n) or "1"

    def __call__(self, role: Role) -> float:
        widths = role.width_in**self.n_in * role.width_out**self.n_out
        result = widths * role.fan_in**self.fan_in * role.fan_out**self.fan_out
        return result * role.depth**self.depth

    def times(self, other: "Power", power: float = 1.0) -> "Power":
        """Its product with a power of another."""
        mine, others = vars(self), vars(other)
        return Power(**{key: mine[key] + power * others[key] for key in mine})

    @property
    def inverse(self) -> "Power":
        """Its reciprocal."""
        return Power(-self.n_in, -self.n_out, -self.fan_in, -self.fan_out, -self.depth)

    @property
    def exponent(self) -> float:
        """Exponent of d where both widths are d."""
        return self.n_in + self.n_out


ONE = Power()


@dataclass(frozen=True)
class Rule:
    """A kind's row of the table of one parametrization, for one optimizer family.

    init: factor on the standard init std (`standard_std`) of what is drawn (`Role.drawn`); None:
        values stay as the model is made.
    lr, weight_decay (decoupled, as AdamW's), coupled_weight_decay (added to the gradient, as SGD's
    and Adam's), eps (Adam's): factors on the constants that are tuned.
    multiplier: factor on the layer's output.
    Every optimizer family has the same init and multiplier.
    """

    init: Power | None
    lr: Power
    weight_decay: Power = ONE
    coupled_weight_decay: Power = ONE
    eps: Power = ONE
    multiplier: Power = ONE

    def with_layer_factor(self, factor: Power, degree: float) -> "Rule":
        """The row of the same parameter where its layer has a factor: the same function, before and
        after each step (Ma et al., Proposition C.10); degree: of the update in the gradient."""
        return Rule(
            self.init and self.init.times(factor, -1),
            self.lr.times(factor, -1 - degree),
            self.weight_decay.times(factor, 1 + degree),
            self.coupled_weight_decay.times(factor, 2),
            self.eps.times(factor),
            self.multiplier,
        )


def standard_std(role: Role) -> float:
    """The standard init std: 1 for embeddings, fan_in^-1/2 for matrices (Table 2, SP)."""
    if role.std is not None:
        return role.std
    return 1.0 if role.kind == "embedding" else role.fan_in**-0.5


def check_roles(model) -> dict[str, Role]:
    """The model's roles; raises ValueError unless they name each of its parameters once."""
    roles = model.roles()
    names = {name for name, _ in named(model)}
    if names != set(roles):
        raise ValueError(
            f"parameters without a role: {sorted(names - set(roles))}; "
            f"roles without a parameter: {sorted(set(roles) - names)}"
        )
    for name, role in roles.items():
        if role.kind not in (*KINDS, BOTTLENECK):
            raise ValueError(f"{name}: unknown role {role.kind!r}")
    return roles


def init_std(role: Role, rule: Rule) -> float:
    """Initial standard deviation of a parameter; raises ValueError where the model sets it."""
    if not role.drawn or rule.init is None:
        raise ValueError(f"{role.kind}: no init is stated, the model sets the values itself")
    return standard_std(role) * rule.init(role)


def check_groups(model, groups) -> None:
    """Raise ValueError unless the groups hold each of the model's parameters exactly once."""
    grouped = [id(parameter) for group in groups for parameter in group["params"]]
    missing = [name for name, p in model.named_parameters() if grouped.count(id(p)) != 1]
    if missing or len(grouped) != len(list(model.parameters())):
        raise ValueError(f"parameters not in exactly one optimizer group: {missing}")


def format_power(exponent: float, d: str = "d") -> str:
    """`d^-1/2`, `1`, ... as the papers print it."""
    if exponent == 0:
        return "1"
    half = exponent * 2
    if not math.isclose(half, round(half)):
        return f"{d}^{exponent:g}"
    half = round(half)
    return f"{d}^{half // 2}" if half % 2 == 0 else f"{d}^{half}/2"
