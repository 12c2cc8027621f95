"""Library of the suite: parametrizations, models, training, theory, claims and verdicts."""

__version__ = "0.1.0"
