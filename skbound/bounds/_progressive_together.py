"""Bounds for predictors trained in turn that answer together: a vote, an average."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

from skbound.bounds._bound import Bound
from skbound.bounds._progressive import progressive_record
from skbound.bounds._progressive_exact import ProgressiveExactBound
from skbound.bounds._progressive_mixture import ProgressiveMixtureBound
from skbound.evidence import Evidence, Loss, Together

__all__ = ["ProgressiveAverageBound", "ProgressiveVoteBound"]


@dataclass(frozen=True)
class ProgressiveVoteBound(Bound):
    """Bound for a vote of predictors that were trained in turn.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        The error of the vote, or half the Brier score of the shares of votes.

    Raises
    ------
    ValueError
        If the name of the loss is unknown.

    Notes
    -----
    Weights are the sizes of the blocks. Where the vote is wrong, at least half of the weight is
    wrong, so by Markov's inequality its error is at most twice the mean error, which
    :class:`ProgressiveExactBound` bounds. Half the squared distance of one vote from the label is
    1 if it is wrong, else 0; by convexity that of the shares has at most the mean error as mean.

    Examples
    --------
    >>> from skbound.evidence import Evidence, ProgressiveSample, Sample
    >>> sample = Sample(range(200), ([1] * 10 + [0] * 90) * 2)
    >>> blocks = ProgressiveSample(sample, [0] * 100 + [1] * 100, together="vote")
    >>> evidence = Evidence(
    ...     protocol="progressive", n_fit=400, majority_share=0.5, certified=blocks
    ... )
    >>> round(ProgressiveVoteBound()(evidence, 0.05).value, 3)
    0.298
    """

    key: ClassVar[str] = "progressive_vote"
    method: ClassVar[str] = "combination of the blocks' exact binomial tails, for the vote"

    loss: Loss = "zero_one"

    def __post_init__(self) -> None:
        _check(self.loss)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Return the terms of the mean error and what the vote adds.

        Parameters
        ----------
        evidence : Evidence
            Of a progressive protocol whose predictors vote.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, ``"confidence"`` and for the error ``"vote"``.

        Raises
        ------
        MissingEvidenceError
            If ``predict`` is no vote of predictors trained in turn.
        """
        evidence = _as_mixture(evidence, self.method, "vote")
        terms = ProgressiveExactBound().terms(evidence, delta)
        return terms | {"vote": math.fsum(terms.values())} if self.loss == "zero_one" else terms


@dataclass(frozen=True)
class ProgressiveAverageBound(Bound):
    """Bound for the averaged probabilities of predictors that were trained in turn.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        The error of the largest average, or half the Brier score of the averages.

    Raises
    ------
    ValueError
        If the name of the loss is unknown.

    Notes
    -----
    Weights are the sizes of the blocks. Half the squared distance from the label is convex, so by
    Jensen's inequality that of the average has at most the mean of theirs as mean, which
    :class:`ProgressiveMixtureBound` bounds. Where the largest average is not the label's, some
    other class has a probability no smaller than the label's; half the squared distance is then
    at least 1/4. So by Markov's inequality the error is at most four times the mean.

    Examples
    --------
    >>> from skbound.evidence import Evidence, ProgressiveSample, Sample
    >>> sample = Sample(range(200), [0] * 200, [0.01] * 200)
    >>> blocks = ProgressiveSample(sample, [0] * 100 + [1] * 100, together="average")
    >>> evidence = Evidence(
    ...     protocol="progressive", n_fit=400, majority_share=0.5, certified=blocks
    ... )
    >>> round(ProgressiveAverageBound("brier")(evidence, 0.05).value, 3)
    0.046
    """

    key: ClassVar[str] = "progressive_average"
    method: ClassVar[str] = "progressive supermartingale bound for averaged probabilities"

    loss: Loss = "zero_one"

    def __post_init__(self) -> None:
        _check(self.loss)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Return the terms of half the Brier score and what the error adds.

        Parameters
        ----------
        evidence : Evidence
            Of a progressive protocol whose probabilities are averaged.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, ``"confidence"`` and for the error ``"largest_average"``.

        Raises
        ------
        MissingEvidenceError
            If ``predict`` is no average of predictors trained in turn, or there are no
            probabilities.
        """
        evidence = _as_mixture(evidence, self.method, "average")
        terms = ProgressiveMixtureBound("brier").terms(evidence, delta)
        if self.loss == "zero_one":
            terms["largest_average"] = 3.0 * math.fsum(terms.values())
        return terms


def _check(loss: Loss) -> None:
    if loss not in get_args(Loss):
        raise ValueError(f"loss must be one of {get_args(Loss)}, got {loss!r}.")


def _as_mixture(evidence: Evidence, method: str, together: Together) -> Evidence:
    """Return the same losses as those of a mixture, whose error the factors are applied to."""
    record = progressive_record(evidence, method, together=together)
    return replace(evidence, certified=replace(record, together="gibbs"))
