"""Rows of token ids, such as words: one token per id, with padding for short rows."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skbound._sklearn_compat import Interval, fit_context

__all__ = ["TokenTokenizer"]

_PADDING, _UNKNOWN, _FIRST = 0, 1, 2


class TokenTokenizer(TransformerMixin, BaseEstimator):
    """Number the ids that occur in fit; the Transformer learns a vector for each.

    Parameters
    ----------
    padding_id : int or None, default=None
        Id that fills rows up to equal length, wherever it stands. The net's answer depends neither
        on how often it occurs nor where. None takes every id for a token.

    Attributes
    ----------
    vocabulary_ : ndarray of int of shape (n_ids,)
        Ids seen in fit, sorted, without `padding_id`.
    n_features_in_ : int
        Tokens per row, padding included.

    See Also
    --------
    SequenceTokenizer : For tokens that are vectors of numbers.

    Notes
    -----
    All ids that fit has not seen share one vector, which training never meets: it stays 0. A row of
    padding alone is a row with one such token.

    Examples
    --------
    >>> from skbound.tokenizers import TokenTokenizer
    >>> tokenizer = TokenTokenizer(padding_id=0).fit([[7, 9, 0], [9, 5, 7]])
    >>> tokenizer.transform([[9, 7, 0], [0, 8, 5]])
    array([[4, 3, 0],
           [1, 2, 0]])
    """

    ndim = 2

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "padding_id": [Interval(Integral, None, None, closed="neither"), None],
    }

    def __init__(self, padding_id=None):
        self.padding_id = padding_id

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn which ids there are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_tokens)
            Whole numbers.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Ignored: an id is known from its first occurrence on.

        Returns
        -------
        TokenTokenizer
            Itself.

        Raises
        ------
        ValueError
            If a number is not whole, or all of them are padding.
        """
        vocabulary = np.unique(_whole(validate_data(self, X)))
        if self.padding_id is not None:
            vocabulary = vocabulary[vocabulary != self.padding_id]
        if not vocabulary.size:
            raise ValueError(
                f"X must hold at least one id besides padding_id={self.padding_id}, got none."
            )
        self.vocabulary_ = vocabulary
        return self

    def prepare(self, X):
        """Transform rows that were validated before.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_tokens)
            Whole numbers.

        Returns
        -------
        ndarray of the same shape, int64
            As from ``transform``.

        Raises
        ------
        ValueError
            If a number is not whole.
        """
        ids = _whole(X)
        places = np.searchsorted(self.vocabulary_, ids)
        known = self.vocabulary_[np.minimum(places, len(self.vocabulary_) - 1)] == ids
        numbers = np.where(known, places + _FIRST, _UNKNOWN)
        if self.padding_id is None:
            return numbers
        padding = ids == self.padding_id
        numbers[padding] = _PADDING
        # To the end, so that a token's position counts tokens only.
        return np.take_along_axis(numbers, np.argsort(padding, axis=1, kind="stable"), axis=1)

    def transform(self, X):
        """Replace ids by their numbers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_tokens)
            Whole numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_tokens), int64
            0 for padding, which is moved to the end of its row, 1 for an unknown id, and from 2 on
            places in ``vocabulary_``.
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
            Maps (n, n_tokens) to (n, n_tokens, width).
        """
        from skbound._nn._embeddings import TokenEmbedding

        return TokenEmbedding(len(self.vocabulary_) + _FIRST, self.n_features_in_, width)


def _whole(X):
    """Return ids as integers."""
    X = np.asarray(X)
    if X.dtype.kind in "iu":
        return X
    # Beyond 2^53 not all whole numbers are there.
    if not ((np.rint(X) == X) & (np.abs(X) <= 2.0**53)).all():
        raise ValueError(
            "Token ids must be whole numbers of at most 2^53 in magnitude, got others. For a table "
            "of measurements use tokenizer='table'."
        )
    return X.astype(np.int64)
