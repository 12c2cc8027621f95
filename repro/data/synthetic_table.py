"""A generated table with Forest Cover Type's columns, labelled by a random network.

A few latent factors determine all features. A random network with three layers (the teacher) reads
the continuous features and effects of soil and area; Gumbel noise on its logits samples the label.
All values are integers: rounding removes differences in the last digits between machines.

Settings were chosen among five, so that an MLP of width 64 learns much of the table in 20 epochs,
but not all: training loss 0.51, accuracy 0.82 on the train part and 0.70 on the valid part.
"""

import numpy as np

FACTORS = 6
TEACHER_WIDTH = 48
TEACHER_HIDDEN = 2  # hidden layers, three layers of weights
SHARPNESS = 6.0  # standard deviation of the teacher's logits; the label noise has scale 1
SEED = 20250721

AREAS, SOILS, CLASSES = 4, 40, 7
# Location and spread, in the columns' units, of about the size of the real ones.
CONTINUOUS = np.array(
    [
        (2960, 280),  # Elevation, m
        (156, 112),  # Aspect, degrees
        (140, 75),  # Slope, tenths of a degree, so that rounding keeps the signal
        (269, 213),  # Horizontal_Distance_To_Hydrology, m
        (46, 58),  # Vertical_Distance_To_Hydrology, m
        (2350, 1560),  # Horizontal_Distance_To_Roadways, m
        (212, 27),  # Hillshade_9am, 0 to 255
        (223, 20),  # Hillshade_Noon
        (143, 38),  # Hillshade_3pm
        (1980, 1320),  # Horizontal_Distance_To_Fire_Points, m
    ]
)


def cover_table(rows: int) -> np.ndarray:
    """A table (rows, 55) int64: 10 continuous features, 4 + 40 one-hot, the label from 1 to 7.

    RandomState, not Generator: its streams never change, and the table has a fixed digest.
    """
    rng = np.random.RandomState(SEED)
    columns = len(CONTINUOUS)
    mixing = rng.standard_normal((FACTORS, columns))
    area_law = 1.5 * rng.standard_normal((FACTORS, AREAS))
    soil_law = 1.5 * rng.standard_normal((FACTORS, SOILS))
    area_effect = rng.standard_normal((AREAS, FACTORS))
    soil_effect = rng.standard_normal((SOILS, FACTORS))

    factors = rng.standard_normal((rows, FACTORS))
    signal = factors @ mixing / np.sqrt(FACTORS) + 0.5 * rng.standard_normal((rows, columns))
    area = (factors @ area_law + rng.gumbel(size=(rows, AREAS))).argmax(1)
    soil = (factors @ soil_law + rng.gumbel(size=(rows, SOILS))).argmax(1)
    levels = np.rint(CONTINUOUS[:, 0] + CONTINUOUS[:, 1] * signal).astype(np.int64)

    hidden = np.concatenate([signal, area_effect[area], soil_effect[soil]], axis=1)
    for _ in range(TEACHER_HIDDEN):
        weights = rng.standard_normal((hidden.shape[1], TEACHER_WIDTH))
        hidden = hidden @ weights / np.sqrt(hidden.shape[1])
        hidden = np.maximum(hidden - np.median(hidden, axis=0), 0) * 2**0.5
    logits = hidden @ rng.standard_normal((TEACHER_WIDTH, CLASSES))
    logits = SHARPNESS * (logits - logits.mean(0)) / logits.std(0)
    label = (logits + rng.gumbel(size=logits.shape)).argmax(1) + 1
    return np.column_stack(
        [levels, np.eye(AREAS, dtype=int)[area], np.eye(SOILS, dtype=int)[soil], label]
    ).astype(np.int64)
