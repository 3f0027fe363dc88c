"""Terms of the error with which a Transformer can approximate a function at all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure, LogMeasure

__all__ = [
    "AttentionDiffuseness",
    "AttentionSharpness",
    "attention_error",
    "hoelder_rate",
    "log_attention_leak",
]


def log_attention_leak(
    n_tokens: ArrayLike, strength: ArrayLike, coherence: ArrayLike
) -> NDArray[np.float64]:
    r"""Return the logarithm of ``T exp(-R (1 - 2 D))``.

    That is the order of the weight that a head wastes which should attend to one of ``T`` tokens,
    if the tokens' codes have length 1, two of them a scalar product of at most ``D`` in absolute
    value, and the query is ``R`` times the code that it looks for.

    Parameters
    ----------
    n_tokens : array-like
        ``T``, at least 1.
    strength : array-like
        ``R``, not negative.
    coherence : array-like
        ``D``, in [0, 1].

    Returns
    -------
    ndarray
        Above 0, and so without meaning, where the codes are less than half apart.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    tokens, r, d = (np.asarray(x, np.float64) for x in (n_tokens, strength, coherence))
    if not ((tokens >= 1.0).all() and (r >= 0.0).all() and ((d >= 0.0) & (d <= 1.0)).all()):
        raise ValueError(
            f"n_tokens must be at least 1, strength not negative and coherence in [0, 1], got "
            f"{n_tokens!r}, {strength!r} and {coherence!r}."
        )
    return np.asarray(np.log(tokens) - r * (1.0 - 2.0 * d))


def attention_error(n_tokens: int, gap: float, largest_value: float = 1.0) -> float:
    r"""Bound how far attention is from the value of the token with the largest logit.

    If that logit exceeds all others by ``g``, the others have the weight ``q <= (T - 1) e^-g / (1 +
    (T - 1) e^-g)`` in sum, and the output is within ``2 q V`` of that token's value.

    Parameters
    ----------
    n_tokens : int
        ``T``, at least 1.
    gap : float
        ``g``, not negative.
    largest_value : float, default=1.0
        ``V``: no value is longer.

    Returns
    -------
    float
        In [0, 2 V].

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> round(attention_error(10, 8.0), 5)
    0.00602
    """
    if n_tokens < 1 or not gap >= 0.0 or not largest_value >= 0.0:
        raise ValueError(
            f"n_tokens must be at least 1, gap and largest_value not negative, got {n_tokens}, "
            f"{gap} and {largest_value}."
        )
    others = (n_tokens - 1) * math.exp(-gap)
    return 2.0 * largest_value * others / (1.0 + others)


def hoelder_rate(
    width: int, smoothness: float, n_variables: int, *, injectivity: float = 1.0
) -> float:
    r"""Return ``(2 / g)^b d^(-b / s)``.

    The order at which a net with one hidden layer of ``d`` units approximates a function of ``s``
    variables that is Hoelder continuous of degree ``b``, if its argument can be read off what
    attention puts out with the constant ``g``. The constant in front depends on the function, which
    is not known; nothing can be computed from data.

    Parameters
    ----------
    width : int
        ``d``, at least 1.
    smoothness : float
        ``b``, positive.
    n_variables : int
        ``s``, at least 1.
    injectivity : float, default=1.0
        ``g``, positive.

    Returns
    -------
    float
        Positive.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> round(hoelder_rate(256, 1.0, 4, injectivity=2.0), 6)
    0.25
    """
    if width < 1 or n_variables < 1 or not smoothness > 0.0 or not injectivity > 0.0:
        raise ValueError(
            f"width and n_variables must be at least 1, smoothness and injectivity positive, got "
            f"{width}, {n_variables}, {smoothness} and {injectivity}."
        )
    return float((2.0 / injectivity) ** smoothness * width ** (-smoothness / n_variables))


class AttentionSharpness(LogMeasure):
    """Mean over heads of ``T exp(-R (1 - 2 D))``, with ``R`` and ``D`` read off the trained net.

    ``R`` is the mean length of a head's queries times that of the most attended key, over
    ``sqrt(head_width)``; ``D`` the mean over rows of the largest absolute cosine of two keys. The
    smaller, the more of a trained head's weight could lie on one token.
    """

    key = "attention_sharpness"
    depends_on = ("attention",)
    source = "second founding document, Section 4.2"
    why_no_bound = (
        "It is about how well some Transformer could approximate a known function, and not about "
        "the error of this one."
    )

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm of the mean."""
        attention = net.attention
        assert attention is not None
        logs = log_attention_leak(attention.n_tokens, attention.strength, attention.coherence)
        return float(logsumexp(logs)) - math.log(logs.size)


class AttentionDiffuseness(ComplexityMeasure):
    """Mean weight of attention that is not on the most attended token."""

    key = "attention_diffuseness"
    depends_on = ("attention",)
    source = "what log_attention_leak predicts, measured"
    why_no_bound = "How sharply a net looks says nothing about whether its labels are right."

    def value(self, net: NetRecord) -> float:
        """Return a number in [0, 1)."""
        attention = net.attention
        assert attention is not None
        return 1.0 - float(attention.top_mass.mean())
