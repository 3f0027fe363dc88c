"""Train on all rows and certify nothing."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from skbound.evidence import Evidence
from skbound.protocols._learner import FittedModel, Learner

__all__ = ["AllRows"]


class AllRows(BaseEstimator):
    """Train on all rows; nothing is left to certify.

    For use inside cross-validation, boosting or calibration. ``protocol=None`` is shorthand.
    """

    def run(self, learner: Learner, seed: int) -> tuple[FittedModel, Evidence]:
        """Train.

        Parameters
        ----------
        learner : Learner
            Data and classifier.
        seed : int
            Not used.

        Returns
        -------
        fit : FittedModel
            Predictor trained on all rows.
        evidence : Evidence
            Without certified rows.
        """
        rows = np.arange(learner.n_samples)
        fit = learner.fit(rows)
        evidence = Evidence(
            protocol="all_rows",
            n_fit=fit.n_fit,
            n_validation=fit.n_validation,
            majority_share=learner.majority_share(rows),
            reason="the protocol trains on all rows.",
        )
        return fit, evidence
