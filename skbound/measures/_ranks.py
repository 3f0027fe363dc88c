"""Effective ranks: how many directions carry a spectrum.

None changes when the spectrum is multiplied by a number. Rescaling a layer against the next leaves
the ranks of features as they are; it changes those of the Jacobian by the parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure

__all__ = [
    "EffectiveRanks",
    "FeatureEntropyRank",
    "FeatureParticipationRank",
    "FeatureStableRank",
    "JacobianEntropyRank",
    "JacobianParticipationRank",
    "JacobianStableRank",
    "effective_ranks",
    "feature_ranks",
]


@dataclass(frozen=True, kw_only=True)
class EffectiveRanks:
    """Effective ranks of a matrix; for the identity all are its size, for rank one all are 1.

    Parameters
    ----------
    entropy : float
        ``exp`` of the entropy of the singular values over their sum (Roy and Vetterli 2007).
    participation : float
        ``(sum s^2)^2 / sum s^4``.
    stable : float
        ``sum s^2 / max s^2``.
    nuclear : float
        ``(sum s)^2 / sum s^2``.
    """

    entropy: float
    participation: float
    stable: float
    nuclear: float


def effective_ranks(eigenvalues: NDArray[np.float64]) -> EffectiveRanks:
    """Return the effective ranks of a matrix from the eigenvalues of its Gram matrix.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n,)
        Squared singular values, not negative, in any order; zeros do not matter.

    Returns
    -------
    EffectiveRanks
        NaN throughout for the zero matrix.

    Raises
    ------
    ValueError
        If an eigenvalue is negative or not finite.

    Examples
    --------
    >>> ranks = effective_ranks(np.array([4.0, 1.0]))
    >>> round(ranks.entropy, 6), round(ranks.participation, 6), ranks.stable, ranks.nuclear
    (1.889882, 1.470588, 1.25, 1.8)
    """
    values = np.asarray(eigenvalues, np.float64)
    if not (np.isfinite(values) & (values >= 0.0)).all():
        raise ValueError(
            f"Eigenvalues of a Gram matrix must be finite and not negative, got {values.min()} to "
            f"{values.max()}. Clip those that are negative by rounding."
        )
    if not values.any():
        return EffectiveRanks(
            entropy=math.nan, participation=math.nan, stable=math.nan, nuclear=math.nan
        )
    values = values / values.max()
    singular = np.sqrt(values)
    shares = singular[singular > 0.0] / singular.sum()
    return EffectiveRanks(
        entropy=math.exp(-float((shares * np.log(shares)).sum())),
        participation=float(values.sum() ** 2 / (values**2).sum()),
        stable=float(values.sum()),
        nuclear=float(singular.sum() ** 2 / values.sum()),
    )


def feature_ranks(net: NetRecord) -> dict[str, EffectiveRanks]:
    """Return the effective ranks of what each layer reads.

    Parameters
    ----------
    net : NetRecord
        With ``features``.

    Returns
    -------
    dict of str to EffectiveRanks
        By the name of the layer.

    Raises
    ------
    MissingEvidenceError
        If features were not collected.
    """
    net.need("features")
    assert net.features is not None
    return {layer.name: effective_ranks(layer.eigenvalues) for layer in net.features}


class _FeatureRank(ComplexityMeasure):
    depends_on = ("features",)
    why_no_bound = "It ignores the labels and the maps between the layers."
    kind: ClassVar[str]

    def value(self, net: NetRecord) -> float:
        """Return the mean over layers."""
        return float(np.mean([getattr(ranks, self.kind) for ranks in feature_ranks(net).values()]))


class FeatureEntropyRank(_FeatureRank):
    """Mean over layers of the entropy rank of what they read."""

    key, kind = "feature_entropy_rank", "entropy"
    source = "Roy, Vetterli 2007, Definition 1"


class FeatureParticipationRank(_FeatureRank):
    """Mean over layers of the participation ratio of what they read."""

    key, kind = "feature_participation_rank", "participation"
    source = "Participation ratio; for features, Gao, Ganguli 2015"


class FeatureStableRank(_FeatureRank):
    """Mean over layers of the stable rank of what they read."""

    key, kind = "feature_stable_rank", "stable"
    source = "Rudelson, Vershynin 2007"


class _JacobianRank(ComplexityMeasure):
    depends_on = ("tangent_kernel",)
    why_no_bound = "It is about directions at the trained parameters and up to 200 rows only."
    kind: ClassVar[str]

    def value(self, net: NetRecord) -> float:
        """Return the rank of the Jacobian of all logits at the kernel's rows."""
        assert net.tangent_kernel is not None
        return float(getattr(effective_ranks(net.tangent_kernel.eigenvalues), self.kind))


class JacobianEntropyRank(_JacobianRank):
    """Entropy rank of the Jacobian of a batch's logits by the parameters."""

    key, kind = "jacobian_entropy_rank", "entropy"
    source = FeatureEntropyRank.source


class JacobianParticipationRank(_JacobianRank):
    """Participation ratio of the Jacobian of a batch's logits by the parameters."""

    key, kind = "jacobian_participation_rank", "participation"
    source = "Participation ratio of the tangent kernel's eigenvalues"


class JacobianStableRank(_JacobianRank):
    """Stable rank of the Jacobian of a batch's logits by the parameters."""

    key, kind = "jacobian_stable_rank", "stable"
    source = FeatureStableRank.source
