"""Sequences of equal length: one token per time step, image row or patch."""

from __future__ import annotations

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
        """
        X = self._check(X)
        _, self.n_tokens_in_, self.n_features_in_ = X.shape
        weights = check_weights(sample_weight, X, type(self).__name__)
        if weights is not None:
            weights = np.repeat(weights, self.n_tokens_in_)
        self._learn_scale(X.reshape(-1, self.n_features_in_), weights)
        return self

    def transform(self, X):
        """Standardise and squeeze.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_tokens, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_tokens, n_features), float64
            In ``(-limit, limit)``.

        Raises
        ------
        ValueError
            If the rows have another shape than in fit.
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

        return SequenceEmbedding(self.n_tokens_in_, self.n_features_in_, width)

    def _check(self, X):
        X = check_array(X, allow_nd=True)
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
        return tags
