"""Data plus any classifier, seen through the interface of a protocol."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from skbound._inputs import weight_keyword
from skbound._random_state import seed_unset
from skbound._sklearn_compat import safe_indexing
from skbound.classifiers._certified import CertifiedMixin
from skbound.classifiers._ensembles import ClassifierEnsemble
from skbound.classifiers._mixtures import ClassifierMixture, aligned
from skbound.classifiers._rows import LabelledRows
from skbound.protocols import FittedModel

__all__ = ["BlackBox"]


class BlackBox(LabelledRows):
    """A classifier and data, seen through the interface of a protocol."""

    def __init__(self, estimator, X, y, weights, seed):
        super().__init__(X, y, weights)
        self.estimator, self.seed = estimator, seed

    def fit(self, rows, *, seed=None):
        chosen = self.positions[rows]
        model = clone(self.estimator)
        model = seed_unset(model, self.seed if seed is None else seed, every=seed is not None)
        # A certified classifier inside would set rows aside a second time, for nothing.
        for part in [model, *model.get_params(deep=True).values()]:
            if isinstance(part, CertifiedMixin):
                part.set_params(protocol=None)
        keywords = {}
        if self.weights is not None:
            keywords = weight_keyword(model, self.weights[chosen])
        model.fit(safe_indexing(self.X, chosen), self.y[chosen], **keywords)
        return FittedModel(model=model, n_fit=len(rows))

    def losses(self, fit, rows):
        chosen = self.positions[rows]
        # Taken anew for each call: a step may work in place.
        predicted = np.ravel(fit.model.predict(safe_indexing(self.X, chosen)))
        probabilities = None
        if hasattr(fit.model, "predict_proba"):
            probabilities = aligned(fit.model, safe_indexing(self.X, chosen), self.classes)
        return self.sample(rows, predicted, probabilities)

    def votes(self, fit, rows):
        predicted = np.ravel(fit.model.predict(safe_indexing(self.X, self.positions[rows])))
        return np.searchsorted(self.classes, predicted)

    def probabilities(self, fit, rows):
        return aligned(fit.model, safe_indexing(self.X, self.positions[rows]), self.classes)

    def log_losses(self, fit, rows):
        return super().log_losses(fit, rows) if hasattr(fit.model, "predict_proba") else None

    def ensemble(self, fits, weights, how):
        parts = tuple(fit.model for fit in fits)
        return ClassifierEnsemble(parts, tuple(weights), how, self.classes)

    def ensemble_rule(self, fits):
        smooth = all(hasattr(fit.model, "predict_proba") for fit in fits)
        return "average" if smooth else "majority"

    def mixture(self, fits, choice):
        return ClassifierMixture(tuple(fit.model for fit in fits), choice, self.classes)
