"""Figure 9: Sweep 2 over learning rate and noise, ResNet-18 with SGD."""

from figures.upscaling._sweep import figure

FIGURE = figure(9, "resnet")
