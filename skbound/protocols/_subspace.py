"""A few random directions in which weights may move, and the code of a place among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.protocols._enumerative import bits_of, read_bits, read_symbols, write_symbols

__all__ = ["CoordinateCode", "Subspace", "nearest", "random_subspace"]

# Steps between the levels of coordinates: from 4 down by factors of the square root of two.
_STEPS = (4.0 * 2.0 ** (-np.arange(32) / 2.0)).astype(np.float16)
_FLOAT16 = 2**16


@dataclass(frozen=True, eq=False)
class Subspace:
    """Each weight is moved by one coordinate, up or down.

    Parameters
    ----------
    groups : ndarray of int of shape (n_weights,)
        Which coordinate moves each weight.
    scales : ndarray of shape (n_weights,)
        By how much a coordinate of 1 moves it.
    n_coordinates : int
        Number of coordinates.
    """

    groups: NDArray[np.intp]
    scales: NDArray[np.float64]
    n_coordinates: int

    def moves(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far each weight is moved.

        Parameters
        ----------
        coordinates : ndarray of shape (n_coordinates,)
            The place.

        Returns
        -------
        ndarray of shape (n_weights,), float64
            To be added to the weights of the centre.
        """
        moves: NDArray[np.float64] = self.scales * coordinates[self.groups]
        return moves


def random_subspace(
    n_weights: int, n_coordinates: int, scale: float, rng: np.random.Generator
) -> Subspace:
    """Draw a subspace: equal shares of the weights for each coordinate, random signs.

    Parameters
    ----------
    n_weights, n_coordinates : int
        Sizes.
    scale : float
        By how much a coordinate of 1 moves a weight.
    rng : numpy.random.Generator
        Source of the shares and signs.

    Returns
    -------
    Subspace
        Its directions are orthogonal; it takes two numbers per weight, however many coordinates.

    Notes
    -----
    Random subspaces: Li, Farkhoor, Liu and Yosinski, "Measuring the intrinsic dimension of
    objective landscapes", ICLR 2018. One non-zero entry per weight, as in weights that share
    values by a hash: Chen, Wilson, Tyree, Weinberger and Chen, ICML 2015.
    """
    groups = rng.permutation(np.arange(n_weights) % n_coordinates)
    return Subspace(groups, scale * rng.choice([-1.0, 1.0], size=n_weights), n_coordinates)


@dataclass(frozen=True)
class CoordinateCode:
    """Code of rounded coordinates: the levels, then the level of each coordinate.

    Parameters
    ----------
    n_coordinates : int
        Number of coordinates, at least 1.
    n_levels : int
        Levels, at least 2.
    codebook : {"uniform", "k-means"}
        "uniform": levels at equal distances around 0, one of 32 distances, 5 bits. "k-means":
        levels anywhere, 16 bits each.

    Notes
    -----
    For one object no code is the start of another, and all of them, taken to the power of one half
    per bit, sum to at most 1.
    """

    n_coordinates: int
    n_levels: int
    codebook: str

    def levels(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return levels that suit some coordinates.

        Parameters
        ----------
        coordinates : ndarray of shape (n_coordinates,)
            To be rounded.

        Returns
        -------
        ndarray of shape (n_levels,), float64
            In ascending order; half-precision numbers.
        """
        if self.codebook == "uniform":
            candidates = [self._spread(step) for step in _STEPS]
            return min(candidates, key=lambda levels: _squared_error(coordinates, levels))
        levels = _k_means(coordinates, self.n_levels)
        return np.sort(levels.astype(np.float16)).astype(np.float64)

    def write(self, symbols: NDArray[np.intp], levels: NDArray[np.float64]) -> str:
        """Write rounded coordinates down.

        Parameters
        ----------
        symbols : ndarray of int of shape (n_coordinates,)
            Number of the level of each coordinate.
        levels : ndarray of shape (n_levels,)
            From `levels`.

        Returns
        -------
        str
            Zeros and ones.
        """
        if self.codebook == "uniform":
            step = np.float16(levels[1] - levels[0])
            head = bits_of(int(np.flatnonzero(step == _STEPS)[0]), len(_STEPS))
        else:
            numbers = levels.astype(np.float16).view(np.uint16)
            head = "".join(bits_of(int(number), _FLOAT16) for number in numbers)
        return head + write_symbols(symbols.tolist(), self.n_levels)

    def read(self, code: str) -> NDArray[np.float64]:
        """Return the coordinates that a code stands for.

        Parameters
        ----------
        code : str
            From `write`.

        Returns
        -------
        ndarray of shape (n_coordinates,), float64
            Rounded.

        Raises
        ------
        ValueError
            If the code is not one that `write` could have written.
        """
        if self.codebook == "uniform":
            place, code = read_bits(code, len(_STEPS))
            levels = self._spread(_STEPS[place])
        else:
            numbers = []
            for _ in range(self.n_levels):
                number, code = read_bits(code, _FLOAT16)
                numbers.append(number)
            levels = np.array(numbers, dtype=np.uint16).view(np.float16).astype(np.float64)
        symbols, rest = read_symbols(code, self.n_coordinates, self.n_levels)
        if rest:
            raise ValueError(f"The code must end with the last coordinate, got {len(rest)} more.")
        return levels[symbols]

    def _spread(self, step: np.float16) -> NDArray[np.float64]:
        # Exact: a half-precision number times half of a small whole number.
        places = np.arange(self.n_levels, dtype=np.float64) - (self.n_levels - 1) / 2.0
        levels: NDArray[np.float64] = float(step) * places
        return levels


def nearest(coordinates: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.intp]:
    """Round coordinates.

    Parameters
    ----------
    coordinates : ndarray of shape (n_coordinates,)
        Any numbers.
    levels : ndarray of shape (n_levels,)
        Where they may go.

    Returns
    -------
    ndarray of int of shape (n_coordinates,)
        Number of the nearest level of each.
    """
    places: NDArray[np.intp] = np.abs(coordinates[:, None] - levels).argmin(axis=1)
    return places


def _squared_error(coordinates: NDArray[np.float64], levels: NDArray[np.float64]) -> float:
    return float(((coordinates - levels[nearest(coordinates, levels)]) ** 2).sum())


def _k_means(coordinates: NDArray[np.float64], n_levels: int) -> NDArray[np.float64]:
    """Return levels that are the means of the coordinates nearest to them, or nearly so."""
    levels = np.quantile(coordinates, (np.arange(n_levels) + 0.5) / n_levels)
    for _ in range(50):
        symbols = nearest(coordinates, levels)
        for level in np.unique(symbols):
            levels[level] = coordinates[symbols == level].mean()
    return levels
