"""Score a predictor on the training side of another protocol, whose certified rows stay unread."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import Evidence, Sample
from skbound.protocols._learner import FittedModel, Learner

__all__ = ["InnerSplit"]

_FRACTION = 0.2


class InnerSplit(BaseEstimator):
    """Train on four fifths of the rows that another protocol trains on, evaluate on the fifth.

    Parameters
    ----------
    protocol : protocol object
        With a method ``split(n_samples, seed)`` that returns the rows to train on and the rows to
        certify on. The latter are not used here.
    share : float, default=1.0
        Train on so many of the four fifths, in (0, 1].
    """

    def __init__(self, protocol: Any, share: float = 1.0) -> None:
        self.protocol = protocol
        self.share = share

    @property
    def example(self) -> Evidence:
        """Evidence of the kind that `run` returns."""
        losses = np.zeros(100)
        sample = Sample(np.arange(100), losses, losses)
        return Evidence(protocol="inner_split", n_fit=400, majority_share=0.5, certified=sample)

    def split(self, n_samples: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Split the training side.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.
        seed : int
            Of the other protocol's split, and of this one.

        Returns
        -------
        fit_rows, score_rows : ndarray of int
            Sorted positions; together the rows that the other protocol trains on, if `share` is 1.
            The rows of a smaller share are among those of a larger one.
        """
        rows, _ = self.protocol.split(n_samples, seed)
        own = getattr(self.protocol, "random_state", None)
        if own is not None:
            seed = draw_seed(own)
        order = np.random.default_rng([seed, 7]).permutation(rows)
        n_score = max(1, round(_FRACTION * len(rows)))
        n_fit = max(1, round(self.share * (len(rows) - n_score)))
        return np.sort(order[n_score : n_score + n_fit]), np.sort(order[:n_score])

    def run(self, learner: Learner, seed: int) -> tuple[FittedModel, Evidence]:
        """Train and evaluate.

        Parameters
        ----------
        learner : Learner
            Data and classifier.
        seed : int
            Of the split.

        Returns
        -------
        fit : FittedModel
            Trained on four fifths of the training side.
        evidence : Evidence
            With losses on the fifth.
        """
        fit_rows, score_rows = self.split(learner.n_samples, seed)
        fit = learner.fit(fit_rows)
        evidence = Evidence(
            protocol="inner_split",
            n_fit=fit.n_fit,
            n_validation=fit.n_validation,
            majority_share=learner.majority_share(fit_rows),
            certified=learner.losses(fit, score_rows),
        )
        return fit, evidence
