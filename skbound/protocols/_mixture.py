"""A keyed hash of the row decides which predictor of a mixture answers for it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HashChoice", "canonical_rows", "check_distinct"]

# The error over the key has a variance of at most a quarter of the probability that two rows
# coincide. Among m rows, 3 % of m coinciding pairs estimate that at 0.06 / m: a standard deviation
# of about 0.12 / sqrt(m), small beside what the bound adds for confidence.
_PAIRS_PER_ROW = 0.03
_MOST_PAIRS_ANYWAY = 3
_FEWEST_ROWS = 30
_PREDICT = "predict of several predictors that share the rows"
_INSTEAD = "Use protocol='holdout' or predictor='vote'"


def canonical_rows(X: Any, who: str = _PREDICT, instead: str = _INSTEAD) -> NDArray[np.float32]:
    """Return rows of numbers in the one form in which they are compared and hashed.

    Parameters
    ----------
    X : array-like of numbers of shape (n_samples, ...)
        Rows as a classifier gets them.
    who : str, default="predict of several predictors that share the rows"
        What hashes the rows, for the message.
    instead : str, default="Use protocol='holdout' or predictor='vote'"
        What does without a hash, for the message.

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
            f"{who} needs rows of numbers, in an array, a DataFrame or a tensor, because "
            f"predict hashes them; got {type(X).__name__} with dtype {array.dtype}. "
            f"{instead}, or encode the rows as numbers before fit."
        )
    with np.errstate(over="ignore"):
        rows = array.reshape(len(array), prod(array.shape[1:])).astype(np.float64).astype("<f4")
    rows[rows == 0.0] = 0.0
    rows[np.isnan(rows)] = np.nan
    return np.ascontiguousarray(rows)


def check_distinct(
    X: Any, who: str, instead: str = _INSTEAD, *, at_least: int = _FEWEST_ROWS
) -> None:
    """Refuse rows that repeat too often for a choice by hash.

    A row value that is frequent gets one predictor for good, so the error would depend on the key.

    Parameters
    ----------
    X : array-like of numbers of shape (n_samples, ...)
        Training-side rows, or all rows where all are trained on.
    who : str
        What hashes the rows, for the message.
    instead : str, default="Use protocol='holdout' or predictor='vote'"
        What does without a hash, for the message.
    at_least : int, default=30
        Fewest rows from which something can be told.

    Raises
    ------
    ValueError
        If there are fewer than `at_least` rows, or more than 3 pairs of equal rows and more than 3
        such pairs per 100 rows.
    """
    rows = canonical_rows(X, who, instead)
    if len(rows) < at_least:
        raise ValueError(
            f"{who} has to see whether rows repeat, because predict chooses among its predictors "
            f"by a hash of the row, and needs at least {at_least} rows for that, got {len(rows)}. "
            f"{instead}, or more rows."
        )
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    counts = np.unique(whole, return_counts=True)[1]
    n_pairs = int((counts * (counts - 1) // 2).sum())
    allowed = max(_MOST_PAIRS_ANYWAY, int(_PAIRS_PER_ROW * len(rows)))
    if n_pairs > allowed:
        raise ValueError(
            f"{who} needs rows that hardly repeat, because predict chooses among its "
            f"predictors by a hash of the row: at most {allowed} pairs of the {len(rows)} rows "
            f"that it looks at may be equal, got {n_pairs}, with {len(counts)} distinct rows and "
            f"one row {int(counts.max())} times among {len(rows)}. {instead}."
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
