"""Base class of all bounds: evidence and delta in, certificate out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import fsum
from typing import ClassVar, get_args

from skbound.bounds._certificate import Certificate
from skbound.evidence import Evidence, Loss

__all__ = ["Bound", "increments"]


@dataclass(frozen=True)
class Bound(ABC):
    """A theorem ``expected loss <= value`` that holds with probability at least ``1 - delta``.

    A new bound is a frozen dataclass with a `key`, a `method` in words and one method, `terms`.
    What a choice among candidates costs is paid here, once for all bounds.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded. A bound that does not hold for both names its own in the class
        attribute `losses`.

    Raises
    ------
    ValueError
        If the bound does not hold for the loss.
    """

    key: ClassVar[str]
    method: ClassVar[str]
    losses: ClassVar[tuple[Loss, ...]] = get_args(Loss)

    loss: Loss = "zero_one"

    def __post_init__(self) -> None:
        if self.loss not in self.losses:
            raise ValueError(
                f"loss must be one of {self.losses} for {type(self).__name__}, got {self.loss!r}."
            )

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
            spent=evidence.spent,
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
            In the order in which a report shows them. ``"empirical_loss"`` is the mean of the
            bounded loss that was seen.
        """


def increments(**values: float) -> dict[str, float]:
    """Return what each step of a bound adds to the one before.

    Parameters
    ----------
    **values : float
        The bound after each step, by the name of the step, 0 or more. One that is below an earlier
        one adds nothing.

    Returns
    -------
    dict of str to float
        Amounts of sum ``max(values)``, none of them negative.
    """
    terms, reached = {}, 0.0
    for name, value in values.items():
        terms[name] = max(0.0, value - reached)
        reached = max(reached, value)
    return terms
