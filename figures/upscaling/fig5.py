"""Figure 5: Sweep 2 over learning rate and noise, MLP with SGD."""

from figures.upscaling._sweep import figure

FIGURE = figure(5, "mlp-sgd", "tune_upscaled_code")
