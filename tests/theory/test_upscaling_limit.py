import numpy as np
import pandas as pd
import pytest
import torch
from judged import of_figure, statuses
from refusals import refused

from repro.tasks import deep_linear
from repro.theory import upscaling_limit as theory

pytestmark = pytest.mark.usefixtures("measured_alone")
BASE = {"x": 1.3, "target": 0.9, "sigma": 0.8, "lr": 0.12}
STEPS = {"steps_before": 5, "steps_after": 4}
NOISE = {
    3: {"A": 0.5, "B": 0.6, "C": 0.7},
    4: {"A": 0.7, "B": 0.5, "C": 0.6, "D": 0.4},
}
LAYERS = pytest.mark.parametrize("layers", [3, 4])


def limit(layers, noise, lr_up, factor=2, **changes):
    return theory.limit(layers, factor=factor, noise=noise, lr_up=lr_up, **(BASE | STEPS | changes))


def narrow(layers, steps):
    return theory.continued(layers, steps=steps, **BASE)


def run(layers, **changes):
    spec = {
        "layers": layers,
        "width": 128,
        "factor": 2,
        "noise": NOISE[layers],
        "lr_up": 0.09,
        "draws": 600,
        "updates": "products",
        "threads": 1,
        "seed": 0,
    }
    context = {"inputs": {}, "device": "cpu", "progress": None, "checkpoint": None}
    return pd.DataFrame(deep_linear.run(**(spec | BASE | STEPS | changes), **context))


def autograd(weights, steps, lr):
    """y_t of one network by torch's own gradients, descending in place on the hidden matrices."""
    output, *hidden, first = weights
    found = []
    for _ in range(steps + 1):
        for matrix in hidden:
            matrix.requires_grad_()
        h = BASE["x"] * first
        for matrix in reversed(hidden):
            h = matrix @ h
        y = output @ h / len(output)
        found.append(y.item())
        if len(found) > steps:
            return found
        gradients = torch.autograd.grad((y - BASE["target"]) ** 2 / 2, hidden)
        with torch.no_grad():
            hidden = [m - lr * g for m, g in zip(hidden, gradients, strict=True)]
            weights[1:-1] = hidden


def upscaled_by_definition(weights, noise, factor, lr_up):
    """Section E.3 to the letter for one network: Table 1's widening, then noise, then training."""
    weights = list(weights)
    before = autograd(weights, STEPS["steps_before"] - 1, BASE["lr"])
    ones = torch.ones(factor, 1, dtype=torch.float64)
    wide = []
    for w, delta in zip(weights, noise, strict=True):
        w = w.detach()
        copies = (
            torch.kron(w, ones @ ones.T) / factor if w.dim() == 2 else torch.kron(w, ones[:, 0])
        )
        wide.append(copies + delta)
    return before + autograd(wide, STEPS["steps_after"], lr_up)


@LAYERS
@pytest.mark.parametrize("factor", [2, 3])
def test_products_are_the_matrices_and_both_are_autograd(layers, factor):
    generator = torch.Generator().manual_seed(0)
    constants = dict.fromkeys(NOISE[layers], BASE["sigma"])
    weights = deep_linear.gaussians(constants, 7, 3, generator, torch.float64)
    noise = deep_linear.gaussians(NOISE[layers], 7 * factor, 3, generator, torch.float64)
    kept = {name: tensor.clone() for name, tensor in weights.items()}
    settings = {k: v for k, v in (BASE | STEPS).items() if k != "sigma"} | {"lr_up": 0.09}
    y, alone = deep_linear.by_matrices(weights, noise, factor=factor, **settings)
    again, alone_again = deep_linear.by_products(weights, noise, factor=factor, **settings)
    assert all(torch.equal(weights[name], kept[name]) for name in weights)
    assert torch.allclose(again, y, rtol=0, atol=1e-10)
    assert torch.allclose(alone_again, alone, rtol=0, atol=1e-10)
    for i in range(3):
        of_one = [[t[i] for t in group.values()] for group in (weights, noise)]
        found = upscaled_by_definition(*of_one, factor, 0.09)
        assert y[i].tolist() == pytest.approx(found, abs=1e-10)
        steps = STEPS["steps_before"] + STEPS["steps_after"] - 1
        found = autograd([t[i] for t in weights.values()], steps, BASE["lr"])
        assert alone[i].tolist() == pytest.approx(found, abs=1e-10)
    assert (y - alone[:, [0, 1, 2, 3, 4, 4, 5, 6, 7, 8]]).abs().max() > 0.1


