"""How much a predictor depends on single rows, by fitting it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

__all__ = ["ReplaceOne", "replace_one_sensitivity"]

Numbers = NDArray[np.float64]
Loss = Callable[[Any, NDArray[Any], NDArray[Any]], Numbers]


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplaceOne:
    """What changed when one row of the training data was replaced by another.

    Parameters
    ----------
    row : ndarray of int of shape (n_replaced,)
        Which row was replaced.
    own_change : ndarray of shape (n_replaced,)
        Loss at the row that was taken out, after minus before. Its mean over rows and samples is
        the expected difference of risk and training loss.
    mean_change, largest_change : ndarray of shape (n_replaced,)
        Mean and largest absolute change of the loss over all rows given. Uniform stability is
        at least the largest: this is a lower estimate of it.
    """

    row: NDArray[np.intp]
    own_change: Numbers
    mean_change: Numbers
    largest_change: Numbers

    def to_frame(self) -> Any:
        """Return a table.

        Returns
        -------
        pandas.DataFrame
            One row per replaced row.
        """
        import pandas as pd  # type: ignore[import-untyped]

        return pd.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})


def replace_one_sensitivity(
    estimator: Any,
    X: Any,
    y: Any,
    X_other: Any,
    y_other: Any,
    *,
    n_replaced: int = 10,
    loss: Loss | None = None,
    seed: int = 0,
) -> ReplaceOne:
    """Fit again with one row replaced, for some rows, and compare the losses.

    Costs ``n_replaced + 1`` fits. It bounds nothing: few replacements are tried. Set the
    estimator's ``random_state`` to a number, else its own randomness is part of the change.

    Parameters
    ----------
    estimator : estimator
        With ``fit`` and ``predict``; it is cloned and stays unfitted.
    X, y : array-like of shape (n_samples, ...) and (n_samples,)
        Rows to train on.
    X_other, y_other : array-like
        At least `n_replaced` other rows of the same distribution.
    n_replaced : int, default=10
        How many rows to replace, one at a time, each by another of the other rows.
    loss : callable or None, default=None
        Takes a fitted estimator, rows and labels and returns one loss per row; None counts wrong
        predictions.
    seed : int, default=0
        Of the choice of rows.

    Returns
    -------
    ReplaceOne
        One entry per replaced row.

    Raises
    ------
    ValueError
        If there are too few rows.

    References
    ----------
    .. [1] O. Bousquet and A. Elisseeff, "Stability and generalization", JMLR 2, 2002.
    """
    X, y, X_other, y_other = (np.asarray(values) for values in (X, y, X_other, y_other))
    if not 1 <= n_replaced <= min(len(y), len(y_other)):
        raise ValueError(
            f"n_replaced must be from 1 to the number of rows and of other rows, got {n_replaced} "
            f"with {len(y)} and {len(y_other)}. Pass more rows or a smaller n_replaced."
        )
    loss = loss or wrong
    rows = np.sort(np.random.default_rng([seed, 0]).choice(len(y), n_replaced, replace=False))
    all_X, all_y = np.concatenate([X, X_other]), np.concatenate([y, y_other])
    before = loss(clone(estimator).fit(X, y), all_X, all_y)
    own, mean, largest = [], [], []
    for place, row in enumerate(rows):
        changed_X, changed_y = X.copy(), y.copy()
        changed_X[row], changed_y[row] = X_other[place], y_other[place]
        change = loss(clone(estimator).fit(changed_X, changed_y), all_X, all_y) - before
        own.append(change[row])
        mean.append(np.abs(change).mean())
        largest.append(np.abs(change).max())
    return ReplaceOne(
        row=rows,
        own_change=np.array(own),
        mean_change=np.array(mean),
        largest_change=np.array(largest),
    )


def wrong(model: Any, X: NDArray[Any], y: NDArray[Any]) -> Numbers:
    """Return 1.0 for each row that a fitted classifier predicts wrongly, else 0.0."""
    return (np.asarray(model.predict(X)) != y).astype(np.float64)
