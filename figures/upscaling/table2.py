"""Table 2: muP's scalings by type of weight, read off built layers."""

from figures.upscaling._scalings import TABLE_2, of_powers

FIGURE = of_powers(2, "by type of weight", "types of weight", TABLE_2)
