"""Figure 6 on the whole Forest Cover Type."""

from figures.upscaling._whole import figure

FIGURE = figure("fig6_whole", "Figure 6", "mlp", noise_told=True)
