"""The splitter for a criterion that needs no validation fold."""

from __future__ import annotations

import numpy as np

from skbound._sklearn_compat import num_samples

__all__ = ["FitOnce"]


class FitOnce:
    """Yield all rows as training rows, once.

    A bound is computed from rows that the estimator sets aside itself, so a search by bound needs
    no folds. The same rows are yielded as test rows, for scorers that want some; scores other
    than a bound are then computed on training rows.

    Examples
    --------
    >>> from skbound import FitOnce
    >>> [(len(train), len(test)) for train, test in FitOnce().split([[1], [2], [3]])]
    [(3, 3)]
    """

    def split(self, X, y=None, groups=None):
        """Yield (all rows, all rows).

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Data.
        y, groups : object
            Ignored.

        Yields
        ------
        train, test : ndarray of int of shape (n_samples,)
            All positions.
        """
        rows = np.arange(num_samples(X))
        yield rows, rows

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return 1.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
            Always 1.
        """
        return 1

    def __repr__(self):
        return "FitOnce()"
