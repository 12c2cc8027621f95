"""The MLP with AdamW, tuned on a model four times as wide as `mlp_adamw`'s; at paper scale half."""

from studies.upscaling._tuned_on import tuned_on

STAGES = tuned_on({"smoke": 64, "reduced": 64, "paper": 50})
