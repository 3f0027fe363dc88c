"""A keyed hash of the row decides which predictor of a mixture answers for it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HashChoice", "canonical_rows", "check_distinct"]

# With A equally likely rows, m of them hold a distinct share of about 1 - m / 2A: this level asks
# for A of at least 10 m. Four nets on 500 equally likely rows missed less often than delta, on 50
# several times more often.
_DISTINCT = 0.95
# The mean error over the key has a variance of at most the largest probability of one row.
_LARGEST_SHARE = 0.01


def canonical_rows(X: Any) -> NDArray[np.float32]:
    """Return rows of numbers in the one form in which they are compared and hashed.

    Parameters
    ----------
    X : array-like of numbers of shape (n_samples, ...)
        Rows as a classifier gets them.

    Returns
    -------
    ndarray of shape (n_samples, n_numbers), little-endian float32
        With one zero and one NaN.

    Raises
    ------
    ValueError
        If the rows are not numbers of equal shape.
    """
    # What numpy makes of a sparse matrix is a single object.
    array = np.asarray(X)
    if array.dtype.kind not in "fiub" or array.ndim < 2:
        raise ValueError(
            f"protocol='progressive' needs rows of numbers, in an array, a DataFrame or a tensor, "
            f"because predict hashes them; got {type(X).__name__} with dtype {array.dtype}. "
            f"Use protocol='holdout', or encode the rows as numbers before fit."
        )
    with np.errstate(over="ignore"):
        rows = array.reshape(len(array), prod(array.shape[1:])).astype(np.float64).astype("<f4")
    rows[rows == 0.0] = 0.0
    rows[np.isnan(rows)] = np.nan
    return np.ascontiguousarray(rows)


def check_distinct(X: Any, protocol: str = "progressive") -> None:
    """Refuse rows that repeat too often for a choice by hash.

    A row value that is frequent gets one predictor for good, so the error would depend on the key.

    Parameters
    ----------
    X : array-like of numbers of shape (n_samples, ...)
        Training-side rows.
    protocol : str, default="progressive"
        Name of the protocol, for the message.

    Raises
    ------
    ValueError
        If fewer than 95 % of the rows are distinct, or one occurs more than twice and makes up
        more than 1 % of them.
    """
    rows = canonical_rows(X)
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    counts = np.unique(whole, return_counts=True)[1]
    share, largest = len(counts) / len(rows), int(counts.max())
    if share < _DISTINCT or largest > max(2.0, _LARGEST_SHARE * len(rows)):
        raise ValueError(
            f"protocol={protocol!r} needs rows that hardly repeat, because predict chooses among "
            f"its predictors by a hash of the row: at least {_DISTINCT:.0%} of the rows of the "
            f"first part must be distinct and no row may make up more than {_LARGEST_SHARE:.0%} "
            f"of them, got {share:.1%} distinct and one row {largest} times among {len(rows)}. "
            f"Use protocol='holdout'."
        )


@dataclass(frozen=True)
class HashChoice:
    """Assign each row to one of several predictors, by the row's numbers and a key alone.

    Parameters
    ----------
    weights : tuple of int
        The probability of a predictor, over the key, is proportional to its weight.
    key : bytes
        Drawn once per fit, at most 64 bytes.

    Examples
    --------
    >>> HashChoice((1, 3), b"key")([[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0]]).tolist()
    [0, 1, 0]
    """

    weights: tuple[int, ...]
    key: bytes

    def __call__(self, X: Any) -> NDArray[np.intp]:
        """Return the number of the predictor for each row.

        Parameters
        ----------
        X : array-like of numbers of shape (n_samples, ...)
            Rows.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            From 0 to ``len(weights) - 1``.
        """
        total = sum(self.weights)
        hashes = (blake2b(row, digest_size=8, key=self.key) for row in canonical_rows(X))
        # The first 64 bits as a fraction of 1, times the total.
        places = [int.from_bytes(h.digest(), "big") * total >> 64 for h in hashes]
        return np.searchsorted(np.cumsum(self.weights), np.array(places, np.int64), side="right")
