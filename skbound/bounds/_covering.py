"""Bounds from covering numbers of a linear head with few parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._bound import Bound
from skbound.bounds._inversion import rounded_up
from skbound.bounds._linear_head import RademacherBound, counted, unit_margins
from skbound.bounds._records import record_of
from skbound.evidence import Evidence, LinearHeadSample, Loss

__all__ = ["CoveringBound", "EntropyBound", "dudley_integral"]

# Distances at which the unit ball of heads is covered.
_DISTANCES = 2.0 ** (-np.arange(1, 17) / 2.0)


def n_free(head: LinearHeadSample) -> int:
    """Return the number of parameters of a head whose rows have mean zero.

    Parameters
    ----------
    head : LinearHeadSample
        Of any size.

    Returns
    -------
    int
        ``(n_classes - 1) * n_features``.
    """
    return (head.n_classes - 1) * head.n_features


def log_points(n_dimensions: int, distance: float) -> float:
    """Return the logarithm of how many points at most come near all points of the unit sphere.

    Parameters
    ----------
    n_dimensions : int
        Of the space around the sphere.
    distance : float
        How near, in (0, 2).

    Returns
    -------
    float
        ``ln((2/e + 1)^D - (2/e - 1)^D)``, rounded up.
    """
    outer, inner = math.log(2.0 / distance + 1.0), math.log(2.0 / distance - 1.0)
    shell = math.log(-math.expm1(n_dimensions * (inner - outer)))
    return rounded_up(n_dimensions * outer + shell)


@dataclass(frozen=True)
class CoveringBound(Bound):
    r"""Bound from a finite set of heads that comes close to every head.

    Parameters
    ----------
    loss : "zero_one", default="zero_one"
        The only loss that an event of the margin tells.

    Raises
    ------
    ValueError
        For another loss.

    Notes
    -----
    ``predict`` does not depend on the scale of the head, so let its norm be 1. A largest set of
    points of the unit sphere in ``D = (K - 1) p`` dimensions (``K`` classes, ``p`` features with
    the constant one; rows of mean zero) that are ``e`` apart comes within ``e`` of every other
    point. The balls of radius ``e / 2`` around them are disjoint and lie between two spheres, so
    by their volumes they are at most ``N = (2/e + 1)^D - (2/e - 1)^D`` [1]_. A head and the
    nearest of these points have margins that differ by at most ``sqrt(2) e ||phi||``. Where the
    head errs, the margin of the point is at most that: an event of the point alone, whose
    probability the exact binomial tail bounds, for all points at once, at level ``delta' / N``.
    Among the rows it can occur only where the margin of the head itself is at most
    ``2 sqrt(2) e ||phi||``; those are counted. The distance is the best of 16, fixed beforehand,
    which share `delta` equally.

    References
    ----------
    .. [1] R. Vershynin, "High-dimensional probability", 2018, Section 4.2, has the argument for
       balls.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.evidence import Evidence, LinearHeadSample, Sample
    >>> n = 300
    >>> head = LinearHeadSample(
    ...     sample=Sample(range(n), np.zeros(n)), margins=np.full(n, 2.0),
    ...     feature_norms=np.ones(n), domain_bound=1.0, head_norm=2.0, n_classes=2, n_features=3,
    ...     regularization=0.01, gradient_norm=0.0,
    ... )
    >>> evidence = Evidence(
    ...     protocol="frozen_features", n_fit=500, majority_share=0.5, certified=head
    ... )
    >>> round(CoveringBound()(evidence, 0.05).value, 4)
    0.0383
    """

    key: ClassVar[str] = "covering"
    method: ClassVar[str] = "covering-number margin bound"
    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the training error, rows of small margin, and confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a linear head on fixed features.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, ``"margin"`` and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the fit left something else behind.
        """
        head = record_of(evidence, self.method, LinearHeadSample)
        margins, share = unit_margins(head), math.log(delta / len(_DISTANCES))

        def near(distance: float) -> dict[str, float]:
            return counted(head, margins, distance, share - log_points(n_free(head), distance))

        return min(
            (near(float(e)) for e in _DISTANCES), key=lambda terms: math.fsum(terms.values())
        )


