"""What the losses tell about which rows were trained on, by fitting many times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skbound.inspection._replace_one import wrong

__all__ = ["EvaluatedCMI", "evaluated_cmi"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluatedCMI:
    """Estimated mutual information of losses and the choice of rows to train on.

    Parameters
    ----------
    by_pair : ndarray of shape (n_supersamples, n_samples), nats
        For each pair of rows of a supersample, the information between the two rows' wrong
        predictions and the coin that tells which of them was trained on, in [0, ln 2].
    bias : float
        About how much too large the sum over pairs is, because few draws stand for all (Miller
        1955); it is not subtracted.
    gap : float
        Mean of the error on the rows left out minus that on the rows trained on.
    n_samples, n_fits : int
        Rows per fit, and fits made.
    """

    by_pair: Numbers
    bias: float
    gap: float
    n_samples: int
    n_fits: int

    @property
    def information(self) -> float:
        """Sum over pairs, averaged over supersamples, in nats.

        It estimates a part of the evaluated conditional mutual information: coins are independent,
        so all losses together tell at least as much as the pairs one by one.
        """
        return float(self.by_pair.sum(axis=1).mean())

    @property
    def gap_expression(self) -> float:
        """Mean over pairs of ``sqrt(2 I)``, what the expected gap would not exceed.

        With the true information of each pair it is a theorem about the mean over samples and fits;
        with an estimate it is an estimate, and in no case does it bound the error of one fit. It is
        at most ``sqrt(2 information / n_samples)`` for one supersample.
        """
        return float(np.sqrt(2.0 * self.by_pair).mean())


def evaluated_cmi(
    estimator: Any, X: Any, y: Any, *, n_supersamples: int = 2, n_draws: int = 20, seed: int = 0
) -> EvaluatedCMI:
    """Estimate the evaluated conditional mutual information of a learner for 0-1 loss.

    Rows are put into random pairs; a fair coin per pair picks the row to train on; after the fit,
    both rows of each pair are predicted. Many coins for the same pairs give the information.

    Costs ``n_supersamples * n_draws`` fits on half of the rows. The coins of a pair are
    seen `n_draws` times, so what is much smaller than ``1 / n_draws`` nats cannot be told from 0.

    Parameters
    ----------
    estimator : estimator
        With ``fit`` and ``predict``; it is cloned and stays unfitted. Its own randomness counts
        as part of the learner if its ``random_state`` is None.
    X, y : array-like of shape (n_rows, ...) and (n_rows,)
        At least 2; the last one is left out if they are odd in number.
    n_supersamples : int, default=2
        Random pairings.
    n_draws : int, default=20
        Draws of all coins per pairing, at least 2.
    seed : int, default=0
        Of pairs and coins.

    Returns
    -------
    EvaluatedCMI
        With its cost.

    Raises
    ------
    ValueError
        If there are too few rows or draws.

    Notes
    -----
    For a loss in [0, 1], with ``I_i`` the information of pair `i` given the supersample, the
    expected gap is at most ``E (1/n) sum_i sqrt(2 I_i)``, and at most ``sqrt(2 CMI / n)`` [1]_ [2]_
    [3]_.

    References
    ----------
    .. [1] T. Steinke and L. Zakynthinou, "Reasoning about generalization via conditional mutual
       information", COLT 2020, Theorem 2 and Section 6.
    .. [2] H. Harutyunyan, M. Raginsky, G. Ver Steeg and A. Galstyan, "Information-theoretic
       generalization bounds for black-box learning algorithms", NeurIPS 2021.
    .. [3] F. Hellstrom and G. Durisi, "A new family of generalization bounds using samplewise
       evaluated CMI", NeurIPS 2022.
    """
    X, y = np.asarray(X), np.asarray(y)
    n = len(y) // 2
    if n < 1 or n_draws < 2 or n_supersamples < 1:
        raise ValueError(
            f"There must be at least 2 rows, 2 draws and 1 supersample, got {len(y)}, {n_draws} "
            f"and {n_supersamples}."
        )
    information, biases, gaps = [], [], []
    for supersample in range(n_supersamples):
        rng = np.random.default_rng([seed, supersample])
        pairs = rng.permutation(len(y))[: 2 * n].reshape(n, 2)
        coins = rng.integers(2, size=(n_draws, n))
        losses = np.array([_losses(estimator, X, y, pairs, coin) for coin in coins])
        in_order = np.take_along_axis(losses, coins[..., None], axis=2)[..., 0]
        gaps.append(float((losses.sum(axis=2) - 2 * in_order).mean()))
        # The two losses of a pair as one number.
        told = (losses[..., 0] * 2 + losses[..., 1]).astype(np.intp)
        found = [_plug_in(told[:, i], coins[:, i]) for i in range(n)]
        information.append([value for value, _ in found])
        biases.append(math.fsum(bias for _, bias in found))
    return EvaluatedCMI(
        by_pair=np.array(information),
        bias=float(np.mean(biases)),
        gap=float(np.mean(gaps)),
        n_samples=n,
        n_fits=n_supersamples * n_draws,
    )


def _losses(
    estimator: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    pairs: NDArray[np.intp],
    coin: NDArray[np.intp],
) -> Numbers:
    """Train on the rows that the coins pick; return the losses of all pairs, (n, 2)."""
    rows = pairs[np.arange(len(pairs)), coin]
    model = clone(estimator).fit(X[rows], y[rows])
    everything = pairs.ravel()
    return wrong(model, X[everything], y[everything]).reshape(-1, 2)


def _plug_in(told: NDArray[np.intp], coins: NDArray[np.intp]) -> tuple[float, float]:
    """Return the mutual information of what was seen, in nats, and its bias."""
    table = np.zeros((4, 2))
    np.add.at(table, (told, coins), 1.0)
    shares = table / len(coins)
    product = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    seen = shares > 0.0
    value = float((shares[seen] * np.log(shares[seen] / product[seen])).sum())
    free = ((table.sum(axis=1) > 0).sum() - 1) * ((table.sum(axis=0) > 0).sum() - 1)
    return max(0.0, value), float(free) / (2.0 * len(coins))
