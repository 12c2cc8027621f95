"""Table 3: muP's scalings as they are built, read off built layers."""

from figures.upscaling._scalings import TABLE_3, of_powers

FIGURE = of_powers(3, "as they are built", "layers and optimizers", TABLE_3)