def dudley_integral(
    log_covering: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    n_samples: int,
    largest: float = 1.0,
) -> float:
    r"""Return Dudley's bound on a Rademacher complexity.

    ``min over a of 4 a + (12 / sqrt(n)) * integral from a to largest of sqrt(ln N(e)) de``, where
    ``N(e)`` is the covering number at distance ``e`` in the root mean square over the rows.

    Parameters
    ----------
    log_covering : callable
        Maps an array of distances to ``ln N``. Its square root must be non-increasing and convex,
        as it is for ``C / e^2`` and for ``D ln(1 + A / e)``.
    n_samples : int
        Number of rows.
    largest : float, default=1.0
        No function has a larger root mean square over the rows.

    Returns
    -------
    float
        At most 5,000 points are used; the trapezoidal rule errs upward for a convex function.

    References
    ----------
    .. [1] R. M. Dudley, "The sizes of compact subsets of Hilbert space and continuity of Gaussian
       processes", Journal of Functional Analysis 1, 1967. In this form: P. L. Bartlett, D. J.
       Foster and M. Telgarsky, "Spectrally-normalized margin bounds for neural networks",
       NeurIPS 2017, Lemma A.5.

    Examples
    --------
    >>> round(dudley_integral(lambda e: 1.0 / e**2, 50_000), 5)
    0.28503
    """
    distances = largest * np.geomspace(1e-7, 1.0, 5000)
    height = np.sqrt(log_covering(distances))
    steps = 0.5 * (height[1:] + height[:-1]) * np.diff(distances)
    tails = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    return rounded_up(float((4.0 * distances + 12.0 / math.sqrt(n_samples) * tails).min()))


@dataclass(frozen=True)
class EntropyBound(RademacherBound):
    r"""Bound through Dudley's integral of the metric entropy of a linear head.

    Parameters
    ----------
    loss : "zero_one", default="zero_one"
        The only loss that the ramp bounds.

    Raises
    ------
    ValueError
        For another loss.

    Notes
    -----
    As for :class:`~skbound.bounds.MarginBound`, with the same grid of ratios ``L / g`` and the same
    shares of `delta`, but with the Rademacher complexity bounded by :func:`dudley_integral`. In
    the root mean square over the rows two losses differ by at most ``sqrt(2) r / g`` times the
    distance of their heads, so ``ln N(e) <= D ln(1 + 2 sqrt(2) r L / (g e))`` in ``D`` dimensions.
    Less one half, which changes no Rademacher complexity, the losses lie in [-1/2, 1/2], where the
    integral ends. It is a concave function of ``r``, so that its mean is at most its value at the
    root of the expected ``r^2``.

    It is vacuous unless the rows outnumber the parameters several hundred times;
    :class:`~skbound.bounds.CoveringBound` needs far fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.evidence import Evidence, LinearHeadSample, Sample
    >>> n = 20_000
    >>> head = LinearHeadSample(
    ...     sample=Sample(range(n), np.zeros(n)), margins=np.full(n, 2.0),
    ...     feature_norms=np.ones(n), domain_bound=1.0, head_norm=2.0, n_classes=2, n_features=3,
    ...     regularization=0.01, gradient_norm=0.0,
    ... )
    >>> evidence = Evidence(
    ...     protocol="frozen_features", n_fit=500, majority_share=0.5, certified=head
    ... )
    >>> round(EntropyBound()(evidence, 0.05).value, 4)
    0.2559
    """

    key: ClassVar[str] = "entropy"
    method: ClassVar[str] = "Dudley entropy bound"

    def complexity(self, head: LinearHeadSample, mean_square: float) -> Callable[[float], float]:
        """Integrate the metric entropy. See `RademacherBound.complexity`."""
        n, free, size = head.n_samples, n_free(head), 2.0 * math.sqrt(2.0 * mean_square)
        return lambda ratio: dudley_integral(lambda e: free * np.log1p(size * ratio / e), n, 0.5)
