"""Second moments of what a layer reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LayerFeatures"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerFeatures:
    """Spectrum of a layer's inputs.

    Parameters
    ----------
    name : str
        Of the layer, as in :class:`~skbound.evidence.Layer`.
    eigenvalues : ndarray of shape (n_inputs,), float64
        Of ``(1 / n) sum_rows sum_tokens f f^T``, not centred, largest first, not negative.
    """

    name: str
    eigenvalues: NDArray[np.float64]
