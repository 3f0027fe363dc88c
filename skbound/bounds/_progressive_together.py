"""Bounds for predictors trained in turn that answer together: a vote, an average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skbound.bounds._bound import Bound
from skbound.bounds._progressive import progressive_record
from skbound.bounds._progressive_exact import exact_upper
from skbound.bounds._progressive_mixture import mixture_upper
from skbound.bounds._records import sum_of
from skbound.bounds._together import joint_terms, stands_for
from skbound.evidence import Evidence

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
    wrong, so by Markov's inequality its error is at most twice the mean error (J. Langford and
    J. Shawe-Taylor, "PAC-Bayes & margins", NeurIPS 2002), which :class:`ProgressiveExactBound`
    bounds. Half the squared distance of one vote from the label is 1 if it is wrong, else 0; by
    convexity that of the shares has at most the mean error as mean.

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
    method: ClassVar[str] = "stagewise exact binomial tail bound for a vote"

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean error, what the vote adds, and confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a progressive protocol whose predictors vote.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, for the error ``"vote"``, and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If ``predict`` is no vote of predictors trained in turn.
        """
        record = progressive_record(evidence, self.method, planned=True, together="vote")
        _, factor = stands_for("vote", self.loss)
        error = record.sample.error
        return joint_terms("vote", factor, error, error, confidence=exact_upper(record, delta))


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
    at least 1/4. So by Markov's inequality the error is at most four times the mean; this factor
    is derived here.

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
    method: ClassVar[str] = "mixture supermartingale bound for averaged probabilities"

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss, what averaging adds, and confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a progressive protocol whose probabilities are averaged.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, for the error ``"average"``, and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If ``predict`` is no average of predictors trained in turn, or there are no
            probabilities.
        """
        record = progressive_record(evidence, self.method, together="average")
        loss, factor = stands_for("average", self.loss)
        mean = sum_of(record.sample, loss, self.method) / record.n_samples
        upper = mixture_upper(record, loss, self.method, delta)
        return joint_terms("average", factor, record.sample.error, mean, confidence=upper)
