"""Library of the suite: parametrizations, models, training, theory, claims and verdicts."""
