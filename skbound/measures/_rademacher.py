"""Rademacher complexities by drawing signs.

The empirical complexity of a class is ``E_s sup_f (1/n) sum_i s_i f(x_i)`` over random signs. The
mean over draws is the complexity, up to chance, only where each supremum is found exactly. Training
a net on random labels finds some function, so it gives a lower estimate, which bounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RademacherEstimate",
    "kernel_rademacher",
    "massart",
    "rademacher_ball",
    "rademacher_finite",
    "rademacher_lower",
]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class RademacherEstimate:
    """Mean over draws of the best correlation with random signs.

    Parameters
    ----------
    value : float
        The mean.
    exact_supremum : bool
        Whether each draw's supremum was solved exactly. If not, `value` estimates something that
        is at most the complexity.
    largest : float
        ``M``: no function of the class is larger in absolute value at the rows.
    n_samples, n_draws : int
        Rows, and draws of all their signs.
    """

    value: float
    exact_supremum: bool
    largest: float
    n_samples: int
    n_draws: int

    def __float__(self) -> float:
        return self.value

    def deviation(self, delta: float) -> float:
        """Return what the mean over draws exceeds or misses with probability at most `delta`.

        Parameters
        ----------
        delta : float
            In (0, 1); for one of the two sides.

        Returns
        -------
        float
            ``2 M sqrt(ln(1/delta) / (2 n B))`` for ``B`` draws: one sign changes the mean by at
            most ``2 M / (n B)`` (McDiarmid 1989).

        Raises
        ------
        ValueError
            If `delta` is out of range.
        """
        if not 0.0 < delta < 1.0:
            raise ValueError(f"delta must be in (0, 1), got {delta!r}.")
        signs = self.n_samples * self.n_draws
        return 2.0 * self.largest * math.sqrt(math.log(1.0 / delta) / (2.0 * signs))


def rademacher_ball(
    gram: Numbers, *, radius: float = 1.0, n_draws: int = 1000, seed: int = 0
) -> RademacherEstimate:
    """Estimate the complexity of linear functions of norm at most `radius`.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Products of the rows' features.
    radius : float, default=1.0
        ``B``.
    n_draws : int, default=1000
        Draws of all signs.
    seed : int, default=0
        Of the signs.

    Returns
    -------
    RademacherEstimate
        Mean of ``(B / n) sqrt(s^T K s)``, with exact suprema.

    Examples
    --------
    >>> round(float(rademacher_ball(np.eye(4))), 6)
    0.5
    """
    signs = _signs(len(gram), n_draws, seed)
    squares = np.einsum("bi,ij,bj->b", signs, gram, signs, optimize=True)
    return RademacherEstimate(
        value=radius / len(gram) * float(np.sqrt(np.maximum(squares, 0.0)).mean()),
        exact_supremum=True,
        largest=radius * math.sqrt(float(np.diag(gram).max())),
        n_samples=len(gram),
        n_draws=n_draws,
    )


def rademacher_finite(values: Numbers, *, n_draws: int = 1000, seed: int = 0) -> RademacherEstimate:
    """Estimate the complexity of finitely many functions.

    Parameters
    ----------
    values : ndarray of shape (n_functions, n)
        What each is at the rows.
    n_draws : int, default=1000
        Draws of all signs.
    seed : int, default=0
        Of the signs.

    Returns
    -------
    RademacherEstimate
        With exact suprema.
    """
    signs = _signs(values.shape[1], n_draws, seed)
    return RademacherEstimate(
        value=float((signs @ values.T).max(axis=1).mean()) / values.shape[1],
        exact_supremum=True,
        largest=float(np.abs(values).max()),
        n_samples=values.shape[1],
        n_draws=n_draws,
    )


def rademacher_lower(
    fit: Callable[[NDArray[np.intp]], Numbers],
    n_samples: int,
    *,
    largest: float = 1.0,
    n_draws: int = 10,
    seed: int = 0,
) -> RademacherEstimate:
    """Estimate from below the complexity of a class in which a learner searches.

    Costs one fit per draw.

    Parameters
    ----------
    fit : callable
        Takes n labels, -1 or 1, of the rows; trains on them; returns what the trained function is
        at the rows, n numbers of size at most `largest`.
    n_samples : int
        Rows.
    largest : float, default=1.0
        Bound on the size of the class's functions.
    n_draws : int, default=10
        Fits.
    seed : int, default=0
        Of the signs.

    Returns
    -------
    RademacherEstimate
        Not an upper estimate: training need not find the best function.

    Raises
    ------
    ValueError
        If `fit` returns something else.
    """
    correlations = []
    for signs in _signs(n_samples, n_draws, seed):
        found = np.asarray(fit(signs.astype(np.intp)), np.float64)
        if found.shape != (n_samples,) or not (np.abs(found) <= largest).all():
            raise ValueError(
                f"fit must return {n_samples} numbers of size at most {largest}, got the shape "
                f"{found.shape} and sizes up to {np.abs(found).max(initial=0.0)}. Clip them or "
                f"pass largest=."
            )
        correlations.append(float(signs @ found) / n_samples)
    return RademacherEstimate(
        value=math.fsum(correlations) / n_draws,
        exact_supremum=False,
        largest=largest,
        n_samples=n_samples,
        n_draws=n_draws,
    )


def kernel_rademacher(gram: Numbers, *, radius: float = 1.0) -> float:
    """Bound the complexity of linear functions of norm at most `radius`: ``(B/n) sqrt(tr K)``.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Products of the rows' features.
    radius : float, default=1.0
        ``B``.

    Returns
    -------
    float
        At least the complexity, and at most ``sqrt(2)`` times it.

    Notes
    -----
    Jensen's inequality from above [1]_, the Khintchine inequality with its best constant from
    below [2]_.

    References
    ----------
    .. [1] P. Bartlett and S. Mendelson, "Rademacher and Gaussian complexities", JMLR 3, 2002,
       Lemma 22.
    .. [2] R. Latala and K. Oleszkiewicz, "On the best constant in the Khinchin-Kahane inequality",
       Studia Mathematica 109, 1994.
    """
    return radius / len(gram) * math.sqrt(float(np.trace(gram)))


def massart(values: Numbers) -> float:
    """Bound the complexity of finitely many functions: ``r sqrt(2 ln N) / n``.

    Parameters
    ----------
    values : ndarray of shape (n_functions, n)
        What each is at the rows; ``r`` is the largest Euclidean norm of a row.

    Returns
    -------
    float
        At least the complexity (Massart 2000, Lemma 5.2).
    """
    largest = float(np.linalg.norm(values, axis=1).max())
    return largest * math.sqrt(2.0 * math.log(len(values))) / values.shape[1]


def _signs(n_samples: int, n_draws: int, seed: int) -> Numbers:
    rng = np.random.default_rng([seed, 0])
    return rng.choice(np.array([-1.0, 1.0]), size=(n_draws, n_samples))
