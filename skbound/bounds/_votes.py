"""Bounds on the error of a weighted vote from the errors of its members."""

from __future__ import annotations

import math

from skbound.bounds._inversion import kl_inverse_lower, kl_inverse_upper, log_xi, rounded_up

__all__ = ["c_bound", "c_bound_upper", "first_order_upper", "tandem_upper"]


def _radius(divergence: float, n_samples: int, delta: float) -> float:
    if not 0.0 < delta < 1.0 or not divergence >= 0.0:
        raise ValueError(
            f"delta must lie in (0, 1) and divergence be at least 0, got {delta!r} and "
            f"{divergence!r}."
        )
    return (divergence + log_xi(n_samples) - math.log(delta)) / n_samples


def first_order_upper(gibbs: float, *, divergence: float, n_samples: int, delta: float) -> float:
    """Bound the error of a vote by twice the mean error of its members.

    Where the vote errs, members with half of the weight or more err [1]_.

    Parameters
    ----------
    gibbs : float
        Weighted mean of the members' errors on the rows, in [0, 1].
    divergence : float
        Relative entropy of the weights from weights fixed beforehand, in nats: at most the
        logarithm of the number of members against equal weights.
    n_samples : int
        Rows that every member was evaluated on; the smallest number if they differ.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        Upper bound on the error of the vote, not clipped.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    .. [1] J. Langford and J. Shawe-Taylor, "PAC-Bayes & margins", NeurIPS 2002.

    Examples
    --------
    >>> round(first_order_upper(0.1, divergence=1.0, n_samples=1000, delta=0.05), 4)
    0.2825
    """
    return rounded_up(2.0 * kl_inverse_upper(gibbs, _radius(divergence, n_samples, delta)))


def tandem_upper(tandem: float, *, divergence: float, n_samples: int, delta: float) -> float:
    """Bound the error of a vote by how often two members err together.

    Parameters
    ----------
    tandem : float
        Mean over the rows of the squared weight of the erring members: the share of rows on which
        two members, drawn independently by their weights, both err.
    divergence : float
        Relative entropy of the weights from weights fixed beforehand, in nats; pairs count twice.
    n_samples : int
        Rows that every pair was evaluated on; the smallest number if they differ.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        Upper bound on the error of the vote, not clipped.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With ``Z`` the weight of the erring members, a vote that errs has ``Z >= 1/2``, so its error is
    at most ``4 E Z^2``, for any number of classes [1]_. The pairs' weights have relative entropy
    ``2 KL`` from the product of the fixed ones.

    References
    ----------
    .. [1] A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin, "Second order PAC-Bayesian bounds
       for the weighted majority vote", NeurIPS 2020, Theorem 1.

    Examples
    --------
    >>> round(tandem_upper(0.02, divergence=1.0, n_samples=1000, delta=0.05), 4)
    0.1771
    """
    radius = _radius(2.0 * divergence, n_samples, delta)
    return rounded_up(4.0 * kl_inverse_upper(tandem, radius))


def c_bound(gibbs: float, disagreement: float) -> float:
    """Bound the error of a vote by a mean error below one half and by disagreement.

    Parameters
    ----------
    gibbs : float
        Mean error of the members, or an upper bound on it, in [0, 1].
    disagreement : float
        Probability that exactly one of two independently drawn members errs, or a lower bound on
        it, in [0, 1/2]. With two classes that is the probability that they disagree.

    Returns
    -------
    float
        ``1 - (1 - 2 gibbs)^2 / (1 - 2 disagreement)``; 1 if `gibbs` is 1/2 or more.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With ``Z`` the weight of the erring members, a vote that errs has ``Z >= 1/2``. By Cantelli's
    inequality that has a probability of at most ``V / (V + (1/2 - E Z)^2)`` with the variance
    ``V`` of ``Z``, and twice the mean of ``Z (1 - Z)`` is the disagreement [1]_. The value grows
    with `gibbs` and falls with `disagreement`, so bounds on either may be put in.

    References
    ----------
    .. [1] P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy, "Risk bounds for the
       majority vote: from a PAC-Bayesian analysis to a learning algorithm", JMLR 16, 2015.

    Examples
    --------
    >>> round(c_bound(0.3, 0.4), 6)
    0.2
    """
    if not 0.0 <= gibbs <= 1.0 or not 0.0 <= disagreement <= 0.5:
        raise ValueError(
            f"gibbs must lie in [0, 1] and disagreement in [0, 1/2], got {gibbs!r} and "
            f"{disagreement!r}."
        )
    if gibbs >= 0.5:
        return 1.0
    # The disagreement is at most 2 gibbs (1 - gibbs); a larger one is a matter of two estimates.
    possible = min(disagreement, 2.0 * gibbs * (1.0 - gibbs))
    return max(0.0, 1.0 - (1.0 - 2.0 * gibbs) ** 2 / (1.0 - 2.0 * possible))


def c_bound_upper(
    gibbs: float, disagreement: float, *, divergence: float, n_samples: int, delta: float
) -> float:
    """Bound the error of a vote by :func:`c_bound` at two bounds from the same rows.

    Parameters
    ----------
    gibbs : float
        Weighted mean of the members' errors on the rows, in [0, 1].
    disagreement : float
        Weighted share of pairs of which exactly one errs, in [0, 1/2].
    divergence : float
        Relative entropy of the weights from weights fixed beforehand, in nats; pairs count twice.
    n_samples : int
        Rows that every pair was evaluated on; the smallest number if they differ.
    delta : float
        In (0, 1); half for each of the two.

    Returns
    -------
    float
        Upper bound on the error of the vote, at most 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(c_bound_upper(0.2, 0.3, divergence=0.0, n_samples=5000, delta=0.05), 4)
    0.3228
    """
    upper = kl_inverse_upper(gibbs, _radius(divergence, n_samples, delta / 2.0))
    radius = _radius(2.0 * divergence, n_samples, delta / 2.0)
    return min(1.0, rounded_up(c_bound(upper, kl_inverse_lower(disagreement, radius))))
