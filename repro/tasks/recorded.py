"""What the records of a run hold, which a task declares as it declares its cost. No torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WORD = str  # stands for every text
INFINITE = ("inf", "-inf", "nan")  # numbers that JSON has not, as a cell has them


@dataclass(frozen=True)
class Number:
    """A number from low to high. whole: an integer, finite as all are; any other may be infinite
    where a run diverged. nan: whether it may be no number."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    nan: bool = True


NUMBER, COUNT = Number(), Number(0, whole=True)
SIZE = LOSS = Number(0)  # a cross entropy, too, is never below 0
SHARE, PERPLEXITY = Number(0, 1), Number(1)


@dataclass(frozen=True)
class Records:
    """The records of one run.

    columns: name -> what is in each of them: WORD, a Number, a tuple of one and None, `[form]` of a
        list, `{WORD: form}` of a mapping.
    by: no two agree in all of these.
    evaluated: further ones, which a record lacks once its run has diverged.
    some: further ones, which a record may lack.
    count: the setting that says how many there are; "" where only the run says it.
    """

    columns: Mapping[str, Any]
    by: Sequence[str] = ("step",)
    evaluated: Mapping[str, Any] = field(default_factory=dict)
    some: Mapping[str, Any] = field(default_factory=dict)
    count: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Of all that may be in a record; a study's axes have others."""
        return frozenset({*self.columns, *self.evaluated, *self.some})

    def misfit(self, records: Sequence[Mapping], spec: Mapping) -> str:
        """Where records of a run, as in a cell, are none of its task, in words; "" where they are.
        spec: the run's settings."""
        wanted = spec[self.count] if self.count else len(records)
        if len(records) != wanted:
            return f"has {len(records)} records, {wanted} of {self.count} belong there"
        if {*map(_point(self.by), records)} and len({*map(_point(self.by), records)}) < len(
            records
        ):
            return f"has two records of one {' and '.join(self.by)}"
        forms = {**self.columns, **self.evaluated, **self.some}
        for number, record in enumerate(records):
            lost = record.get("train_loss") in INFINITE
            needed = self.columns if lost else {**self.columns, **self.evaluated}
            if lacking := [name for name in needed if name not in record]:
                return f"record {number} lacks {lacking[0]!r}"
            for name, value in record.items():
                if name not in forms:
                    return f"record {number} has {name!r}, which its task does not record"
                if not _fits(value, forms[name]):
                    return f"record {number} has {name!r}: {value!a:.60}, which it cannot be"
        return ""


def _point(by: Sequence[str]):
    return lambda record: tuple(str(record.get(name)) for name in by)


def _fits(value: object, form: Any) -> bool:
    if isinstance(form, tuple):
        return any(_fits(value, each) for each in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(each, form[0]) for each in value)
    if isinstance(form, dict):
        return isinstance(value, Mapping) and all(_fits(v, form[WORD]) for v in value.values())
    if form is None or form is WORD:
        return value is None if form is None else isinstance(value, str) and value not in INFINITE
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    if form.whole or (isinstance(value, str) and value not in INFINITE):
        return isinstance(value, int) and form.low <= value <= form.high
    number = float(value)
    return form.nan if math.isnan(number) else form.low <= number <= form.high


# Of every run that trains: after each evaluation, the mean loss since the last one. skipped: steps
# that overflowed float16.
TRAINED = {"step": COUNT, "train_loss": Number(0, nan=False)}
HELD_OUT = {"valid_loss": LOSS, "valid_accuracy": SHARE}


def trained(
    further: Mapping[str, Any], evaluated: Mapping[str, Any], some: Mapping[str, Any]
) -> Records:
    """The records of a task that trains."""
    some = {"skipped": COUNT, **some}
    return Records({**TRAINED, **further}, ("step",), evaluated, some, count="evaluations")


def _named(*columns: str, form: Any = SIZE) -> dict[str, Any]:
    return dict.fromkeys(columns, form)


_RATES = _named("lr", "weight_decay")
_OPTIONAL = (NUMBER, None)
LANGUAGE_MODEL = trained({"vocab_reached": COUNT}, {}, {})
PRETRAINING = trained(
    {"ratio": SIZE, "tokens": COUNT, "train_perplexity": PERPLEXITY}
    | {"valid_perplexity": PERPLEXITY},
    {},
    {"word_perplexity": PERPLEXITY, "words_split": WORD},
)
WARM_START = trained({}, HELD_OUT, {"outside": SIZE, "inside": SIZE, "noise": {WORD: NUMBER}})
TRANSFER = trained({"chance": LOSS}, {}, {})
IMAGE_CLASSIFICATION = trained({}, {**HELD_OUT, "lowest_error": SHARE}, {})
SPAN_DENOISING = trained(
    _named("valid_loss", "lowest_valid_loss", "train_bits", "valid_bits"), {}, {}
)
UPDATE_SIZES = trained({}, _named("output_change", "hidden_change", "output", "hidden"), {})
PARAMETER_TABLE = Records(
    {"parameter": WORD, "kind": WORD, "count": COUNT, **_RATES},
    ("parameter",),
    some={"init_std": SIZE},
)
TOKEN_FREQUENCIES = Records(
    _named("rank", "count", "tokens", "types_used", "vocab_reached", form=COUNT), ("rank",)
)
DECODER_SIGN_STEP = Records(
    {"layer": WORD, **_named("change", "along_residual", "loss"), "vocab_reached": COUNT},
    ("layer",),
)
SIGN_SGD_STEP = Records(
    {"quantity": WORD, "ranks": WORD, **_named("measured", "predicted", "ratio")},
    ("quantity", "ranks"),
)
PARAMETRIZATION_EXPONENTS = Records(
    {"parameter": WORD, "kind": WORD, "init_variance": SIZE, "lr": SIZE}, ("parameter",)
)
WIDTH_SCALINGS = Records(
    {"optimizer": WORD, "parameter": WORD, "init_variance": SIZE, "multiplier": SIZE}
    | {**_RATES, **_named("widened_weight", "widened_lr", "widened_weight_decay", form=NUMBER)},
    ("optimizer", "parameter"),
    some=_named("eps", "widened_eps"),
)
DYNAMIC_EQUIVALENCE = Records({"step": COUNT, "difference": SIZE})
EQUAL_RUNS = Records(TRAINED, count="steps")
OWN_EQUIVALENCE = Records({"step": COUNT, "difference": SIZE}, count="steps")
TRAINING_COSTS = Records(
    {"name": WORD, **_named("computed", "recounted", "printed"), "unit": WORD}, ("name",)
)
DEEP_LINEAR = Records(
    {"step": COUNT, "phase": WORD}
    | _named("mean", "limit", "limit_alone", "gap", form=NUMBER)
    | _named("spread", "rms", "gap_rms", "gap_max")
)
BEST_RATE = Records({"draw": COUNT, "rate": SIZE, "limit": NUMBER}, ("draw",), count="draws")
TRANSFORMER_KERNELS = Records(
    {"quantity": WORD, "block": COUNT, "mean": [NUMBER], "expected": [NUMBER]}
    | {"accuracy": _OPTIONAL},
    ("quantity", "block"),
)
TANGENT_KERNELS = Records(
    {"block": COUNT, "part": WORD}
    | _named("diagonal", "off", "normalized", form=NUMBER)
    | _named("diagonal_expected", "off_expected", form=_OPTIONAL)
    | _named("sgd", "adam"),
    ("block", "part"),
)
