"""Sequences, padded to equal length: one token per time step, image row or patch."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from skbound._inputs import check_weights
from skbound._sklearn_compat import fit_context
from skbound.tokenizers._scaling import Standardizer

__all__ = ["SequenceTokenizer"]


class SequenceTokenizer(Standardizer):
    """Standardise the features of sequences; the Transformer makes one token of each step.

    A feature is standardised over all rows and tokens together.

    Parameters
    ----------
    limit : float, default=8.0
        Standardised values are squeezed smoothly into ``(-limit, limit)``.
    padding_value : float, nan or None, default=None
        A token all of whose numbers equal it is padding: no other token attends to it, no mean
        counts it, and it has no part in the scale. Pad at the end of a row; where padding stands
        before a token, it counts in that token's position, as a missing time step should. None
        takes every token as it is.

    Attributes
    ----------
    n_tokens_in_, n_features_in_ : int
        Tokens per row and numbers per token seen in fit.
    unit_, mean_, std_ : ndarray of shape (n_features,)
        Magnitude divided out first, then mean and standard deviation of what is left.

    See Also
    --------
    TableTokenizer : For two-dimensional tables.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.tokenizers import SequenceTokenizer
    >>> SequenceTokenizer().fit_transform(np.arange(12.0).reshape(2, 3, 2)).shape
    (2, 3, 2)
    """

    ndim = 3

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        **Standardizer._parameter_constraints,
        "padding_value": [Real, None],
    }

    def __init__(self, limit=8.0, padding_value=None):
        super().__init__(limit)
        self.padding_value = padding_value

    @property
    def allows_nan(self):
        """Whether NaN is how padding is marked."""
        return isinstance(self.padding_value, Real) and bool(np.isnan(self.padding_value))

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn each feature's mean and standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_tokens, n_features)
            Finite numbers.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        SequenceTokenizer
            Itself.

        Raises
        ------
        ValueError
            If numbers are missing outside padding, or all tokens are padding.
        """
        X = self._check(X)
        _, self.n_tokens_in_, self.n_features_in_ = X.shape
        weights = check_weights(sample_weight, X, type(self).__name__)
        if weights is not None:
            weights = np.repeat(weights, self.n_tokens_in_)
        tokens = X.reshape(-1, self.n_features_in_)
        if self.padding_value is not None:
            real = ~self._padding(tokens)
            if not real.any():
                raise ValueError("X must hold at least one token that is no padding, got none.")
            tokens, weights = tokens[real], None if weights is None else weights[real]
        self._learn_scale(tokens, weights)
        return self

    def prepare(self, X):
        """Transform rows that were validated before.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_tokens, n_features)
            Finite numbers, apart from padding.

        Returns
        -------
        ndarray of the same shape, float64
            As from ``transform``.

        Raises
        ------
        ValueError
            If numbers are missing outside padding.
        """
        if self.padding_value is None:
            return super().prepare(X)
        padding = self._padding(X)
        prepared = super().prepare(np.where(padding[..., None], 0.0, X))
        prepared[padding] = np.nan
        return prepared

    def transform(self, X):
        """Standardise and squeeze.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_tokens, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_tokens, n_features), float64
            In ``(-limit, limit)``; padding is nan.

        Raises
        ------
        ValueError
            If the rows have another shape than in fit, or numbers are missing outside padding.
        """
        check_is_fitted(self)
        X = self._check(X)
        if X.shape[1:] != (self.n_tokens_in_, self.n_features_in_):
            raise ValueError(
                f"X has rows of shape {X.shape[1:]}, but SequenceTokenizer is expecting "
                f"{(self.n_tokens_in_, self.n_features_in_)} as in fit."
            )
        return self.prepare(X)

    def embedding(self, width):
        """Build the torch module that turns prepared rows into tokens.

        Parameters
        ----------
        width : int
            Length of a token vector.

        Returns
        -------
        torch.nn.Module
            Maps (n, n_tokens, n_features) to (n, n_tokens, width).
        """
        from skbound._nn._embeddings import SequenceEmbedding

        padded = self.padding_value is not None
        return SequenceEmbedding(self.n_tokens_in_, self.n_features_in_, width, padded=padded)

    def _padding(self, X):
        """Return which tokens are padding."""
        same = np.isnan(X) if self.allows_nan else np.equal(X, self.padding_value)
        padding = same.all(axis=-1)
        if np.isnan(X[~padding]).any():
            raise ValueError(
                "A token must be padding in all of its numbers or hold none that is missing, got "
                "tokens with some NaN. Impute them, or set all numbers of the token to NaN."
            )
        return padding

    def _check(self, X):
        X = check_array(
            X, allow_nd=True, ensure_all_finite="allow-nan" if self.allows_nan else True
        )
        if X.ndim != 3:
            raise ValueError(
                f"Expected 3D array (n_samples, n_tokens, n_features), got shape {X.shape}."
            )
        return X

    def __sklearn_tags__(self):
        """Say that the input is three-dimensional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self.allows_nan
        return tags
