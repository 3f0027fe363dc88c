"""An attention head built by hand that reads one position: what sharpness costs and buys."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

__all__ = ["SparseTargetHead", "position_codes"]

_UNIT = 1e-9


def position_codes(n_tokens: int, width: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return unit vectors that tell positions apart.

    Parameters
    ----------
    n_tokens : int
        Positions, at least 1.
    width : int
        Length of a code, at least 1.
    seed : int, default=0
        Of the codes.

    Returns
    -------
    ndarray of shape (n_tokens, width)
        Orthonormal where `width` is at least `n_tokens`; else random directions, whose products are
        of the order of ``sqrt(log(n_tokens) / width)``.

    Raises
    ------
    ValueError
        If a size is below 1.
    """
    if n_tokens < 1 or width < 1:
        raise ValueError(
            f"n_tokens and width must be at least 1, got n_tokens={n_tokens} and width={width}."
        )
    codes = np.random.default_rng([seed, 0]).normal(size=(n_tokens, width))
    if width >= n_tokens:
        return np.ascontiguousarray(np.linalg.qr(codes.T)[0].T)
    return codes / np.linalg.norm(codes, axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class SparseTargetHead:
    """One head that attends to one position, whatever stands there.

    Its keys are the position codes and its query is ``sharpness * codes[target]``. With unit codes
    whose products are at most ``coherence`` the target's logit exceeds all others by at least
    ``gap = sharpness * (1 - coherence)``, so that the attention outside the target is at most
    ``(n - 1) e^-gap / (1 + (n - 1) e^-gap)`` for n tokens. A target function that depends on s
    positions needs s such heads, with norms that grow with the logarithm of n only.

    Parameters
    ----------
    codes : ndarray of shape (n_tokens, width)
        Unit vectors, as from `position_codes`.
    target : int
        Position to read, from 0 to n_tokens - 1.
    sharpness : float
        Length of the query, at least 0.

    Attributes
    ----------
    coherence : float
        Largest absolute product of two codes; 0 for a single token.

    Raises
    ------
    ValueError
        If the codes are not of length 1 or a number is out of range.

    Notes
    -----
    It shows what attention can represent and what that takes; it is no statement about a trained
    net. The construction is that of Edelman, Goel, Kakade and Zhang 2022, section 4.

    Examples
    --------
    >>> from skbound.architectures import SparseTargetHead, position_codes
    >>> head = SparseTargetHead(position_codes(10, 16), target=3, sharpness=8.0)
    >>> head.mass_outside <= head.mass_bound < 0.01
    True
    """

    codes: NDArray[np.float64]
    target: int
    sharpness: float
    coherence: float = field(init=False)

    def __post_init__(self) -> None:
        codes = np.asarray(self.codes, dtype=np.float64)
        if codes.ndim != 2 or not np.allclose(np.linalg.norm(codes, axis=1), 1.0, atol=_UNIT):
            raise ValueError(
                f"codes must be unit vectors in an array (n_tokens, width), got shape "
                f"{codes.shape}. Divide each row by its norm, or use position_codes."
            )
        if not 0 <= self.target < len(codes):
            raise ValueError(
                f"target must be a position from 0 to {len(codes) - 1}, got {self.target}."
            )
        if not (math.isfinite(self.sharpness) and self.sharpness >= 0.0):
            raise ValueError(f"sharpness must be a number of at least 0, got {self.sharpness}.")
        products = np.abs(codes @ codes.T)
        np.fill_diagonal(products, 0.0)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "coherence", float(products.max()))

    @property
    def query(self) -> NDArray[np.float64]:
        """The query, of shape (width,); the keys are the codes."""
        return self.sharpness * self.codes[self.target]

    @property
    def attention(self) -> NDArray[np.float64]:
        """Weight of each token, of shape (n_tokens,) and sum 1."""
        return np.asarray(softmax(self.codes @ self.query), np.float64)

    @property
    def mass_outside(self) -> float:
        """Measured attention outside the target."""
        return float(np.delete(self.attention, self.target).sum())

    @property
    def gap(self) -> float:
        """By how much the target's logit exceeds every other one, at least."""
        return self.sharpness * (1.0 - self.coherence)

    @property
    def mass_bound(self) -> float:
        """Upper bound on `mass_outside`; rounding, which grows with the logits, is in it."""
        rounding = 1e-13 * (1.0 + self.sharpness)
        others = (len(self.codes) - 1) * math.exp(rounding - self.gap)
        return others / (1.0 + others)

    def output_error_bound(self, value_norm: float) -> float:
        """Return an upper bound on the distance of the head's output from the target's value.

        Parameters
        ----------
        value_norm : float
            Largest norm of a token's value.

        Returns
        -------
        float
            ``2 * value_norm * mass_bound``.
        """
        return 2.0 * value_norm * self.mass_bound
