"""Figure 7: Sweep 2 over learning rate and noise, MLP with AdamW."""

from figures.upscaling._sweep import figure

FIGURE = figure(7, "mlp", "tune_upscaled_code")
