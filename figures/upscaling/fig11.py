"""Figure 11: Sweep 2 over learning rate and noise, GPT-2 with AdamW."""

from figures.upscaling._sweep import figure

FIGURE = figure(11, "gpt2", "tune_upscaled_code")
