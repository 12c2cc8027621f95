"""What is lost where hyperparameters tuned on a narrow model are used on wide ones. No torch.

At the base width every parametrization is the same model, tuned once. What a wide model then loses
has two parts: regret, what retuning it would win back, and penalty, its tuned loss above that of
the best parametrization. Perfect transfer of a worse model has a penalty and no regret.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from widthwise.statistics import t_interval

Curve = tuple[np.ndarray, np.ndarray]  # rates (n,), losses (seeds, n); infinite: it diverged


class Curves:
    """Final losses over learning rates, of every parametrization and width.

    curves: (parametrization, width) -> Curve. names: the parametrizations. widths: increasing; at
    the first, the base, all have the curve of the narrow model. The k-th seed of the narrow model
    goes with the k-th of a wide one: they are other seeds, so that what is transferred does not
    know the runs it is judged by.
    """

    def __init__(self, curves: Mapping[tuple[str, float], Curve]):
        self.curves = curves
        self.names = list(dict.fromkeys(name for name, _ in curves))
        self.widths = sorted({width for _, width in curves})
        self.base, self.widest = self.widths[0], self.widths[-1]
        self.seeds = list(range(len(next(iter(curves.values()))[1])))

    def proxy_rate(self, seeds: Sequence[int] | None = None) -> float:
        """The narrow model's best rate, by its mean over some seeds, all by default."""
        rates, losses = self.curves[self.names[0], self.base]
        return float(rates[losses[self.seeds if seeds is None else list(seeds)].mean(0).argmin()])

    def best_rate(self, name: str, width: float) -> float:
        """The best rate by the mean over seeds."""
        rates, losses = self.curves[name, width]
        return float(rates[losses.mean(0).argmin()])

    def at_edge(self, name: str, width: float) -> bool:
        """Whether the best rate is at an end of those tried."""
        rates, losses = self.curves[name, width]
        return losses.mean(0).argmin() in (0, len(rates) - 1)

    def transferred(self, name: str, width: float, rate: float | None = None) -> np.ndarray:
        """Losses by seed at the narrow model's best rate, or at another; NaN where it was not
        tried."""
        rates, losses = self.curves[name, width]
        found = np.flatnonzero(rates == (self.proxy_rate() if rate is None else rate))
        return losses[:, found[0]] if len(found) else np.full(len(losses), np.nan)

    def tuned(self, name: str, width: float) -> np.ndarray:
        """Losses by seed, each at the rate that is best in the mean over the other seeds: read at
        the rate that is best for the seed itself, they would be too low by chance."""
        losses = self.curves[name, width][1]
        best = [np.delete(losses, seed, axis=0).mean(0).argmin() for seed in self.seeds]
        return losses[self.seeds, best]

    def regret(self, name: str, width: float, rate: float | None = None) -> np.ndarray:
        """By seed: how much lower the loss would be had the wide model been tuned itself."""
        return self.transferred(name, width, rate) - self.tuned(name, width)

    def penalty(self, name: str) -> np.ndarray:
        """By seed: the tuned loss at the largest width above that of the best parametrization."""
        best = min(self.names, key=lambda each: self.curves[each, self.widest][1].mean(0).min())
        return self.tuned(name, self.widest) - self.tuned(best, self.widest)

    def gain(self) -> float:
        """How much lower the best tuned loss is at the largest width than at the base."""
        best = min(self.tuned(name, self.widest).mean() for name in self.names)
        return float(self.tuned(self.names[0], self.base).mean() - best)

    def lost(self, name: str, rate: float | None = None) -> np.ndarray:
        """By seed: regret and penalty at the largest width, % of what that width gains."""
        return 100 * (self.regret(name, self.widest, rate) + self.penalty(name)) / self.gain()

    def interval(self, statistic: Callable[[float], np.ndarray]) -> tuple[float, float, float]:
        """(mean, low, high): mean over seeds of a statistic of the narrow model's best rate, with
        its 95 % Student t interval. The choice of that rate is uncertain too: the interval spans
        the means at the rates that are best without each of the narrow model's seeds.

        statistic: rate -> an array by seed.
        """
        mean, low, high = t_interval(statistic(self.proxy_rate()))
        means = [float(np.mean(statistic(rate))) for rate in self.other_proxy_rates()]
        return mean, min(low, *means), max(high, *means)

    def other_proxy_rates(self) -> list[float]:
        """The narrow model's best rates without each of its seeds, increasing."""
        left_out = [[k for k in self.seeds if k != left] for left in self.seeds]
        return sorted({self.proxy_rate(seeds) for seeds in left_out})

    def redrawn(self, rng: np.random.Generator) -> "Curves":
        """The same curves from other seeds: around the recorded means, deviations that are random
        mixtures of the recorded seeds', so that points that moved together do so again. A point at
        which a seed diverged stays as it is.
        """
        size = len(self.seeds)
        mixtures = {
            narrow: rng.normal(size=(size, size)) / max(size - 1, 1) ** 0.5
            for narrow in (True, False)
        }
        curves = {}
        for (name, width), (rates, losses) in self.curves.items():
            drawn, finite = losses.copy(), np.isfinite(losses).all(0)
            mean = losses[:, finite].mean(0)
            mixed = mixtures[width == self.base] @ (losses[:, finite] - mean)
            drawn[:, finite] = mean + mixed
            curves[name, width] = rates, drawn
        return Curves(curves)
