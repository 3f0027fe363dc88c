"""Bounds from the stability of a regularised linear head on fixed features.

The head minimises ``F_S(W) = mean cross-entropy + lam / 2 * ||W||^2`` over ``n`` rows. Let ``W``
and ``V`` minimise it on two samples that differ in row ``i``. By strong convexity
``lam ||W - V||^2 <= <grad F_S(V) - grad F_S(W), V - W>``, and as both gradients vanish at their own
minimum, the right side is ``<g_i(V) - h_i(V), V - W> / n`` with the two rows' gradients. So
``||W - V|| <= 2 G / (lam n)``, where ``G`` bounds the norm of any row's gradient at a minimiser.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import rounded_up
from skbound.bounds._linear_head import counted, ramp, ramp_terms
from skbound.bounds._records import record_of
from skbound.evidence import Evidence, LinearHeadSample, Loss

__all__ = ["MeanHeadBound", "StabilityBound"]

# Widths of the ramp, in units of the squared domain bound over the regularisation.
_WIDTHS = 2.0 ** (1.0 - np.arange(20) / 2.0)
# How far from the minimiser a head may be, as a share of the distance of the minimiser itself.
_INEXACT = 0.01


def gradient_bound(head: LinearHeadSample) -> float:
    """Return a number that no row's gradient exceeds at the minimiser for any sample.

    Parameters
    ----------
    head : LinearHeadSample
        Only what was fixed beforehand is read: domain bound, classes, regularisation.

    Returns
    -------
    float
        ``sqrt(2) kappa (1 - p)``, where ``p`` is the smallest probability that a head of the
        largest possible norm can give to any class.

    Notes
    -----
    The gradient is ``(p - e_y) phi^T``, of norm at most ``sqrt(2) (1 - p_y) kappa``. A minimiser
    is no worse than the zero head, so its norm is at most ``sqrt(2 ln(K) / lam)``; and it is minus
    the mean gradient over ``lam``. Either limit bounds the differences of logits from above, and
    with them ``p_y`` from below.
    """
    lam, others = head.regularization, head.n_classes - 1
    reach = math.sqrt(2.0) * head.domain_bound
    norm = math.sqrt(2.0 * math.log(head.n_classes) / lam)
    gradient = reach
    for _ in range(100):
        odds = others * math.exp(min(700.0, reach * norm))
        gradient = reach * odds / (1.0 + odds)
        norm = min(norm, gradient / lam)
    return rounded_up(gradient)


@dataclass(frozen=True)
class StabilityBound(Bound):
    r"""Bound from the uniform stability of a regularised linear head.

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
    Replacing one row moves the minimiser by at most ``2 G / (lam n)`` and the loss
    ``min(1, max(0, 1 - m / g))`` of the margin ``m``, which is at least the 0-1 loss, by at most
    ``beta = sqrt(2) kappa 2 G / (g lam n)``. A bounded difference inequality for the difference of
    risk and empirical risk then gives, for one width ``g``, with probability at least
    ``1 - delta'``

    ``R <= mean loss + beta + (2 n beta + 1) sqrt(ln(1/delta') / (2 n))`` [1]_

    (there `beta` belongs to leaving a row out, and is half as large). The width is the best of 20,
    fixed by ``lam`` and the domain bound alone, which share `delta`. The head of the fit is at
    most ``gradient norm / lam`` away from the minimiser, which moves no margin by more than
    ``sqrt(2) kappa`` times that: counted twice, once for the risk and once for the rows.

    References
    ----------
    .. [1] O. Bousquet and A. Elisseeff, "Stability and generalization", JMLR 2, 2002, Theorem 12;
       their Theorem 22 is the stability of regularised learning.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.evidence import Evidence, LinearHeadSample, Sample
    >>> n = 20_000
    >>> head = LinearHeadSample(
    ...     sample=Sample(range(n), np.zeros(n)), margins=np.full(n, 1.0),
    ...     feature_norms=np.ones(n), domain_bound=1.0, head_norm=1.0, n_classes=2, n_features=5,
    ...     regularization=0.5, gradient_norm=0.0,
    ... )
    >>> evidence = Evidence(
    ...     protocol="frozen_features", n_fit=500, majority_share=0.5, certified=head
    ... )
    >>> round(StabilityBound()(evidence, 0.05).value, 4)
    0.1914
    """

    key: ClassVar[str] = "stability"
    method: ClassVar[str] = "uniform stability bound"
    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the training error and what margin, stability and chance add.

        Parameters
        ----------
        evidence : Evidence
            Of a linear head on fixed features.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, ``"margin"``, ``"stability"``, ``"optimization"`` and
            ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the fit left something else behind.
        """
        head = record_of(evidence, self.method, LinearHeadSample)
        n, lam, kappa = head.n_samples, head.regularization, head.domain_bound
        chance = math.sqrt(math.log(len(_WIDTHS) / delta) / (2.0 * n))
        moved = math.sqrt(2.0) * kappa * 2.0 * gradient_bound(head) / (lam * n)
        missed = 2.0 * math.sqrt(2.0) * kappa * head.gradient_norm / lam

        def split(width: float) -> dict[str, float]:
            beta = moved / width
            return ramp_terms(
                head,
                ramp(head.margins - head.rounding, width),
                stability=beta + 2.0 * n * beta * chance,
                optimization=missed / width,
                confidence=chance,
            )

        return min(
            (split(float(width)) for width in _WIDTHS * kappa**2 / lam),
            key=lambda terms: math.fsum(terms.values()),
        )


@dataclass(frozen=True)
class MeanHeadBound(Bound):
    r"""Bound from the fixed head around which a regularised linear head fluctuates.

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
    Let ``M`` be the mean of the minimiser ``W`` over samples of ``n`` rows: an unknown but fixed
    head. As replacing one row moves ``W`` by at most ``c = 2 G / (lam n)``, the mean of
    ``||W - M||^2`` is at most ``n c^2 / 2`` (Efron and Stein [1]_), and ``||W - M||`` exceeds its
    mean by ``c sqrt(n ln(1/delta') / 2)`` with probability at most ``delta'`` (bounded
    differences). Hence with ``delta' = delta / 2``

    ``||W - M|| <= a = (G / (lam sqrt(n))) (sqrt(2) + sqrt(2 ln(2 / delta)))``.

    A head at distance ``b`` has margins that differ by at most ``sqrt(2) b ||phi||``. Where the
    head of the fit errs, the margin of ``M`` is at most ``sqrt(2) b ||phi||``: an event that does
    not depend on the sample, so the exact binomial tail at ``delta / 2`` bounds its probability
    from the number of rows where it occurs. Among the rows it can occur only where the margin of
    the head of the fit is at most ``2 sqrt(2) b ||phi||``, and those rows are counted.

    Here ``b = 1.01 a``: the head of the fit may be off the minimiser by a hundredth of ``a``, as
    judged by its gradient; one farther off, such as one trained with weights of the rows, gets the
    trivial bound 1, because ``b`` must not depend on the sample.

    The idea, with a Rademacher complexity in place of the count, is that of [2]_.

    References
    ----------
    .. [1] S. Boucheron, G. Lugosi and P. Massart, "Concentration inequalities", 2013, Theorems
       3.1 and 6.2.
    .. [2] T. Liu, G. Lugosi, G. Neu and D. Tao, "Algorithmic stability and hypothesis complexity",
       ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.evidence import Evidence, LinearHeadSample, Sample
    >>> n = 2_000
    >>> head = LinearHeadSample(
    ...     sample=Sample(range(n), np.zeros(n)), margins=np.full(n, 1.0),
    ...     feature_norms=np.ones(n), domain_bound=1.0, head_norm=1.0, n_classes=2, n_features=5,
    ...     regularization=0.5, gradient_norm=0.0,
    ... )
    >>> evidence = Evidence(
    ...     protocol="frozen_features", n_fit=500, majority_share=0.5, certified=head
    ... )
    >>> round(MeanHeadBound()(evidence, 0.05).value, 6)
    0.001843
    """

    key: ClassVar[str] = "mean_head"
    method: ClassVar[str] = "mean-head stability bound"
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
        n, lam = head.n_samples, head.regularization
        spread = math.sqrt(2.0) + math.sqrt(2.0 * math.log(2.0 / delta))
        distance = rounded_up(gradient_bound(head) / (lam * math.sqrt(n)) * spread)
        if head.gradient_norm / lam > _INEXACT * distance:
            return increments(empirical_loss=head.sample.error, margin=1.0, confidence=1.0)
        margins, log_half = head.margins - head.rounding, math.log(delta / 2.0)
        return counted(head, margins, (1.0 + _INEXACT) * distance, log_half)
