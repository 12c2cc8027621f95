"""SGD, Adam and AdamW of several runs as one, over their parameters side by side."""

from collections.abc import Sequence

import torch

STATE = {
    torch.optim.SGD: ("momentum_buffer",),
    torch.optim.Adam: ("exp_avg", "exp_avg_sq"),
    torch.optim.AdamW: ("exp_avg", "exp_avg_sq"),
}


def side_by_side(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Tensors of any shapes as one, (entries of all of them,)."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


class StackedOptimizer:
    """The updates of `optimizers`, torch's own, each with rates and state of its own.

    A row is a run, its parameters side by side in the order of its model: all that is named `_RN`
    here is (runs, entries of all parameters of one), or (runs, 1).
    optimizers: all of one class, with the same betas or momentum. parameters: of each run, in its
        model's order. What an optimizer has in its state goes on from there.
    Raises ValueError on a class or a variant that is not one of `STATE`.
    """

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        parameters: Sequence[Sequence[torch.nn.Parameter]],
    ):
        self.optimizers, self.parameters = optimizers, parameters
        self.kind, first = type(optimizers[0]), optimizers[0].param_groups[0]
        if self.kind not in STATE or first.get("amsgrad"):
            raise ValueError(f"optimizer {self.kind.__name__}: is not stacked")
        self.first = first
        self.lr_RN = self._setting("lr")
        self.weight_decay_RN = self._setting("weight_decay")
        self.decays = bool(self.weight_decay_RN.any())
        self.eps_RN = self._setting("eps") if "eps" in first else None
        self.has_state = self.kind is not torch.optim.SGD or first["momentum"] != 0
        self.state = {key: self._state(key) for key in STATE[self.kind] if self.has_state}
        steps = [
            float(optimizer.state.get(own[0], {}).get("step", 0.0))
            for optimizer, own in zip(optimizers, parameters, strict=True)
        ]
        # In float64, as the powers of beta are elsewhere.
        counts = torch.tensor(steps, dtype=torch.float64, device=self.lr_RN.device)
        self.steps_R1 = counts[:, None]

    def _setting(self, key: str) -> torch.Tensor:
        """A setting of the groups, (R, N)."""
        rows = []
        for optimizer, own in zip(self.optimizers, self.parameters, strict=True):
            values = {
                parameter: group[key]
                for group in optimizer.param_groups
                for parameter in group["params"]
            }
            rows.append(side_by_side([torch.full_like(p, values[p]) for p in own]))
        return torch.stack(rows)

    def _state(self, key: str) -> torch.Tensor:
        """A key of the optimizers' state, (R, N); zero where an optimizer has none yet."""
        rows = []
        for optimizer, own in zip(self.optimizers, self.parameters, strict=True):
            found = [optimizer.state.get(p, {}).get(key) for p in own]
            rows.append(
                side_by_side(
                    [
                        torch.zeros_like(p) if value is None else value
                        for p, value in zip(own, found, strict=True)
                    ]
                )
            )
        return torch.stack(rows)

    @torch.no_grad()
    def step(self, weights: torch.Tensor, gradient: torch.Tensor, factors: torch.Tensor) -> None:
        """One update of the weights (R, N), in place. factors: on each run's rates, (R, 1)."""
        lr = self.lr_RN * factors
        self.steps_R1 += 1
        if self.kind is torch.optim.AdamW:
            weights.mul_(1 - lr * self.weight_decay_RN)
        elif self.decays:
            gradient = torch.addcmul(gradient, self.weight_decay_RN, weights)
        if self.kind is torch.optim.SGD:
            weights.addcmul_(lr, self._momentum(gradient), value=-1)
            return
        beta1, beta2 = self.first["betas"]
        average, square = self.state["exp_avg"], self.state["exp_avg_sq"]
        average.lerp_(gradient, 1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        correction1, correction2 = (
            (1 - beta**self.steps_R1).to(weights.dtype) for beta in (beta1, beta2)
        )
        root = (square.sqrt() / correction2.sqrt()).add_(self.eps_RN)
        weights.addcdiv_(average * (lr / correction1), root, value=-1)

    def _momentum(self, gradient: torch.Tensor) -> torch.Tensor:
        if not self.has_state:
            return gradient
        momentum, average = self.first["momentum"], self.state["momentum_buffer"]
        average.mul_(momentum).add_(gradient)
        return gradient + momentum * average if self.first["nesterov"] else average

    def write_back(self) -> None:
        """Give every optimizer its state as it is now."""
        for row, (optimizer, own) in enumerate(zip(self.optimizers, self.parameters, strict=True)):
            sizes = [p.numel() for p in own]
            for key, values in self.state.items():
                for parameter, value in zip(own, values[row].split(sizes), strict=True):
                    optimizer.state[parameter][key] = value.view_as(parameter).clone()
                    if self.kind is not torch.optim.SGD:
                        count = self.steps_R1[row, 0].float()
                        optimizer.state[parameter]["step"] = count.clone()
