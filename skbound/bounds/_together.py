"""What a loss of several predictors that answer together has to do with the losses of each."""

from __future__ import annotations

from skbound.bounds._bound import increments
from skbound.evidence import Loss

__all__ = ["joint_terms", "stands_for"]


def stands_for(predictor: str, loss: Loss, n_equal: int | None = None) -> tuple[Loss, float]:
    """Return which loss of single predictors bounds a loss of ``predict``, and how many times.

    Parameters
    ----------
    predictor : {"vote", "average"} or another
        What ``predict`` does with the predictors; any other answer is that of one of them.
    loss : {"zero_one", "brier"}
        Loss of ``predict`` that is to be bounded.
    n_equal : int or None, default=None
        Number of predictors, if all have one vote; None for other weights.

    Returns
    -------
    loss : {"zero_one", "brier"}
        Loss of the single predictors, whose weighted mean counts.
    factor : float
        At most this many times that mean is the mean loss of ``predict``.

    Notes
    -----
    - *Vote.* Where it is wrong, no more than half of the weight is on the right label, so at least
      half of it is wrong, or ``a = (K + 1) // 2`` of `K` equal votes. By Markov's inequality its
      error is at most 2, or ``K / a``, times the mean error: 3/2 for three predictors, 5/3 for
      five, 2 for any even number. Half the Brier score of the shares of votes is convex in them, so
      its mean is at most the mean error.
    - *Averaged probabilities.* Half the Brier score is convex, so by Jensen's inequality that of
      the average is at most the mean of the predictors' own. Where the average is largest at a
      wrong class, that class has at least the probability of the right one, and half the Brier
      score is at least 1/4: the error is at most four times the mean.
    """
    if predictor == "vote":
        factor = 2.0 if n_equal is None else n_equal / ((n_equal + 1) // 2)
        return "zero_one", factor if loss == "zero_one" else 1.0
    if predictor == "average" and loss == "zero_one":
        return "brier", 4.0
    return loss, 1.0


def joint_terms(
    predictor: str, factor: float, error: float, mean: float, **values: float
) -> dict[str, float]:
    """Split a bound on what several predictors answer.

    Parameters
    ----------
    predictor : str
        What ``predict`` does with them.
    factor : float
        As in `stands_for`.
    error, mean : float
        Mean error of the predictors, and mean of the loss that stands for what is bounded.
    **values : float
        Bounds on the expectation of the latter, each step paid for on top of those before.

    Returns
    -------
    dict of str to float
        ``"empirical_loss"``; under the name of `predictor` what the factor adds to it, if there is
        one; and what each step adds.
    """
    steps = {"empirical_loss": mean}
    if factor > 1.0:
        steps = {"empirical_loss": error, predictor: factor * mean}
    return increments(**steps, **{name: factor * value for name, value in values.items()})
