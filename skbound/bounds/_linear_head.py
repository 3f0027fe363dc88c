"""The margin bound for a linear head on features that are fixed beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._bound import Bound
from skbound.bounds._inversion import kl_inverse_upper, rounded_up
from skbound.evidence import Evidence, LinearHeadSample
from skbound.exceptions import MissingEvidenceError

__all__ = ["MarginBound"]

# Head norm times domain bound over margin. Below 1 no margin could be reached.
_RATIOS = 2.0 ** (np.arange(17) / 2.0)
# Share of delta for the mean squared feature norm.
_FEATURES = 0.1


def linear_head(evidence: Evidence, method: str) -> LinearHeadSample:
    """Return the record of a linear head.

    Parameters
    ----------
    evidence : Evidence
        Of a fit.
    method : str
        The bound in words, for the message.

    Returns
    -------
    LinearHeadSample
        As recorded.

    Raises
    ------
    MissingEvidenceError
        If the fit left something else behind.
    """
    head = evidence.certified
    if not isinstance(head, LinearHeadSample):
        raise MissingEvidenceError(
            f"The {method} needs a linear head that was trained on fixed features of the certified "
            f"rows, but the protocol {evidence.protocol!r} has recorded none. Fit with "
            f"protocol='frozen_features', or use bound='auto'."
        )
    return head


def unit_margins(head: LinearHeadSample) -> NDArray[np.float64]:
    """Return the margins of the head scaled to norm 1, rounded down.

    Parameters
    ----------
    head : LinearHeadSample
        With any norm.

    Returns
    -------
    ndarray of shape (n_samples,)
        Zero for the zero head, which predicts by the order of the classes.
    """
    if head.head_norm == 0.0:
        return np.zeros(head.n_samples)
    scaled: NDArray[np.float64] = (head.margins - head.rounding) / head.head_norm
    return scaled


def ramp(margins: NDArray[np.float64], width: float) -> float:
    """Return the mean of a loss that falls from 1 at margin 0 to 0 at margin `width`.

    Parameters
    ----------
    margins : ndarray
        Of the rows.
    width : float
        Positive.

    Returns
    -------
    float
        At least the share of rows whose margin is not positive.
    """
    return float(np.clip(1.0 - margins / width, 0.0, 1.0).mean())


def largest_mean_square(head: LinearHeadSample, delta: float) -> float:
    """Return an upper bound on the expected squared feature norm, over that of the domain bound.

    Parameters
    ----------
    head : LinearHeadSample
        With feature norms.
    delta : float
        Probability with which it may fail.

    Returns
    -------
    float
        In (0, 1].
    """
    share = min(1.0, head.mean_square / head.domain_bound**2)
    return kl_inverse_upper(share, -math.log(delta) / head.n_samples)


@dataclass(frozen=True)
class MarginBound(Bound):
    r"""Bound by the margins and the norm of a linear head, through its Rademacher complexity.

    Notes
    -----
    Let ``m(z)`` be the margin of the head ``W`` (of norm ``N``, with rows of mean zero) at ``z``,
    and ``loss_g(m) = min(1, max(0, 1 - m / g))``, which is at least the 0-1 loss. For fixed ``L``
    and ``g`` a bounded difference inequality and symmetrisation give, with probability at least
    ``1 - delta'``, for all heads of norm at most ``L`` at once

    ``R(W) <= mean of loss_g + 2 E Rad + sqrt(ln(1/delta') / (2 n))`` [1]_.

    As a function of the logits the margin has the Lipschitz constant ``sqrt(2)``. By the
    contraction inequality for vectors [2]_, with a factor ``sqrt(2)``, and because the supremum of
    a linear function over a ball is a norm, ``E Rad <= 2 sqrt(K - 1) L r / (g sqrt(n))`` with ``K``
    classes and ``r^2`` the expected squared feature norm. For two classes the margin is one linear
    function with weights of norm ``sqrt(2) L`` and the contraction for scalars [1]_ applies:
    ``E Rad <= sqrt(2) L r / (g sqrt(n))``.

    Only ``L / g`` matters. It is taken from a grid of 17 values, each of which gets an equal part
    of nine tenths of `delta`; ``g`` is then what makes the head's norm equal to ``L``. The last
    tenth pays for an upper limit on ``r^2``, by the relative entropy inequality for means of
    squared norms between 0 and the squared domain bound. It replaces the usual factor of 3 in the
    last term by 1.

    References
    ----------
    .. [1] P. L. Bartlett and S. Mendelson, "Rademacher and Gaussian complexities: risk bounds and
       structural results", JMLR 3, 2002, Theorems 8 and 12 (constants as derived here).
    .. [2] A. Maurer, "A vector-contraction inequality for Rademacher complexities", ALT 2016,
       Corollary 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.evidence import Evidence, LinearHeadSample, Sample
    >>> n = 20_000
    >>> head = LinearHeadSample(
    ...     sample=Sample(range(n), np.zeros(n)), margins=np.full(n, 2.0),
    ...     feature_norms=np.ones(n), domain_bound=1.0, head_norm=2.0, n_classes=2, n_features=5,
    ...     regularization=0.01, gradient_norm=0.0,
    ... )
    >>> evidence = Evidence(
    ...     protocol="frozen_features", n_fit=500, majority_share=0.5, certified=head
    ... )
    >>> round(MarginBound()(evidence, 0.05).value, 4)
    0.0322
    """

    key: ClassVar[str] = "margin"
    method: ClassVar[str] = "margin bound for a linear head"

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the training error and what margin, norm and chance add.

        Parameters
        ----------
        evidence : Evidence
            Of a linear head on fixed features.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, ``"margin"``, ``"complexity"`` and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the fit left something else behind.
        """
        head = linear_head(evidence, self.method)
        n, error = head.n_samples, head.sample.error
        margins = unit_margins(head)
        confidence = math.sqrt(math.log(len(_RATIOS) / ((1.0 - _FEATURES) * delta)) / (2.0 * n))
        factor = math.sqrt(2.0) if head.n_classes == 2 else 2.0 * math.sqrt(head.n_classes - 1.0)
        slope = 2.0 * factor * math.sqrt(largest_mean_square(head, _FEATURES * delta) / n)
        empirical, complexity = min(
            ((ramp(margins, head.domain_bound / q), slope * float(q)) for q in _RATIOS), key=sum
        )
        return {
            "empirical_loss": error,
            "margin": max(0.0, empirical - error),
            "complexity": rounded_up(complexity),
            "confidence": rounded_up(confidence),
        }
