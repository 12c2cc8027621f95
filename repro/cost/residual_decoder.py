"""The decoder with a factor on its residual branches, which costs nothing to speak of."""

from repro.cost.decoder import language_model_cost as cost

__all__ = ["cost"]
