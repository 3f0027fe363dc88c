"""A small Transformer that gets its rows in several calls of partial_fit."""

import numpy as np
from sklearn.base import clone

from skbound import TransformerClassifier

TINY = TransformerClassifier(
    depth=1, width=8, n_heads=2, max_epochs=4, protocol="progressive", random_state=0
)
CALLS = [slice(0, 120), slice(120, 200), slice(200, 300), slice(300, 360)]


def in_calls(X, y, model=TINY, calls=CALLS):
    """Return a fresh model after these calls."""
    model = clone(model)
    for call in calls:
        model.partial_fit(X[call], y[call], classes=np.unique(y))
    return model
