"""Predict with the chosen fit of a search."""

from __future__ import annotations

from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

__all__ = ["PredictsWithBest"]


class PredictsWithBest:
    """Hand every prediction to ``best_estimator_``."""

    def predict(self, X):
        """Predict labels with the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(lambda self: hasattr(self._current(), "predict_proba"))
    def predict_proba(self, X):
        """Predict class probabilities with the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(lambda self: hasattr(self._current(), "predict_log_proba"))
    def predict_log_proba(self, X):
        """Predict the logarithms of class probabilities with the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(lambda self: hasattr(self._current(), "decision_function"))
    def decision_function(self, X):
        """Return the scores of the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def _current(self):
        return getattr(self, "best_estimator_", self.estimator)

    def __sklearn_tags__(self):
        """Take over what the estimator says about its input."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
