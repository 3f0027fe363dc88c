"""The margin bound for a linear head on fixed features, and what bounds of its kind share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import binomial_tail_inverse, kl_inverse_upper, rounded_up
from skbound.bounds._records import record_of
from skbound.evidence import Evidence, LinearHeadSample, Loss

__all__ = ["MarginBound"]

# Head norm times domain bound over margin. Below 1 no margin could be reached.
_RATIOS = 2.0 ** (np.arange(17) / 2.0)
# Share of delta for the mean squared feature norm.
_FEATURES = 0.1


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


def counted(
    head: LinearHeadSample, margins: NDArray[np.float64], distance: float, log_delta: float
) -> dict[str, float]:
    """Bound the error of a head by that of a fixed head near it, from rows of small margin.

    Parameters
    ----------
    head : LinearHeadSample
        Of the fit.
    margins : ndarray of shape (n_samples,)
        Its margins, in the scale of `distance`.
    distance : float
        How far the fixed head is away at most. Then no margin differs by more than
        ``sqrt(2) distance ||phi||``.
    log_delta : float
        Logarithm of the probability with which the bound on the fixed head may fail.

    Returns
    -------
    dict of str to float
        ``"empirical_loss"``, ``"margin"`` and ``"confidence"``.

    Notes
    -----
    Where the head errs, the margin of the fixed one is at most ``sqrt(2) distance ||phi||``: an
    event of the fixed head alone, so the exact binomial tail bounds its probability. Among the rows
    it can occur only where the margin of the head itself is at most twice that; those are counted.
    """
    reach = 2.0 * math.sqrt(2.0) * distance
    close = int((margins <= reach * head.feature_norms).sum())
    value = binomial_tail_inverse(close, head.n_samples, log_delta=log_delta)
    return increments(
        empirical_loss=head.sample.error, margin=close / head.n_samples, confidence=value
    )


def ramp_terms(head: LinearHeadSample, mean: float, **added: float) -> dict[str, float]:
    """Split a bound that starts from the mean of `ramp`.

    Parameters
    ----------
    head : LinearHeadSample
        Of the fit.
    mean : float
        Mean of `ramp`, at least the share of errors.
    **added : float
        What is added to it, 0 or more, by name.

    Returns
    -------
    dict of str to float
        ``"empirical_loss"``, ``"margin"`` and what is added, rounded up.
    """
    error = head.sample.error
    amounts = {name: rounded_up(amount) for name, amount in added.items()}
    return {"empirical_loss": error, "margin": max(0.0, mean - error)} | amounts


@dataclass(frozen=True)
class RademacherBound(Bound):
    """Bound on the error of a linear head through the Rademacher complexity of its ramp loss.

    A subclass states `key` and `method` and implements `complexity`. See `MarginBound` for the
    theorem, the grid and the shares of delta.

    Parameters
    ----------
    loss : "zero_one", default="zero_one"
        The only loss that the ramp bounds.

    Raises
    ------
    ValueError
        For another loss.
    """

    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    @abstractmethod
    def complexity(self, head: LinearHeadSample, mean_square: float) -> Callable[[float], float]:
        """Return how the expected Rademacher complexity grows.

        Parameters
        ----------
        head : LinearHeadSample
            Its numbers of rows, classes and features are read.
        mean_square : float
            Bound on the expected squared feature norm, over the squared domain bound.

        Returns
        -------
        callable
            Maps ``L kappa / g``, norm of the head times domain bound over width of the ramp, to a
            bound on the complexity.
        """

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the training error and what margin, complexity and chance add.

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
        head = record_of(evidence, self.method, LinearHeadSample)
        margins, n = unit_margins(head), head.n_samples
        confidence = math.sqrt(math.log(len(_RATIOS) / ((1.0 - _FEATURES) * delta)) / (2.0 * n))
        complexity = self.complexity(head, largest_mean_square(head, _FEATURES * delta))
        mean, twice = min(
            ((ramp(margins, head.domain_bound / q), 2.0 * complexity(float(q))) for q in _RATIOS),
            key=sum,
        )
        return ramp_terms(head, mean, complexity=twice, confidence=confidence)


@dataclass(frozen=True)
class MarginBound(RademacherBound):
    r"""Bound by the margins and the norm of a linear head, through its Rademacher complexity.

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
    method: ClassVar[str] = "Rademacher margin bound"

    def complexity(self, head: LinearHeadSample, mean_square: float) -> Callable[[float], float]:
        """Apply the contraction inequality. See `RademacherBound.complexity`."""
        factor = math.sqrt(2.0) if head.n_classes == 2 else 2.0 * math.sqrt(head.n_classes - 1.0)
        slope = factor * math.sqrt(mean_square / head.n_samples)
        return lambda ratio: slope * ratio
