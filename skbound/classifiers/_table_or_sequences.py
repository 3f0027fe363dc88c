"""Checks of rows that are tables or sequences."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from skbound._inputs import check_columns, check_numbers, from_torch

__all__ = ["TableOrSequencesMixin"]


class TableOrSequencesMixin:
    """Take two dimensions, as all of scikit-learn does, or three."""

    def _check_rows(self, X, *, reset):
        """Return X as an array of finite numbers with two or three dimensions."""
        X = from_torch(X, "X")
        check_columns(X)
        check_numbers(X)
        if not hasattr(X, "columns") and getattr(X, "ndim", None) is None:
            X = np.asarray(X)
        ndim = getattr(X, "ndim", 2)
        if ndim > 3:
            raise ValueError(
                f"X must have two dimensions (n_samples, n_features) or three dimensions "
                f"(n_samples, n_tokens, n_features), got {ndim}. Images with channels go in flat: "
                f"X.reshape(len(X), -1), with tokenizer=PatchTokenizer(image_shape=X.shape[1:])."
            )
        accepted = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2 if reset else 1}
        if ndim == 3:
            tokenizer = self.tokenizer if reset else self.tokenizer_
            if getattr(tokenizer, "allows_nan", False):
                accepted["ensure_all_finite"] = "allow-nan"
            X = check_array(X, allow_nd=True, estimator=self, input_name="X", **accepted)
            self._check_sequences(X, reset=reset)
            return X
        if reset:
            vars(self).pop("n_tokens_in_", None)
        elif hasattr(self, "n_tokens_in_"):
            raise ValueError(
                f"X must have three dimensions (n_samples, n_tokens, n_features) as in fit, got "
                f"{ndim}."
            )
        return validate_data(self, X, reset=reset, **accepted)

    def _check_sequences(self, X, *, reset):
        shape = X.shape[1:]
        if 0 in shape:
            raise ValueError(
                f"X must hold at least one token with at least one feature per row, got shape "
                f"{X.shape}."
            )
        if reset:
            vars(self).pop("feature_names_in_", None)
            self.n_tokens_in_, self.n_features_in_ = shape
        elif shape != (seen := (getattr(self, "n_tokens_in_", None), self.n_features_in_)):
            raise ValueError(
                f"X has rows of shape {shape}, but TransformerClassifier is expecting {seen} "
                f"tokens and features as in fit."
            )

    def __sklearn_tags__(self):
        """Say that sequences are welcome too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
