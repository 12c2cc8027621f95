import numpy as np
import pytest

from repro.tasks import sign_sgd_step
from repro.theory import sign_sgd, zipf

D, M = 48, 96


def draws(alpha, count=60):
    """Both feature changes of one SignSGD step, straight from the definitions in Section 3.1."""
    rng = np.random.default_rng(0)
    embedding, output = [], []
    for _ in range(count):
        E, W = rng.standard_normal((M, D)), rng.standard_normal((D, M))
        residual = rng.standard_normal((M, M))
        embedding.append(np.mean((np.sign(residual @ W.T) @ W) ** 2))
        gradient = E.T @ (alpha[:, None] * residual)
        output.append(np.mean((E @ np.sign(gradient)) ** 2, axis=1))
    return np.sqrt(np.mean(embedding)), np.sqrt(np.mean(output, axis=0))


def test_theorem_1_against_monte_carlo():
    uniform = np.ones(M)
    embedding, output = draws(uniform)
    assert embedding == pytest.approx(sign_sgd.delta_embedding(D, M, sigma_w=1.0), rel=0.01)
    predicted = sign_sgd.delta_output(D, uniform, sigma_e=1.0)
    assert np.sqrt(np.mean(output**2)) == pytest.approx(predicted[0], rel=0.01)
    assert np.ptp(predicted) == 0


def test_theorem_1_holds_in_the_tail_and_fails_for_the_most_frequent_token():
    alpha = np.arange(1, M + 1) ** -1.0
    _, output = draws(alpha)
    ratio = output / sign_sgd.delta_output(D, alpha, sigma_e=1.0)
    assert np.sqrt(np.mean(ratio[50:] ** 2)) == pytest.approx(1, abs=0.03)
    assert ratio[0] < 0.95


def test_the_root_mean_square_over_tokens_is_exact_for_any_frequencies():
    """Why it judges nothing: the mean of alpha_i^2 / mean alpha^2 is 1."""
    alpha = np.random.default_rng(1).random(M)
    over_tokens = np.sqrt(np.mean(sign_sgd.delta_output(D, alpha, sigma_e=1.0) ** 2))
    assert over_tokens == pytest.approx(sign_sgd.delta_embedding(D, M, sigma_w=1.0))


@pytest.mark.parametrize(
    ("m", "slope"), [(16, 0.985), (32_768, 0.51)], ids=["muP's regime", "the paper's Figure 1"]
)
def test_regimes_by_slope(m, slope):
    d = np.array([256, 512, 1024, 2048, 4096])
    assert sign_sgd.embedding_slope(d, np.full(5, m)) == pytest.approx(slope, abs=0.005)


def test_lemma_1_mean_square_frequency_falls_as_one_over_m():
    for a in (0.75, 1.0, 1.5):
        values = [m * sign_sgd.mean_square_frequency(m, a) for m in (1_000, 10_000, 100_000)]
        assert max(values) / min(values) < 1.15
    flat = [m * sign_sgd.mean_square_frequency(m, 0.3) for m in (1_000, 100_000)]
    assert flat[1] / flat[0] > 4, "below a = 1/2 it does not hold"


@pytest.mark.parametrize("residual", ["independent", "model"])
def test_the_task_measures_what_the_theorem_states(residual):
    records = sign_sgd_step.run(
        width=64,
        vocab_size=256,
        zipf_exponent=0.0,
        residual=residual,
        rows=256,
        columns=256,
        threads=1,
        seed=0,
        inputs={},
        device="cpu",
        progress=None,
        checkpoint=None,
    )
    by_bin = {r["ranks"]: r["ratio"] for r in records}
    assert list(by_bin) == ["all", "1", "2-10", "11-100", ">100"]
    assert by_bin["all"] == pytest.approx(1, abs=0.02)
    assert by_bin[">100"] == pytest.approx(1, abs=0.03)
    assert records[0]["predicted"] == pytest.approx(
        sign_sgd.delta_embedding(64, 256, sigma_w=1 / 8)
    )


@pytest.mark.parametrize(("a", "q"), [(0.8, 0.0), (1.1, 2.7)])
def test_fits_recover_the_law_they_fit(a, q):
    rank = np.unique(np.geomspace(1, 5_000, 200).round())
    frequency = 0.2 * (rank + q) ** -a
    if q == 0:
        assert zipf.fit(rank, frequency).exponent == pytest.approx(a)
    found = zipf.fit_mandelbrot(rank, frequency)
    assert found.exponent == pytest.approx(a, abs=0.02)
    assert found.shift == pytest.approx(q, abs=0.3)
    assert found.r2 > 0.999


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_share_of_a_token_is_that_of_gaussian_draws(power):
    alpha = np.arange(1, 65) ** -power
    squares = alpha**2 * np.random.default_rng(0).standard_normal((100_000, 64)) ** 2
    shares = squares / squares.sum(1, keepdims=True)
    error = shares.std(0) / len(shares) ** 0.5
    exact = sign_sgd.squared_share(alpha)
    assert (np.abs(shares.mean(0) - exact) < 4 * error).all()
    assert exact.sum() == pytest.approx(1, abs=1e-9)


def test_theorem_4_s_term_is_exact_for_equal_frequencies_and_for_no_others():
    uniform = np.ones(50)
    args = {"sigma_e": 0.3}
    exact = sign_sgd.delta_output_exact(64, uniform, **args)
    assert exact == pytest.approx(sign_sgd.delta_output(64, uniform, **args))
    zipf = np.arange(1, 4097) ** -1.0
    term = zipf**2 / (zipf**2).sum()
    found = sign_sgd.squared_share(zipf) / term
    assert found[0] == pytest.approx(0.72, abs=0.01), "the most frequent token"
    assert found[100:].min() > 1.75, "the tail"


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("sigma", [1.0, 2.5])
def test_a_log_normal_text_is_told_from_a_power_law(power, sigma):
    """R^2 does not: that of Zipf's fit to log-normal frequencies is above 0.95."""
    rng = np.random.default_rng(0)
    rank = np.unique(np.geomspace(1, 2_000, 100).round().astype(int))
    for weights, zipfian in (
        (np.arange(1, 8193.0) ** -power, True),
        (np.exp(sigma * rng.standard_normal(8192)), False),
    ):
        counts = np.sort(rng.multinomial(10**6, weights / weights.sum()))[::-1][rank - 1]
        frequency = counts / 10**6
        ratio = zipf.fit(rank, frequency).rms / zipf.lognormal_rms(rank, frequency, 8192)
        assert (ratio < 0.5) if zipfian else (ratio > 2)
