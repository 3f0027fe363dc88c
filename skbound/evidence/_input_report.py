"""What was found at single inputs of a net."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["InputReport"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class InputReport:
    """How clear and how steep a net is at each of some rows.

    None of these numbers says how likely it errs there: they are about the net, not about the
    distribution of rows. Distances are Euclidean, between inputs as the module gets them.

    Parameters
    ----------
    margin : ndarray of shape (n_rows,)
        Logit of the label minus the largest other logit; negative where the net errs.
    jacobian_norm : ndarray of shape (n_rows,)
        Spectral norm of the Jacobian of the logits by the input.
    jacobian_rank : ndarray of int of shape (n_rows,)
        Its numerical rank: singular values above rounding.
    loss_gradient_norm : ndarray of shape (n_rows,)
        Norm of the gradient of the cross-entropy by the input.
    distance_estimate : ndarray of shape (n_rows,)
        To where the prediction would change if the logits were linear: neither an upper nor a
        lower bound. Infinite where all logits change alike.
    distance_upper : ndarray of shape (n_rows,)
        To a point where the prediction did change, the nearest one found on a line: the true
        distance is at most that. Infinite if none was found.
    """

    margin: Numbers
    jacobian_norm: Numbers
    jacobian_rank: NDArray[np.intp]
    loss_gradient_norm: Numbers
    distance_estimate: Numbers
    distance_upper: Numbers

    def to_frame(self) -> Any:
        """Return a table.

        Returns
        -------
        pandas.DataFrame
            One row per row, in their order.
        """
        import pandas as pd  # type: ignore[import-untyped]

        return pd.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})
