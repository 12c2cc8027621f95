"""AdamW that adds eps where fairseq's Adam does."""

import math

import torch


class FairseqAdamW(torch.optim.AdamW):
    """AdamW that adds eps to sqrt(v) before the bias correction of v, as fairseq's Adam does.

    The step is -lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps / sqrt(1 - beta2^t)):
    torch's step with a larger eps, which falls to the stated one. Groups keep the stated one as
    `stated_eps`.
    """

    def __init__(self, groups: list[dict], **settings):
        super().__init__(groups, **settings)
        for group in self.param_groups:
            group["stated_eps"], group["updates"] = group["eps"], 0

    def correct_eps(self) -> None:
        """Count an update, and give the groups its eps."""
        for group in self.param_groups:
            group["updates"] += 1
            correction = 1 - group["betas"][1] ** group["updates"]
            group["eps"] = group["stated_eps"] / math.sqrt(correction)

    def step(self, closure=None):
        """One update, as torch's with the eps of this step."""
        self.correct_eps()
        return super().step(closure)
