"""Labelled rows, as every learner sees them, and the losses of predictions on them."""

from __future__ import annotations

import numpy as np

from skbound._sklearn_compat import safe_indexing
from skbound.evidence import Sample

__all__ = ["LabelledRows"]

# Rounding can push a loss of exactly 1 beyond 1 by about this much.
_ROUNDING = 1e-9


# Equal rows up to these are not worth a word.
_REPEATS, _REPEATS_ANYWAY = 0.03, 3
# So many rows are looked at: copies show among them, and more would take longer than they tell.
_LOOKED_AT = 2**17


def _repeats(X, positions, codes):
    """Return how many rows are looked at, and how many equal an earlier one with its label."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if not isinstance(X, np.ndarray):
        return 0, 0
    if len(codes) > _LOOKED_AT:
        some = np.sort(np.random.default_rng(0).choice(len(codes), _LOOKED_AT, replace=False))
        positions, codes = positions[some], codes[some]
    # One at a time: the data may be on disk.
    rows = (X[place] for place in positions)
    keys = (tuple(np.ravel(row)) if X.dtype == object else row.tobytes() for row in rows)
    try:
        distinct = {hash(pair) for pair in zip(keys, codes.tolist(), strict=True)}
    except TypeError:
        # Objects such as lists, which are equal or not for reasons of their own.
        return 0, 0
    return len(codes), len(codes) - len(distinct)


class LabelledRows:
    """Data with labels and weights; rows of weight zero are absent.

    Parameters
    ----------
    X : array-like of shape (n_samples, ...)
        Validated rows.
    y : ndarray of shape (n_samples,)
        Labels.
    weights : ndarray of shape (n_samples,) or None
        Non-negative; None weighs all rows alike.
    classes : ndarray or None, default=None
        All labels, sorted; None takes those that occur.

    Attributes
    ----------
    n_samples : int
        Rows of positive weight. A protocol names them 0 .. n_samples - 1.
    positions : ndarray of int of shape (n_samples,)
        Where they are in X.
    classes : ndarray
        Sorted labels.
    codes : ndarray of int of shape (n_samples,)
        Position of each row's label in `classes`.
    n_classes : int
        How many there are.
    assumptions : tuple of str
        What a certificate on such rows rests on.
    """

    assumptions = (
        "The set of labels is known in advance.",
        "The error is that of unweighted rows, whatever weights training used.",
        "predict answers each row by itself, whatever other rows come with it.",
    )

    def __init__(self, X, y, weights, classes=None):
        self.X, self.y, self.weights = X, y, weights
        self.positions = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        self.classes, self.codes = np.unique(y[self.positions], return_inverse=True)
        if classes is not None:
            self.classes = classes
            self.codes = np.searchsorted(classes, y[self.positions])
        self.n_samples = len(self.positions)
        if self.n_samples < len(y):
            absent = f"{len(y) - self.n_samples} rows of weight zero are absent from the sample."
            self.assumptions = (*self.assumptions, absent)
        self.n_classes = len(self.classes)
        n_rows, n_repeats = _repeats(X, self.positions, self.codes)
        if n_repeats > max(_REPEATS_ANYWAY, int(_REPEATS * n_rows)):
            self.assumptions = (
                *self.assumptions,
                f"{n_repeats} of {n_rows} rows equal an earlier row, with its label. "
                f"That must be chance, and not copies made before fit, as by oversampling.",
            )

    def inputs(self, rows):
        """Return rows as they were given.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.

        Returns
        -------
        array-like
            Of the type of X.
        """
        chosen = self.positions[rows]
        return self.X[chosen] if isinstance(self.X, np.ndarray) else safe_indexing(self.X, chosen)

    def own_weights(self, rows):
        """Return the weights of `rows`, relative to the largest among them.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray or None
            None if there are no weights.
        """
        if self.weights is None:
            return None
        weights = self.weights[self.positions[rows]]
        return weights / weights.max()

    def labels(self, rows):
        """Return the number of the class of each row.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Positions in `classes`.
        """
        return self.codes[rows]

    def majority_share(self, rows):
        """Return the share of the most frequent class among `rows`.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.

        Returns
        -------
        float
            In (0, 1].
        """
        return float(np.bincount(self.codes[rows]).max() / len(rows))

    def log_losses(self, fit, rows):
        """Return minus the logarithms of the predicted probabilities of the labels, in nats.

        Parameters
        ----------
        fit : FittedModel
            From ``fit``.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Finite: a probability below the smallest double counts as that.
        """
        own = self.probabilities(fit, rows)[np.arange(len(rows)), self.codes[rows]]
        return -np.log(np.maximum(own, np.finfo(np.float64).tiny))

    def sample(self, rows, predicted, probabilities):
        """Return the losses of predictions.

        Parameters
        ----------
        rows : ndarray of int of shape (n_samples,)
            Which rows.
        predicted : ndarray of shape (n_samples,)
            Predicted labels.
        probabilities : ndarray of shape (n_samples, n_classes) or None
            Predicted probabilities, if there are any.

        Returns
        -------
        Sample
            0-1 losses and, with probabilities, half the Brier score.

        Raises
        ------
        ValueError
            If probabilities are not finite or no probabilities.
        """
        chosen = self.positions[rows]
        brier = None
        if probabilities is not None:
            one_hot = np.eye(len(self.classes))[self.codes[rows]]
            brier = 0.5 * ((probabilities - one_hot) ** 2).sum(axis=1)
            brier = np.where((brier > 1.0) & (brier <= 1.0 + _ROUNDING), 1.0, brier)
        return Sample(rows=chosen, zero_one=predicted != self.y[chosen], brier=brier)
