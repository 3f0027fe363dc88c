"""Inverses of the binomial tail and of the binary relative entropy, rounded to the safe side.

Every result errs by a relative margin of 1e-12 in the direction that keeps a bound valid: upper
inverses are rounded up, lower inverses down, and all of them stay in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index

import numpy as np
from scipy import special

__all__ = ["binomial_tail_inverse", "kl", "kl_inverse_lower", "kl_inverse_upper", "log_xi"]

_MARGIN = 1e-12
# Below this the incomplete beta function is too close to the smallest double to be trusted.
_LOG_DELTA_SCIPY = -650.0
_LARGEST_EXACT_XI = 10**9


def rounded_up(value: float) -> float:
    """Enlarge a non-negative upper result by the safety margin."""
    return value * (1.0 + _MARGIN)


def bisect(holds: Callable[[float], bool], inside: float, outside: float) -> tuple[float, float]:
    """Narrow a bracket to two neighbouring floats.

    Parameters
    ----------
    holds : callable
        True on the side of `inside`, false on the side of `outside`; called only between them.
    inside, outside : float
        End points, in either order.

    Returns
    -------
    inside, outside : float
        The narrowed bracket.
    """
    while True:
        middle = (inside + outside) / 2.0
        if middle in (inside, outside):
            return inside, outside
        if holds(middle):
            inside = middle
        else:
            outside = middle


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}.")


def _entropy_part(x: float, y: float, difference: float) -> float:
    """Return ``x ln(x / y)``, where ``difference = y - x`` is known more exactly than `y`."""
    if x == 0.0:
        return 0.0
    if y == 0.0:
        return math.inf
    if 0.5 * x < y < 2.0 * x:
        return -x * math.log1p(difference / x)
    return x * (math.log(x) - math.log(y))


def kl(q: float, p: float) -> float:
    """Relative entropy of a Bernoulli(q) from a Bernoulli(p) law.

    Parameters
    ----------
    q, p : float
        Probabilities.

    Returns
    -------
    float
        ``q ln(q/p) + (1-q) ln((1-q)/(1-p))`` in nats, with ``0 ln 0 = 0``; infinite where `p` is
        0 or 1 and `q` differs from it.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> kl(0.0, 1.0)
    inf
    >>> round(kl(0.1, 0.2), 6)
    0.03669
    """
    _check_probability("q", q)
    _check_probability("p", p)
    if p == q:
        return 0.0
    # The two parts nearly cancel for close arguments, which can leave a tiny negative number.
    return max(0.0, _entropy_part(q, p, p - q) + _entropy_part(1.0 - q, 1.0 - p, q - p))


def _check_divergence(c: float) -> None:
    if not c >= 0.0:
        raise ValueError(f"c must be a non-negative number of nats, got {c!r}.")


def kl_inverse_upper(q: float, c: float) -> float:
    """Return the largest probability within relative entropy `c` of `q`.

    Parameters
    ----------
    q : float
        Observed mean, in [0, 1].
    c : float
        Radius in nats, at least 0.

    Returns
    -------
    float
        ``sup{p in [q, 1]: kl(q, p) <= c}``, rounded up.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(kl_inverse_upper(0.1, 0.1), 6)
    0.282379
    """
    _check_probability("q", q)
    _check_divergence(c)
    _, outside = bisect(lambda p: kl(q, p) <= c, q, 1.0)
    return min(1.0, rounded_up(outside))


def kl_inverse_lower(q: float, c: float) -> float:
    """Return the smallest probability within relative entropy `c` of `q`.

    Parameters
    ----------
    q : float
        Observed mean, in [0, 1].
    c : float
        Radius in nats, at least 0.

    Returns
    -------
    float
        ``inf{p in [0, q]: kl(q, p) <= c}``, rounded down.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(kl_inverse_lower(1.0, 0.1), 6)
    0.904837
    """
    _check_probability("q", q)
    _check_divergence(c)
    _, outside = bisect(lambda p: kl(q, p) <= c, q, 0.0)
    return outside * (1.0 - _MARGIN)


def binomial_tail_inverse(n_errors: int, n_samples: int, *, log_delta: float) -> float:
    """Return the largest error rate that makes so few errors with probability `delta` or more.

    This is the one-sided Clopper-Pearson limit: with probability at least ``1 - delta`` over
    `n_samples` independent trials the true rate is at most the returned value [1]_.

    Parameters
    ----------
    n_errors : int
        Number of errors seen, from 0 to `n_samples`.
    n_samples : int
        Number of independent trials, at least 1.
    log_delta : float
        Natural logarithm of the failure probability, negative. It may be far below the
        logarithm of the smallest double.

    Returns
    -------
    float
        ``sup{p: P(Bin(n_samples, p) <= n_errors) >= delta}``, rounded up; 1.0 if all trials
        failed.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
       in the case of the binomial", Biometrika 26, 1934. As a test-set bound: J. Langford,
       "Tutorial on practical prediction theory for classification", JMLR 6, 2005, Theorem 3.3.

    Examples
    --------
    >>> import math
    >>> round(binomial_tail_inverse(7, 287, log_delta=math.log(0.05)), 6)
    0.045322
    """
    k, n = index(n_errors), index(n_samples)
    if n < 1:
        raise ValueError(f"n_samples must be at least 1, got {n}.")
    if not 0 <= k <= n:
        raise ValueError(f"n_errors must lie between 0 and n_samples = {n}, got {k}.")
    if not -math.inf < log_delta < 0.0:
        raise ValueError(f"log_delta must be negative and finite, got {log_delta!r}.")
    if k == n:
        return 1.0
    if k == 0:
        return min(1.0, rounded_up(-math.expm1(log_delta / n)))
    if log_delta > _LOG_DELTA_SCIPY:
        return _tail_inverse_scipy(k, n, log_delta)
    return _tail_inverse_logs(k, n, log_delta)


def _tail_inverse_scipy(k: int, n: int, log_delta: float) -> float:
    delta = math.exp(log_delta)
    p = min(1.0, rounded_up(float(special.betainccinv(k + 1, n - k, delta))))
    # The inverse is iterative; the forward function is the judge.
    step = _MARGIN
    while p < 1.0 and not special.betaincc(k + 1, n - k, p) <= delta:
        p = min(1.0, p * (1.0 + step))
        step *= 2.0
    return p


def _tail_inverse_logs(k: int, n: int, log_delta: float) -> float:
    # Under the rates in question the terms further down are negligible.
    first = max(0, k - 1000 - 4 * math.isqrt(n))
    counts = np.arange(first, k + 1, dtype=np.float64)
    log_choose = -math.log1p(n) - special.betaln(counts + 1.0, n - counts + 1.0)
    # Rounding of the log-gamma function, always counted as if it had made the tail too small.
    slack = 1e-15 * float(special.gammaln(n + 1.0))

    def exceeds(p: float) -> bool:
        log_pmf = log_choose + counts * math.log(p) + (n - counts) * math.log1p(-p)
        # All terms below the first one are at most a geometric series with this ratio.
        log_pmf[0] -= math.log1p(-first * (1.0 - p) / ((n - first + 1) * p))
        return bool(special.logsumexp(log_pmf) + slack >= log_delta)

    _, outside = bisect(exceeds, k / n, 1.0)
    return min(1.0, rounded_up(outside))


def log_xi(n_samples: int) -> float:
    r"""Logarithm of Maurer's constant in bounds on the relative entropy of a mean.

    For the mean ``q`` of `n_samples` independent losses in [0, 1] with mean ``p`` it holds that
    ``E exp(n kl(q, p)) <= xi(n)``, with equality for 0-1 losses [1]_.

    Parameters
    ----------
    n_samples : int
        Number of losses, at least 1.

    Returns
    -------
    float
        ``ln sum_k C(n, k) (k/n)^k (1 - k/n)^(n-k)`` in nats, rounded up; above one thousand
        million samples the upper bound ``ln(2 sqrt(n))``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    By Abel's identity the sum equals ``sum_{r=0}^{n} prod_{i<r} (1 - i/n)`` (one plus Ramanujan's
    Q function), whose terms fall like ``exp(-r^2 / 2n)`` and lose no digits to cancellation.

    References
    ----------
    .. [1] A. Maurer, "A note on the PAC Bayesian theorem", arXiv:cs/0411099, 2004.

    Examples
    --------
    >>> round(log_xi(1000), 5)
    3.69643
    """
    n = index(n_samples)
    if n < 1:
        raise ValueError(f"n_samples must be at least 1, got {n}.")
    if n > _LARGEST_EXACT_XI:
        return rounded_up(math.log(2.0 * math.sqrt(n)))
    # The terms left out sum to less than n exp(-50) < 2e-13, well within the margin.
    n_terms = min(n, math.ceil(10.0 * math.sqrt(n)))
    products = np.cumprod(1.0 - np.arange(n_terms) / n)
    return rounded_up(math.log1p(math.fsum(products)))
