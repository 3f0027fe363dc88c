"""Train on all rows and certify nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator

from skbound.evidence import Evidence
from skbound.protocols._fractions import MIN_ROWS
from skbound.protocols._learner import FittedModel, Learner, Rows

__all__ = ["AllRows", "on_all_rows", "too_few_rows"]


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
        return on_all_rows(learner, "all_rows", "the protocol trains on all rows.")


def on_all_rows(
    learner: Learner,
    protocol: str,
    reason: str,
    train: Callable[[Rows], FittedModel] | None = None,
) -> tuple[FittedModel, Evidence]:
    """Train on all rows.

    Parameters
    ----------
    learner : Learner
        Data and classifier.
    protocol : str
        Name of the protocol.
    reason : str
        Why nothing is certified, as a sentence.
    train : callable or None, default=None
        Called with all rows; None stands for ``learner.fit``.

    Returns
    -------
    fit : FittedModel
        Predictor trained on all rows.
    evidence : Evidence
        Without certified rows, but with the reason.
    """
    rows = np.arange(learner.n_samples)
    fit = learner.fit(rows) if train is None else train(rows)
    evidence = Evidence(
        protocol=protocol,
        n_fit=fit.n_fit,
        n_validation=fit.n_validation,
        majority_share=learner.majority_share(rows),
        reason=reason,
    )
    return fit, evidence


def too_few_rows(
    learner: Learner,
    protocol: str,
    purpose: str,
    explicit: str,
    train: Callable[[Rows], FittedModel] | None = None,
) -> tuple[FittedModel, Evidence]:
    """Train on all rows, because "auto" finds too few of them.

    Parameters
    ----------
    learner : Learner
        Data and classifier.
    protocol : str
        Name of the protocol.
    purpose : str
        What the rows are too few for, in words.
    explicit : str
        The parameter with a value that divides them all the same, as in a call.
    train : callable or None, default=None
        As in `on_all_rows`.

    Returns
    -------
    fit : FittedModel
        Predictor trained on all rows.
    evidence : Evidence
        Without certified rows, but with the reason.
    """
    reason = (
        f"{learner.n_samples} rows are too few to {purpose}, so all were trained on (take at least "
        f"{MIN_ROWS}, or say set_params(protocol__{explicit}))."
    )
    return on_all_rows(learner, protocol, reason, train)
