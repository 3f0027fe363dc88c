"""Where attention looks, as numbers per block and head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["AttentionStatistics"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class AttentionStatistics:
    """Means over rows, and over the tokens that attend, of what each head of attention does.

    All arrays are of shape (n_blocks, n_heads), float64.

    Parameters
    ----------
    names : tuple of str
        Of the attention modules, for example ``"blocks.0.attention"``, in the order of the net.
    n_tokens : int
        Tokens that can be attended to, an extra one for the class included.
    n_rows : int
        Rows that were looked at.
    entropy : ndarray
        Of the weights over the tokens, in nats: from 0, one token, to ``ln(n_tokens)``, all alike.
    span : ndarray
        Mean distance in places between a token and those it attends to, by their weights. An extra
        token for the class has place 0.
    top_mass : ndarray
        Largest weight, in [1 / n_tokens, 1].
    strength : ndarray
        ``||q|| ||k|| / sqrt(head_width)`` for the most attended key: the largest logit if query
        and key were parallel.
    coherence : ndarray
        Largest absolute cosine of two keys of a row, in [0, 1].

    Raises
    ------
    ValueError
        If the shapes differ.
    """

    names: tuple[str, ...]
    n_tokens: int
    n_rows: int
    entropy: Matrix
    span: Matrix
    top_mass: Matrix
    strength: Matrix
    coherence: Matrix

    def __post_init__(self) -> None:
        for name in ("entropy", "span", "top_mass", "strength", "coherence"):
            shape = getattr(self, name).shape
            if len(shape) != 2 or shape != self.entropy.shape or shape[0] != len(self.names):
                raise ValueError(
                    f"{name} must be of shape (n_blocks, n_heads) with {len(self.names)} blocks, "
                    f"got {shape}."
                )
