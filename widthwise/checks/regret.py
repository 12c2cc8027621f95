"""What is lost where hyperparameters tuned on a narrow model are used on wide ones. No torch.

At the base width every parametrization is the same model, tuned once. What a wide model then loses
has two parts: regret, what retuning it would win back, and penalty, its tuned loss above that of
the best parametrization. Perfect transfer of a worse model has a penalty and no regret.
Rates are those of a grid, regret and penalty by "grid" (`widthwise.checks.sweep`).
"""

from collections.abc import Callable, Mapping

import numpy as np

from widthwise.checks.sweep import Sweep, Sweeps
from widthwise.statistics import t_interval


class Comparison:
    """Parametrizations, tuned narrow and trained wide.

    curves: (parametrization, width) -> its sweep. names: the parametrizations. widths: increasing;
    at the first, the base, all have the sweep of the narrow model. The k-th seed of the narrow
    model goes with the k-th of a wide one: they are other seeds, so that what is transferred does
    not know the runs it is judged by. proxy: the sweep whose best rate is transferred, the narrow
    model's unless another is given.
    """

    def __init__(self, curves: Mapping[tuple[str, float], Sweep], proxy: Sweep | None = None):
        self.curves = curves
        self.names = list(dict.fromkeys(name for name, _ in curves))
        self.widths = sorted({width for _, width in curves})
        self.base, self.widest = self.widths[0], self.widths[-1]
        self.seeds = list(range(len(next(iter(curves.values())).seeds)))
        self.proxy = proxy or curves[self.names[0], self.base]

    def proxy_rate(self) -> float:
        """The narrow model's best rate, by its mean over seeds."""
        return self.proxy.best_rate

    def of(self, name: str) -> Sweeps:
        """The sweeps of a parametrization by width."""
        return Sweeps({width: self.curves[name, width] for width in self.widths})

    def transferred(self, name: str, width: float, rate: float | None = None) -> np.ndarray:
        """Losses by seed at the narrow model's best rate, or at another; NaN where it was not
        tried."""
        place = float(np.log2(self.proxy_rate() if rate is None else rate))
        return self.curves[name, width].at(place, "grid")

    def tuned(self, name: str, width: float) -> np.ndarray:
        """Losses by seed, each at the rate that is best in the mean over the other seeds, of those
        at which none diverged."""
        return self.curves[name, width].whole.tuned("grid")

    def regret(self, name: str, width: float, rate: float | None = None) -> np.ndarray:
        """By seed: how much lower the loss would be had the wide model been tuned itself."""
        return self.transferred(name, width, rate) - self.tuned(name, width)

    def half_step(self, *names: str) -> float:
        """What the regrets of these at the largest width are known to, together."""
        return sum(self.curves[name, self.widest].half_step() for name in names)

    def penalty(self, name: str) -> np.ndarray:
        """By seed: the tuned loss at the largest width above that of the best parametrization."""
        best = min(self.names, key=lambda each: self.curves[each, self.widest].mean().min())
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
        whole = self.proxy.whole
        return sorted({whole.without(k).best_rate for k in range(len(whole.seeds))})
