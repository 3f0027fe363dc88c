"""Tables of numbers: one token per feature."""

from __future__ import annotations

from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skbound._inputs import check_weights
from skbound._sklearn_compat import fit_context
from skbound.tokenizers._scaling import Standardizer

__all__ = ["TableTokenizer"]


class TableTokenizer(OneToOneFeatureMixin, Standardizer):
    """Standardise a table's columns; the Transformer makes one token of each number.

    Parameters
    ----------
    limit : float, default=8.0
        Standardised values are squeezed smoothly into ``(-limit, limit)``, so that one extreme
        value neither blows up the training nor dominates attention.

    Attributes
    ----------
    n_features_in_ : int
        Columns seen in fit.
    unit_, mean_, std_ : ndarray of shape (n_features,)
        Magnitude divided out first, then mean and standard deviation of what is left.

    See Also
    --------
    SequenceTokenizer : For rows that are sequences of tokens.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.tokenizers import TableTokenizer
    >>> TableTokenizer().fit_transform(np.array([[1.0, 10.0], [3.0, 30.0]])).round(2)
    array([[-0.99, -0.99],
           [ 0.99,  0.99]])
    """

    ndim = 2

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn each column's mean and standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        TableTokenizer
            Itself.
        """
        X = validate_data(self, X)
        weights = check_weights(sample_weight, X, type(self).__name__)
        self._learn_scale(X, weights)
        return self

    def transform(self, X):
        """Standardise and squeeze.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_features), float64
            In ``(-limit, limit)``.
        """
        check_is_fitted(self)
        return self.prepare(validate_data(self, X, reset=False))

    def embedding(self, width):
        """Build the torch module that turns prepared rows into tokens.

        Parameters
        ----------
        width : int
            Length of a token vector.

        Returns
        -------
        torch.nn.Module
            Maps (n, n_features) to (n, n_features, width).
        """
        from skbound._nn._embeddings import FeatureEmbedding

        return FeatureEmbedding(self.n_features_in_, width)