@LAYERS
def test_monte_carlo_finds_the_closed_forms(layers):
    """Within four standard errors and a bias that falls as 1/n."""
    found = run(layers)
    allowed = 4 * found["spread"] / np.sqrt(600) + 2 / 128
    assert (abs(found["mean"] - found["limit"]) < allowed).all()
    assert allowed.max() < 0.045
    assert found["limit"].tolist() == limit(layers, NOISE[layers], 0.09).tolist()

    T = STEPS["steps_before"]
    wrong = narrow(layers, T + 1)[T]
    assert abs(found["mean"][T] - wrong) > allowed[T], "upscaling replaces a step"
    quiet = limit(layers, dict.fromkeys(NOISE[layers], 0.0), 0.09)
    assert abs(found["mean"].iloc[-1] - quiet[-1]) > 3 * allowed.iloc[-1]


def test_monte_carlo_finds_the_terms_that_fall_with_the_factor():
    """The k^-1 of equation 30 and 2', where widening by 1 and by very much differ most."""
    noise = {"A": 1.0, "B": 0.0, "C": 0.0, "D": 1.0}
    settings = {"factor": 1, "noise": noise, "lr_up": 0.06, "width": 256, "draws": 300}
    found = run(4, **settings).iloc[-1]
    allowed = 4 * found["spread"] / np.sqrt(300) + 2 / 256
    assert abs(found["mean"] - limit(4, noise, 0.06, factor=1)[-1]) < allowed
    assert abs(found["mean"] - limit(4, noise, 0.06, factor=10**9)[-1]) > 2 * allowed


@LAYERS
def test_deviations_fall_as_the_root_of_the_width(layers):
    small, large = run(layers, width=32), run(layers, width=128)
    assert np.sqrt(32 / 128) == pytest.approx((large["rms"] / small["rms"]).iloc[-1], rel=0.2)


def test_the_rule_of_e_3_keeps_the_limit():
    for noise in (NOISE[3], {"A": 0.0, "B": 2.0, "C": 0.0}):
        lr_up = theory.equal_dynamics_lr(3, sigma=BASE["sigma"], lr=BASE["lr"], noise=noise)
        assert limit(3, noise, lr_up)[5:] == pytest.approx(narrow(3, 9)[4:], abs=1e-14)
    assert lr_up == pytest.approx(BASE["lr"]), "noise on B alone changes nothing"
    assert abs(limit(3, NOISE[3], BASE["lr"])[-1] - narrow(3, 9)[-1]) > 0.05


def test_four_layers_without_noise_go_on_one_step_late():
    quiet = dict.fromkeys("ABCD", 0.0)
    assert limit(4, quiet, BASE["lr"])[5:] == pytest.approx(narrow(4, 9)[4:], abs=1e-14)
    for name in "ABCD":
        changed = limit(4, quiet | {name: 0.5}, BASE["lr"])
        assert changed[5] == pytest.approx(narrow(4, 9)[4]), "noise alone moves no output"
        assert abs(changed[-1] - narrow(4, 9)[-1]) > 0.005


def test_e_4_s_condition_on_the_product_is_not_enough():
    """A slip: equation 29's sums equal equation 27's only if gamma_up (s^2 + s_D^2) = gamma s^2."""
    T, slopes = 5, -np.linspace(1, 0.4, 9)

    def off(noise, lr_up):
        after = {"x": BASE["x"], "sigma": BASE["sigma"], "lr": BASE["lr"], "lr_up": lr_up}
        M, N, M_up, N_up = theory.hidden_after(slopes, T, noise=noise, **after)
        del after["lr_up"]
        M_alone, N_alone = theory.hidden_before(np.delete(slopes, T - 1), **after)
        return [
            np.abs(M[T:] + M_up[T:] - M_alone[T - 1 :]).max(),
            np.abs(N[T:] + N_up[T:] - N_alone[T - 1 :]).max(),
        ]

    rates = {"sigma": BASE["sigma"], "lr": BASE["lr"]}
    product = theory.equal_dynamics_lr(4, noise=NOISE[4], **rates)
    assert min(off(NOISE[4], product)) > 0.01
    same = NOISE[4] | {"A": 0.6, "D": 0.6}
    both = theory.equal_dynamics_lr(4, noise=same, **rates)
    sigma, lr = BASE["sigma"], BASE["lr"]
    assert both * (sigma**2 + same["D"] ** 2) == pytest.approx(lr * sigma**2)
    assert max(off(same, both)) < 1e-14

    outer = same | {"B": 0.0, "C": 0.0}
    assert abs(limit(4, outer, both)[-1] - narrow(4, 9)[-1]) > 0.01, "the terms with 1/k remain"
    without = limit(4, outer, both, factor=10**12)
    assert without[5:] == pytest.approx(narrow(4, 9)[4:], abs=1e-11)


