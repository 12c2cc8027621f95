"""The benchmark with SGD and momentum: what parametrizations lose need not be what they do under
AdamW."""

from figures.transfer import _drawing, _losses, shift
from figures.transfer._losses import reduce
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Reading,
    Test,
    above,
    trained_scales,
    within,
)
from repro.verdicts.figure import Figure
from repro.verdicts.power import Laws

WORKLOADS = {"mlp_sgd": "MLP", "resnet_sgd": "ResNet-18"}
STUDIES = tuple(f"transfer/{name}/{stage}" for name in WORKLOADS for stage in ("proxy", "wide"))
SOURCE = "Yang et al. (arXiv 2203.03466), Figure 3"
ANSWERS = (
    *(
        Test(
            id=f"sgd.sp-regret-{name.split('_')[0]}",
            kind=TRAINING,
            statement="sp-costs",
            column=f"{words}, SGD",
            quantity="regret by the grid of SP minus that of muP at the largest width, nats",
            expected=trained_scales(above(0)),
        )
        for name, words in WORKLOADS.items()
    ),
    *(
        Test(
            id=f"sgd.shift-mup-{name.split('_')[0]}",
            kind=TRAINING,
            statement="mup-stays",
            column=f"{words}, SGD",
            quantity="slope of log2 of the best rate against log2 of the width",
            expected=trained_scales(within(0, 0.25, TOLERANCE, shift.HALF_WAY)),
        )
        for name, words in WORKLOADS.items()
    ),
    *(
        Reading(
            id=f"sgd.lead-{name.split('_')[0]}",
            words="tuned loss of SP minus that of muP, nats",
            beside="0 if neither is ahead",
        )
        for name, words in WORKLOADS.items()
    ),
)
# Of SP's best rate, as a power of the width, where muP's stays. That SP's falls is what the regret
# comes from; an effect of the size on record would be none.
FALLS = {"SP as 1/n": -1.0, "SP as muP": 0.0}
REGRET = Laws("SP as 1/n", ("SP as muP",))
CONSTANT = Laws("constant", tuple(law for law in shift.SLOPES if law != "constant"))
LAWS = {
    claim.id: CONSTANT if "shift" in claim.id else REGRET
    for claim in ANSWERS
    if isinstance(claim, Test)
}


def measure(data, scale):
    found = {}
    for workload, losses in _losses.by_workload(data, WORKLOADS).items():
        name, wide = workload.split("_")[0], losses.widest
        tuned = {each: losses.tuned(each, wide) for each in ("SP", "muP")}
        found[f"sgd.sp-regret-{name}"] = _losses.of_regret(
            losses, losses.more_regret, "SP", "muP", detail=_losses.regrets(losses, *tuned)
        )
        found[f"sgd.shift-mup-{name}"] = _losses.slope_measurement(losses, "muP")
        found[f"sgd.lead-{name}"] = _losses.of_rates(
            losses,
            lambda rate, tuned=tuned: tuned["SP"] - tuned["muP"],
            "SP",
            "muP",
            detail=", ".join(f"{k} {v.mean():.4f}" for k, v in tuned.items()),
        )
    return found


def simulate(law, recorded, scale, rng):
    """Best rates of every parametrization as in `shift`; or SP's as a law has them and muP's the
    narrow model's."""
    if law not in FALLS:
        return shift.simulate(law, recorded, scale, rng)
    return shift.moved(recorded, rng, lambda name: FALLS[law] if name == "SP" else 0.0)


def draw(data, scale):
    workloads = _losses.by_workload(data, WORKLOADS)
    return _drawing.draw_optimizer({WORKLOADS[k]: losses for k, losses in workloads.items()})


FIGURE = Figure(
    title="Tuned narrow, trained wide, with SGD",
    outcome=(
        "With SGD the tuned loss of SP is {sgd.lead-mlp} nats (MLP) and {sgd.lead-resnet} nats "
        "(ResNet-18) above that of muP"
    ),
    caption=(
        "SGD with momentum 0.9, a row a workload. Left, middle: final training loss, on data seen "
        "once, against the learning rate under SP and muP, a colour a width; mean and range (band) "
        "over seeds; dotted: the rate that is best for the narrow model, which is the same model "
        "under both; rings: each width's own best rate. Losses far above the best are cut off. "
        "Right: the share of what the largest width gains that is lost at the narrow model's rate; "
        "dark: regret by the grid, what retuning would win back; pale: penalty, the tuned loss "
        "above that of the better parametrization; bars: 95 % interval over seeds and over the "
        "rates that would have been chosen without each of the narrow model's."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
