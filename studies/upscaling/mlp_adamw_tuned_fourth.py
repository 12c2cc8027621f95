"""The MLP with AdamW, tuned on one eight times as wide as `mlp_adamw`'s; at paper scale twice."""

from studies.upscaling._tuned_on import tuned_on

STAGES = tuned_on({"smoke": 128, "reduced": 128, "paper": 200})
