"""A formula for Transformers in which no number of rows occurs."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skbound.evidence import NetRecord
from skbound.exceptions import MissingEvidenceError
from skbound.measures._measure import LogMeasure

__all__ = [
    "TransformerDataTerm",
    "TransformerFormula",
    "TransformerModelTerm",
    "TransformerTerms",
    "scaling",
    "transformer_terms",
]

# The constants that go with the formula; nobody has derived them.
_MODEL = 2.0 * math.sqrt(2.0)
_DATA = 4.0


@dataclass(frozen=True, kw_only=True)
class TransformerTerms:
    """The formula's two terms.

    Parameters
    ----------
    log_model, log_data : ndarray
        Natural logarithms.
    """

    log_model: NDArray[np.float64]
    log_data: NDArray[np.float64]

    @property
    def log_total(self) -> NDArray[np.float64]:
        """Logarithm of the sum."""
        return np.logaddexp(self.log_model, self.log_data)

    @property
    def total(self) -> NDArray[np.float64]:
        """Sum, infinite where it overflows."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_total)


def transformer_terms(
    *,
    depth: ArrayLike,
    width: ArrayLike,
    n_heads: ArrayLike,
    n_tokens: ArrayLike,
    weight_bound: ArrayLike = 1.0,
) -> TransformerTerms:
    """Evaluate ``c B^L T d / sqrt(H)`` and ``c' B^(L - 1) d^(3/2) / sqrt(T)``.

    The constants are ``c = 2 sqrt(2)`` and ``c' = 4``. No number of rows occurs: `n_tokens` is the
    length ``T`` of a sequence and `n_heads` the number ``H`` of heads.

    Parameters
    ----------
    depth, width, n_heads, n_tokens, weight_bound : array-like
        Positive numbers; arrays are broadcast. `weight_bound` is the spectral norm ``B`` that no
        weight matrix exceeds.

    Returns
    -------
    TransformerTerms
        As logarithms.

    Raises
    ------
    ValueError
        If a number is not positive.

    Examples
    --------
    >>> terms = transformer_terms(depth=6, width=512, n_heads=8, n_tokens=128)
    >>> round(float(terms.total), 3)
    69632.0
    """
    given = {
        "depth": depth,
        "width": width,
        "n_heads": n_heads,
        "n_tokens": n_tokens,
        "weight_bound": weight_bound,
    }
    for name, values in given.items():
        if not (np.asarray(values, np.float64) > 0.0).all():
            raise ValueError(f"{name} must be positive, got {values!r}.")
    log = {name: np.log(np.asarray(values, np.float64)) for name, values in given.items()}
    blocks = np.asarray(depth, np.float64)
    model = blocks * log["weight_bound"] + log["n_tokens"] + log["width"] - 0.5 * log["n_heads"]
    data = (blocks - 1.0) * log["weight_bound"] + 1.5 * log["width"] - 0.5 * log["n_tokens"]
    log_model, log_data = np.broadcast_arrays(math.log(_MODEL) + model, math.log(_DATA) + data)
    return TransformerTerms(log_model=log_model, log_data=log_data)


def scaling(
    vary: dict[str, Iterable[float]],
    *,
    depth: float,
    width: float,
    n_heads: float,
    n_tokens: float,
    weight_bound: float = 1.0,
) -> dict[str, NDArray[np.float64]]:
    """Evaluate the formula while one quantity after the other is varied.

    Parameters
    ----------
    vary : dict of str to iterable of float
        Which values each quantity takes while the others stay as given.
    depth, width, n_heads, n_tokens, weight_bound : float
        As in :func:`transformer_terms`.

    Returns
    -------
    dict of str to ndarray of shape (n_values, 3)
        Per varied quantity: first term, second term and sum for each value.

    Raises
    ------
    ValueError
        If a quantity is not one of the formula's, or not positive.

    Examples
    --------
    >>> found = scaling(
    ...     {"weight_bound": [1.0, 2.0]}, depth=3, width=16, n_heads=4, n_tokens=9
    ... )
    >>> (found["weight_bound"][1] / found["weight_bound"][0]).round(3)[:2]
    array([8., 4.])
    """
    fixed: dict[str, ArrayLike] = {
        "depth": depth,
        "width": width,
        "n_heads": n_heads,
        "n_tokens": n_tokens,
        "weight_bound": weight_bound,
    }
    if unknown := set(vary) - set(fixed):
        raise ValueError(f"vary must name some of {sorted(fixed)}, got {sorted(unknown)} too.")
    found = {}
    for name, values in vary.items():
        terms = transformer_terms(**(fixed | {name: np.asarray(list(values), np.float64)}))
        logs = np.stack([terms.log_model, terms.log_data, terms.log_total], axis=1)
        with np.errstate(over="ignore"):
            found[name] = np.exp(logs)
    return found


class _Term(LogMeasure):
    depends_on = ("layers",)
    source = "first founding document, main theorem; no proof is known"
    why_no_bound = (
        "It holds no number of rows, more heads make it smaller, and its proof rests on a false "
        "Lipschitz constant of attention."
    )

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm, with the largest spectral norm of the net's matrices."""
        sizes = net.architecture
        if None in (sizes.depth, sizes.width, sizes.n_heads, sizes.n_tokens):
            raise MissingEvidenceError(
                "The formula needs depth, width, heads and tokens of a Transformer. Pass them to "
                "Architecture."
            )
        bound = max(layer.spectral_norm for layer in net.layers)
        if bound == 0.0:
            return -math.inf
        terms = transformer_terms(
            depth=float(sizes.depth or 0),
            width=float(sizes.width or 0),
            n_heads=float(sizes.n_heads or 0),
            n_tokens=float(sizes.n_tokens or 0),
            weight_bound=bound,
        )
        return float(self._take(terms))

    @abstractmethod
    def _take(self, terms: TransformerTerms) -> NDArray[np.float64]: ...


class TransformerModelTerm(_Term):
    """First term of the formula, ``c B^L T d / sqrt(H)``."""

    key = "transformer_model_term"

    def _take(self, terms: TransformerTerms) -> NDArray[np.float64]:
        return terms.log_model


class TransformerDataTerm(_Term):
    """Second term of the formula, ``c' B^(L - 1) d^(3/2) / sqrt(T)``."""

    key = "transformer_data_term"

    def _take(self, terms: TransformerTerms) -> NDArray[np.float64]:
        return terms.log_data


class TransformerFormula(_Term):
    """Sum of both terms of the formula."""

    key = "transformer_formula"

    def _take(self, terms: TransformerTerms) -> NDArray[np.float64]:
        return terms.log_total
