"""Table 3: the pretrained decoder, and how many parameters it has."""

from repro.verdicts.answers import Reading, exact
from repro.verdicts.figure import Data, Figure, Measured, Runs
from repro.verdicts.typeset import Table

STUDY = "embedding_lr/llm_parameters"
ANSWERS = (
    Reading(
        id="table3.parameters",
        words="parameters of the model as printed",
        beside="about 1 billion, says the paper",
    ),
)
PRINTED = (
    ("vocab_size", "32064"),
    ("n_position", "4096"),
    ("n_layers", "24"),
    ("n_embed", "2048"),
    ("normalization", "LayerNorm"),
    ("window_size", "2048"),
    ("n_head", "32"),
    ("n_kv_head", "8"),
    ("head_dim", "128"),
    ("rotary_dim", "128"),
    ("activation", "SwiGLU"),
    ("inner_dim", "8192"),
)
GROUPS = {
    "embedding": "embedding",
    "q": "query (2048 to 32 x 128 = 4096)",
    "kv": "key, value (2048 to 2 x 8 x 128)",
    "attention.out": "attention's output (4096 to 2048)",
    "mlp": "SwiGLU: gate, up, down",
    "norm": "LayerNorm's gains and biases",
    "output": "output, untied",
}


def group(parameter):
    """Which of GROUPS a parameter belongs to."""
    first, *rest = parameter.split(".")
    if "norm" in first:
        return "norm"
    if first == "attention":
        return {"q": "q", "kv": "kv", "out": "attention.out"}[rest[1]]
    return first


def reduce(runs: Runs) -> Data:
    return runs[STUDY]


def measure(data: Data, scale: str) -> Measured:
    counted = data.groupby(data["parameter"].map(group))["count"].sum()
    total, ends = float(counted.sum()), counted["embedding"] + counted["output"]
    narrow = total - counted["mlp"] / 2
    detail = (
        f"{total:,.0f}, of which {ends:,} in the embedding and the output; {narrow:,.0f} if the "
        "inner dimension counts SwiGLU's gate and up projection together"
    )
    return {"table3.parameters": exact(total, detail=detail)}


def table(data: Data, scale: str) -> Table:
    counted = data.groupby(data["parameter"].map(group))["count"].sum()
    rows = [(name, printed, "") for name, printed in PRINTED]
    rows += [(words, "", f"{counted[name]:,}") for name, words in GROUPS.items()]
    rows.append(("all parameters", "", f"{counted.sum():,}"))
    return Table(
        ["hyperparameter, or part of the model", "as printed", "parameters built, 24 layers"], rows
    )


FIGURE = Figure(
    title="Table 3. The pretrained decoder and its parameters",
    outcome="The model as printed has {table3.parameters} parameters",
    caption=(
        "The configuration as printed; below it, how many parameters the model built from it has "
        "(Hayou & Liu, Table 3)."
    ),
    studies=(STUDY,),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
)