def test_four_layers_read_backwards_are_the_same_network():
    """With x = 1, A B C D and its transpose learn alike, whichever end the noise is on."""
    turned = dict(zip("DCBA", NOISE[4].values(), strict=True))
    one = limit(4, NOISE[4], 0.09, x=1.0)
    assert one == pytest.approx(limit(4, turned, 0.09, x=1.0), abs=1e-14)


def test_the_first_step_is_the_tangent_kernel():
    """One trained matrix has x^2 sigma^4; two have x^2 sigma^6 each."""
    x, sigma = BASE["x"], BASE["sigma"]
    step = BASE["lr"] * BASE["target"] * x**2
    assert narrow(3, 2) == pytest.approx([0, step * sigma**4])
    assert narrow(4, 2) == pytest.approx([0, 2 * step * sigma**6])


@LAYERS
def test_without_noise_the_trained_matrices_stay_repeated(layers):
    quiet = dict.fromkeys(NOISE[layers], 0.0)
    same = {"noise": quiet, "lr_up": BASE["lr"], "width": 16, "draws": 20}
    found = run(layers, updates="matrices", **same)
    assert found["gap_max"].max() < 1e-14
    assert found["limit"].tolist() == pytest.approx(found["limit_alone"].tolist())
    assert run(layers, **(same | {"lr_up": 0.2}))["gap_max"].max() > 0.05


def test_runs_that_differ_in_noise_start_from_the_same_networks():
    loud, quiet = run(3, draws=10), run(3, draws=10, noise=NOISE[3] | {"C": 0.0})
    assert loud["mean"][:5].tolist() == quiet["mean"][:5].tolist()
    assert loud["mean"][5] != quiet["mean"][5]
    assert run(3, draws=10, seed=1)["mean"][0] != loud["mean"][0]


def test_settings_that_mean_nothing_are_named():
    with refused("updates 'rows' is unknown"):
        run(3, updates="rows")
    with refused(r"noise is given for \['A', 'B', 'C', 'D'\]: 3 layers"):
        run(3, noise=NOISE[4])


def measured(rms=-0.5, gap=-0.5, shift=1.0, altered=1.0, zero=1e-15):
    """A made-up data.csv of the figure whose deviations follow given powers of n."""
    rows = []
    for layers in (3, 4):
        for noise in ("hidden", "every", "rule"):
            for n in (32, 64, 128, 256):
                for seed in range(4):
                    for step, phase in ((5, "before"), (10, "after")):
                        alone = 0.5 if phase == "after" and (layers, noise) != (3, "rule") else 0.6
                        rows.append(
                            {
                                "study": "grid",
                                "layers": layers,
                                "noise": noise,
                                "width": n,
                                "seed": seed,
                                "step": step,
                                "phase": phase,
                                "limit": 0.6,
                                "limit_alone": alone,
                                "mean": 0.6 * shift,
                                "rms": (1 + 0.01 * seed) * n**rms,
                                "gap": altered * (0.6 - alone),
                                "gap_rms": (1 + 0.01 * seed) * n**gap,
                                "gap_max": 1.0,
                            }
                        )
    rows.append({"study": "zero noise", "gap_max": zero})
    return statuses(of_figure("upscaling/infinite_width", pd.DataFrame(rows)))


def test_the_figure_s_verdicts_follow_the_data():
    assert set(measured().values()) == {"reproduced"}
    for claim, changed in {
        "limit": {"rms": -0.25},
        "mean": {"shift": 1.05},
        "equal-dynamics": {"gap": -0.1},
        "altered-dynamics": {"altered": 0.5},
        "zero-noise": {"zero": 1e-9},
    }.items():
        verdicts = measured(**changed)
        assert verdicts.pop(claim) == "not reproduced"
        assert set(verdicts.values()) == {"reproduced"}
