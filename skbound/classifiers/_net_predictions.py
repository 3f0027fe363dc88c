"""What a fitted TransformerClassifier answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from skbound.classifiers._fitted_transformer import FittedTransformer
from skbound.classifiers._measured import a_few_rows, training_error, training_margins

__all__ = ["NetPredictionsMixin"]


class NetPredictionsMixin:
    """Keep the predictor that a fit left behind, and predict with it."""

    def _keep(self, fit, learner):
        """Set the attributes that make up the predictor, and what is remembered of its training."""
        self.classes_ = learner.classes
        single = isinstance(fit.model, FittedTransformer)
        last = fit.model if single else fit.model.parts[-1]
        self._several = (
            None
            if single
            else replace(
                fit.model, parts=tuple(part.without_training() for part in fit.model.parts)
            )
        )
        self.net_, self.tokenizer_ = last.net, last.tokenizer
        self.history_, self.device_ = last.history, last.device
        self.n_iter_ = len(self.history_)
        self._initial = last.initial
        self._margins = self._few_rows = None
        self._training_error = float("nan")
        if last.rows is not None:
            X, codes = learner.X[learner.positions[last.rows]], learner.codes[last.rows]
            self._margins = training_margins(last, X, codes)
            if not single:
                self._training_error = training_error(fit.model, X, codes)
            elif self._margins is not None:
                self._training_error = float(np.mean(self._margins <= 0.0))
            self._few_rows = a_few_rows(X, codes)

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_tokens, n_features)
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, as given to fit.
        """
        codes = self._logits(X).argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_tokens, n_features)
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        return softmax(self._logits(X), axis=1)

    def decision_function(self, X):
        """Return the logits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_tokens, n_features)
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the difference of the two logits. Where several nets answer together,
            the logarithms of their averaged probabilities or shares of votes, at least 1e-12, take
            the place of logits.
        """
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def _logits(self, X):
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        if self._several is not None:
            return self._several.logits(X)
        model = FittedTransformer(
            self.net_, self.tokenizer_, self.history_, self.device_, len(self.classes_)
        )
        return model.logits(X)
