"""One colour a strategy, the same in every figure of the paper."""

# C0, ... are the colour-blind palette of `repro.judge.drawing.style`
COLORS = {"standard": "black", "neural-tangent": "C0", "hybrid": "C2", "maximal-update": "C3"}
