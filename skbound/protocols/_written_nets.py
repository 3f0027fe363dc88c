"""Nets near a centre that a code can name: trained, rounded, improved, written and read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from skbound.protocols._learner import FittedModel, Rows, SubspaceLearner
from skbound.protocols._subspace import CoordinateCode, Subspace, nearest, random_subspace

__all__ = ["written_nets"]

# What the search over single coordinates may take: it evaluates twice as many nets as there are
# coordinates.
_SEARCH_DIMENSION = 256
_SEARCH_ROWS = 2000


def written_nets(
    learner: SubspaceLearner,
    center: FittedModel,
    codes: Sequence[CoordinateCode],
    scale: float,
    seed: int,
) -> Iterator[tuple[FittedModel, str]]:
    """Train a net for each code on all rows, write it down and read it back.

    Parameters
    ----------
    learner : SubspaceLearner
        Data and classifier.
    center : FittedModel
        Where the coordinates are zero.
    codes : sequence of CoordinateCode
        In ascending order of dimension.
    scale : float
        By how much a coordinate of 1 moves a weight.
    seed : int
        Of the subspaces.

    Yields
    ------
    fit : FittedModel
        The net that the bits stand for, given all of the above but the labels and rows that
        `learner` holds.
    bits : str
        Zeros and ones.
    """
    rows, n_weights = np.arange(learner.n_samples), len(learner.parameters(center))
    for dimension, group in groupby(codes, key=lambda code: code.n_coordinates):
        if not dimension or not n_weights:
            # With a single class there is nothing to train, and no code says anything.
            yield from ((center, "") for _ in group)
            continue
        rng = np.random.default_rng([seed, 2, dimension])
        subspace = random_subspace(n_weights, dimension, scale, rng)
        some = np.sort(rng.permutation(rows)[:_SEARCH_ROWS])
        _, start = learner.fit_coordinates(rows, center, subspace)
        for code in group:
            levels = code.levels(start)
            fit, end = learner.fit_coordinates(rows, center, subspace, start=start, levels=levels)
            grid = _Grid(learner, fit, center, subspace, levels, some)
            # Whatever is found on the grid is paid for by its bits.
            symbols = min((nearest(z, levels) for z in (start, end)), key=grid.loss)
            if dimension <= _SEARCH_DIMENSION:
                symbols = grid.improved(symbols)
            bits = code.write(symbols, levels)
            yield grid.net(code.read(bits)), bits


@dataclass(frozen=True)
class _Grid:
    """The nets with coordinates on some levels."""

    learner: SubspaceLearner
    fit: FittedModel
    center: FittedModel
    subspace: Subspace
    levels: NDArray[np.float64]
    rows: Rows

    def net(self, coordinates: NDArray[np.float64]) -> FittedModel:
        moved = np.add(self.learner.parameters(self.center), self.subspace.moves(coordinates))
        return self.learner.with_parameters(self.fit, moved)

    def loss(self, symbols: NDArray[np.intp]) -> float:
        sample = self.learner.losses(self.net(self.levels[symbols]), self.rows)
        return float(np.mean(sample.zero_one if sample.brier is None else sample.brier))

    def improved(self, symbols: NDArray[np.intp]) -> NDArray[np.intp]:
        """Go through the coordinates once; move each by one level where the loss falls."""
        smallest = self.loss(symbols)
        for place in range(len(symbols)):
            for step in (-1, 1):
                other = symbols.copy()
                other[place] += step
                if 0 <= other[place] < len(self.levels) and (loss := self.loss(other)) < smallest:
                    symbols, smallest = other, loss
        return symbols
