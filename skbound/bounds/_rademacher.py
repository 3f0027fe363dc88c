"""From a Rademacher complexity to a bound on the risk."""

from __future__ import annotations

import math

from skbound.bounds._inversion import rounded_up

__all__ = ["rademacher_upper"]


def rademacher_upper(
    empirical_risk: float,
    complexity: float,
    n_samples: int,
    delta: float,
    *,
    loss_range: float = 1.0,
) -> float:
    r"""Bound the risk of every function of a class by its empirical risk and the complexity.

    With probability at least ``1 - delta`` over `n_samples` independent rows, for all functions of
    the class at once, the risk is at most ``empirical_risk + 2 complexity + 3 M sqrt(ln(2 / delta)
    / (2 n))``, for losses in [0, M].

    Parameters
    ----------
    empirical_risk : float
        Mean loss of the function on the rows, in [0, M].
    complexity : float
        Empirical Rademacher complexity of the class of losses, ``E sup (1/n) sum_i s_i l(f, z_i)``
        on these rows, exactly or bounded from above. An estimate, such as a mean over draws of
        signs, is neither: add a bound on its error, and give that its share of `delta`. Training on
        random labels finds less than the supremum, so it never gives an upper bound. For the
        losses ``l(f(x))`` of scalar functions with an `L`-Lipschitz ``l``, `L` times the complexity
        of the functions is an upper bound; with several outputs, ``sqrt(2) L E sup (1/n) sum_ik
        s_ik f_k(x_i)``.
    n_samples : int
        Rows, at least 1. The class must not depend on them; the function may.
    delta : float
        In (0, 1).
    loss_range : float, default=1.0
        ``M``, positive.

    Returns
    -------
    float
        Not clipped: more than ``M`` says nothing.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    .. [1] P. L. Bartlett and S. Mendelson, "Rademacher and Gaussian complexities", JMLR 3, 2002,
       Theorem 8. In this form: M. Mohri, A. Rostamizadeh and A. Talwalkar, "Foundations of machine
       learning", 2nd edition, 2018, Theorem 3.3.
    .. [2] A. Maurer, "A vector-contraction inequality for Rademacher complexities", ALT 2016.

    Examples
    --------
    >>> round(rademacher_upper(0.1, 0.02, 5_000, 0.05), 4)
    0.1976
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be in (0, 1), got {delta}.")
    if not loss_range > 0.0:
        raise ValueError(f"loss_range must be positive, got {loss_range}.")
    # A supremum over a class has mean at least that of one function, which is 0.
    if not complexity >= 0.0:
        raise ValueError(f"complexity must not be negative, got {complexity}.")
    if not 0.0 <= empirical_risk <= loss_range:
        raise ValueError(f"empirical_risk must be in [0, {loss_range}], got {empirical_risk}.")
    confidence = 3.0 * loss_range * math.sqrt(math.log(2.0 / delta) / (2.0 * n_samples))
    return rounded_up(empirical_risk + 2.0 * complexity + confidence)
