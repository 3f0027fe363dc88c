"""All trained numbers of a net in one vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.exceptions import MissingEvidenceError

__all__ = ["ParameterVectors"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ParameterVectors:
    """Weights, biases, gains and codes, in the order of ``named_parameters()``.

    Parameters
    ----------
    trained : ndarray of shape (n_parameters,), float64
        After training; frozen parameters are left out.
    initial : ndarray of the same shape or None, default=None
        Before training; None where that was not recorded.
    """

    trained: NDArray[np.float64]
    initial: NDArray[np.float64] | None = None

    @property
    def change(self) -> NDArray[np.float64]:
        """Trained minus initial.

        Raises
        ------
        MissingEvidenceError
            If the initial parameters were not recorded.
        """
        if self.initial is None:
            raise MissingEvidenceError(
                "The initial parameters were not recorded, so their distance from initialisation "
                "is not known. TransformerClassifier records them."
            )
        return self.trained - self.initial
