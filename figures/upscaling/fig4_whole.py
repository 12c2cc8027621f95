"""Figure 4 on the whole Forest Cover Type."""

from figures.upscaling._whole import figure

FIGURE = figure("fig4_whole", "Figure 4", "mlp-sgd", noise_told=False)
