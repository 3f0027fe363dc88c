"""One number per weight matrix: its norm, or that of what training added to it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import ConvolutionNorms, NetRecord
from skbound.exceptions import MissingEvidenceError

__all__ = ["JIANG", "NO_SAMPLE", "change_norms", "fields_of", "log", "norms"]

JIANG = "Jiang, Neyshabur, Mobahi, Krishnan, Bengio 2020, {}"
NO_SAMPLE = "It holds no number of rows, so it does not fall as the data grow."


def _two_one(matrix: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(matrix, axis=1).sum())


_OF: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "spectral": lambda matrix: float(np.linalg.norm(matrix, 2)),
    "frobenius": lambda matrix: float(np.linalg.norm(matrix)),
    # That of the transposed matrix in the papers: Euclidean within rows, then their sum.
    "two_one": _two_one,
}


def norms(net: NetRecord, norm: str) -> list[float]:
    """Return the norm of every weight matrix.

    Parameters
    ----------
    net : NetRecord
        With ``convolutions`` for "exact_spectral".
    norm : {"spectral", "frobenius", "two_one", "exact_spectral"}
        "two_one" is the sum of the Euclidean norms of rows; "exact_spectral" the spectral norm,
        for convolutions that of the map from images to images.

    Returns
    -------
    list of float
        In the order of the layers.
    """
    if norm == "spectral":
        return [layer.spectral_norm for layer in net.layers]
    if norm != "exact_spectral":
        return [_OF[norm](layer.weight) for layer in net.layers]
    exact = _convolutions(net)
    return [
        exact[layer.name].spectral_norm if layer.name in exact else layer.spectral_norm
        for layer in net.layers
    ]


def change_norms(net: NetRecord, norm: str) -> list[float]:
    """Return the norm of what training added to every weight matrix.

    Parameters
    ----------
    net : NetRecord
        As in `norms`.
    norm : str
        As in `norms`.

    Returns
    -------
    list of float
        In the order of the layers.

    Raises
    ------
    MissingEvidenceError
        If initial weights were not recorded.
    """
    if norm != "exact_spectral":
        return [_OF[norm](layer.change) for layer in net.layers]
    exact, found = _convolutions(net), []
    for layer in net.layers:
        if layer.name not in exact:
            found.append(_OF["spectral"](layer.change))
            continue
        change = exact[layer.name].change_norm
        if change is None:
            raise MissingEvidenceError(
                f"The initial weight of {layer.name} was not recorded, so its distance from "
                f"initialisation is not known. Pass the initial module."
            )
        found.append(change)
    return found


def fields_of(norm: str) -> tuple[str, ...]:
    """Return the fields of a record that a norm is computed from."""
    return ("layers", "convolutions") if norm == "exact_spectral" else ("layers",)


def log(x: float) -> float:
    """Return the natural logarithm; minus infinity for 0."""
    return math.log(x) if x > 0.0 else -math.inf


def _convolutions(net: NetRecord) -> dict[str, ConvolutionNorms]:
    net.need("convolutions")
    assert net.convolutions is not None
    return {found.name: found for found in net.convolutions}
