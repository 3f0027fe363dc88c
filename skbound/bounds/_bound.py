"""Base class of all bounds: evidence and delta in, certificate out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import fsum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._certificate import Certificate
from skbound.evidence import Evidence, Loss, Sample
from skbound.exceptions import MissingEvidenceError

__all__ = ["Bound", "losses_of"]


def losses_of(sample: Sample, loss: Loss, method: str) -> NDArray[np.float64]:
    """Return one kind of losses of a sample.

    Parameters
    ----------
    sample : Sample
        Where they are.
    loss : {"zero_one", "brier"}
        Which ones.
    method : str
        The bound in words, for the message.

    Returns
    -------
    ndarray of shape (n_samples,)
        In [0, 1].

    Raises
    ------
    MissingEvidenceError
        If the Brier loss is asked for and there are no probabilities.
    """
    losses = sample.zero_one if loss == "zero_one" else sample.brier
    if losses is None:
        raise MissingEvidenceError(
            f"The {method} for loss='brier' needs predicted probabilities on the certified rows. "
            f"Use a classifier with predict_proba, or loss='zero_one'."
        )
    return losses


class Bound(ABC):
    """A theorem ``expected loss <= value`` that holds with probability at least ``1 - delta``.

    A new bound is a frozen dataclass with a `key`, a `method` in words and one method, `terms`.
    Paying for a choice among candidates is done here, once for all bounds.
    """

    key: ClassVar[str]
    method: ClassVar[str]
    loss: Loss = "zero_one"

    def __call__(self, evidence: Evidence, delta: float = 0.05) -> Certificate:
        """Compute the certificate.

        Parameters
        ----------
        evidence : Evidence
            Record of a fit.
        delta : float, default=0.05
            Probability with which the bound may fail, in (0, 1).

        Returns
        -------
        Certificate
            At level `delta` for the whole choice among ``evidence.n_candidates``.

        Raises
        ------
        ValueError
            If `delta` is outside (0, 1).
        MissingEvidenceError
            If the fit did not leave behind what the bound needs.
        """
        if not 0.0 < delta < 1.0:
            raise ValueError(f"delta must lie in (0, 1), got {delta!r}.")
        terms = self.terms(evidence, delta)
        level = evidence.level(delta)
        if level < delta:
            paid = fsum(self.terms(evidence, level).values())
            terms["choice"] = paid - fsum(terms.values())
        return Certificate(
            value=fsum(terms.values()),
            delta=delta,
            name=self.key,
            method=self.method,
            loss=self.loss,
            terms=terms,
            n_fit=evidence.n_fit,
            n_certified=evidence.n_certified,
            n_candidates=evidence.n_candidates,
            share=evidence.share,
            n_predictors=evidence.n_predictors,
            over="" if evidence.certified is None else evidence.certified.over,
            spent="" if evidence.certified is None else evidence.certified.spent(evidence.n_fit),
            baseline=1.0 - evidence.majority_share,
            assumptions=evidence.assumptions,
            caveats=evidence.caveats,
        )

    @abstractmethod
    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Return named amounts whose sum is the bound at level `delta` for one predictor.

        Parameters
        ----------
        evidence : Evidence
            Record of a fit.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            In the order in which a report shows them.
        """
