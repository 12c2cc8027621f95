"""muP as Hayou & Liu (Table 1) and Ma et al. (Table 2), whose multiplier is in the init here."""

from widthwise.parametrization.rules import DEGREE, ONE, Power, Rule

NAME = "muP"
# Factor on the logits of a readout that is the embedding transposed: one tensor, which has the
# embedding's row. With this factor that row is the readout's too (`muP-multiplier`; Ma et al.,
# Table 2, output multiplier).
TIED = Power(n_in=-1)
# Logits of attention are means, q.k / head_dim: queries and keys correlate once trained (Yang et
# al., arXiv 2203.03466, Definition 4.1), and the programs of Ma et al. (Theorem 2.5) average over
# every width.
ATTENTION = Power(n_in=-1 / 2)


def rules(family: str) -> dict[str, Rule]:
    """The rows of the table; q is the degree of the update in the gradient."""
    q = DEGREE[family]

    def rule(init: Power) -> Rule:
        return Rule(
            init=init,
            lr=Power(n_in=-1, n_out=q),
            weight_decay=Power(n_in=1, n_out=-q),
            coupled_weight_decay=Power(n_in=1, n_out=-1),
            eps=Power(n_out=-1),
        )

    return {
        "embedding": rule(ONE),
        "hidden": rule(ONE),
        "output": rule(Power(n_in=-1 / 2)),  # variance d^-2 = fan_in^-1 * d^-1
        "vector": rule(ONE),
        "scalar": rule(ONE),
    }
