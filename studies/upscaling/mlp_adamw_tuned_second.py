"""The MLP with AdamW, tuned on a model twice as wide as `mlp_adamw`'s; at paper scale a quarter."""

from studies.upscaling._tuned_on import tuned_on

STAGES = tuned_on({"smoke": 32, "reduced": 32, "paper": 25})
