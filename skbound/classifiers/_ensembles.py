"""Several fitted predictors that answer together: averaged probabilities or counted votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.metaestimators import available_if

from skbound.classifiers._mixtures import aligned, all_have
from skbound.protocols import EnsembleRule

__all__ = ["ClassifierEnsemble", "TransformerEnsemble"]

# What stands for the logarithm of no vote at all.
_SMALLEST = 1e-12


@dataclass(frozen=True)
class TransformerEnsemble:
    """Fitted Transformers that answer together.

    Parameters
    ----------
    parts : tuple of FittedTransformer
        At least one.
    weights : tuple of float
        Non-negative, one per part, of sum 1.
    how : {"average", "majority"}
        Average the probabilities, or count the predicted labels.
    """

    parts: tuple[Any, ...]
    weights: tuple[float, ...]
    how: EnsembleRule

    def logits(self, X):
        """Return the logarithms of the averaged probabilities, or of the shares of votes.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ...)
            Validated rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Their softmax is what was averaged.
        """
        total = np.zeros((len(X), self.parts[0].n_classes))
        for weight, part in zip(self.weights, self.parts, strict=True):
            logits = part.logits(X)
            if self.how == "average":
                total += weight * softmax(logits, axis=1)
            else:
                total[np.arange(len(X)), logits.argmax(axis=1)] += weight
        return np.log(np.maximum(total, _SMALLEST))


@dataclass(frozen=True)
class ClassifierEnsemble:
    """Fitted classifiers that answer together.

    Parameters
    ----------
    parts : tuple of classifier
        At least one.
    weights : tuple of float
        Non-negative, one per part, of sum 1.
    how : {"average", "majority"}
        Average the probabilities, or count the predicted labels.
    classes_ : ndarray of shape (n_classes,)
        All labels; a part may have seen fewer.
    """

    parts: tuple[Any, ...]
    weights: tuple[float, ...]
    how: EnsembleRule
    classes_: Any

    def predict(self, X):
        """Return the label with the largest share.

        Parameters
        ----------
        X : array-like
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; the first in order among equals.
        """
        return self.classes_[self._shares(X).argmax(axis=1)]

    @available_if(lambda self: self.how == "majority" or all_have("predict_proba")(self))
    def predict_proba(self, X):
        """Return what `predict` is the argmax of.

        Parameters
        ----------
        X : array-like
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Averaged probabilities or shares of votes; columns as in ``classes_``.
        """
        return self._shares(X)

    def _shares(self, X):
        total = 0.0
        for weight, part in zip(self.weights, self.parts, strict=True):
            if self.how == "average":
                total = total + weight * aligned(part, X, self.classes_)
            else:
                total = total + weight * (np.ravel(part.predict(X))[:, None] == self.classes_)
        return total
