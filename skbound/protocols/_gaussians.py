"""Gaussians around trained weights: densities, draws, and the choice of a posterior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skbound.protocols._learner import FittedModel

__all__ = ["Gaussian", "best_posterior", "draws"]

Vector = NDArray[np.float64]

# Shares of the way from the prior's centre to the trained weights.
_SHARES = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)
# Nets per posterior, drawn to compare posteriors and then thrown away.
_TRIALS = 2
# What the choice assumes that confidence costs. Any number is valid.
_NATS = 4.0


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A posterior around `center`, with a prior of the same standard deviation around `prior`.

    Parameters
    ----------
    fit : FittedModel
        A net with the posterior's architecture and tokenizer.
    prior, center : ndarray of shape (n_weights,)
        Centres.
    sigma : float
        Standard deviation of each weight.
    """

    fit: FittedModel
    prior: Vector
    center: Vector
    sigma: float

    @property
    def divergence(self) -> float:
        """Relative entropy of posterior and prior, in nats."""
        return math.fsum(np.square(self._shift())) / 2.0

    def log_ratio(self, noise: Vector) -> float:
        """Return the logarithm of the posterior's density over the prior's, in nats.

        Parameters
        ----------
        noise : ndarray of shape (n_weights,)
            In standard deviations from the posterior's centre.

        Returns
        -------
        float
            Of mean `divergence` over the noise.
        """
        return self.divergence + math.fsum(self._shift() * noise)

    def net(self, learner: Any, noise: Vector) -> FittedModel:
        """Return the net at the posterior's centre plus noise.

        Parameters
        ----------
        learner : WeightLearner
            That knows the nets.
        noise : ndarray of shape (n_weights,)
            In standard deviations.

        Returns
        -------
        FittedModel
            Its weights are rounded to the net's precision.
        """
        net: FittedModel = learner.with_parameters(self.fit, self.center + self.sigma * noise)
        return net

    def _shift(self) -> Vector:
        return (self.center - self.prior) / self.sigma


def draws(n_weights: int, n_draws: int, rng: np.random.Generator) -> list[Vector]:
    """Draw standard normal noise, in pairs of opposite sign; the last of an odd number has none.

    Parameters
    ----------
    n_weights, n_draws : int
        Length and number of the vectors.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    list of ndarray of shape (n_weights,)
        Each of them standard normal.
    """
    found: list[Vector] = []
    while len(found) < n_draws:
        noise = rng.standard_normal(n_weights)
        found += [noise, -noise]
    return found[:n_draws]


def best_posterior(
    learner: Any, posteriors: Sequence[Gaussian], rows: NDArray[np.intp], rng: np.random.Generator
) -> Gaussian:
    """Choose the posterior with the smallest estimated bound.

    Parameters
    ----------
    learner : WeightLearner
        Data and nets.
    posteriors : sequence of Gaussian
        One per standard deviation; their centres may move towards the prior's.
    rows : ndarray of int
        Rows that the bound is computed from.
    rng : numpy.random.Generator
        Source of the noise; not used for the nets that are certified.

    Returns
    -------
    Gaussian
        With its centre on the way between the two.
    """
    noise = draws(posteriors[0].center.size, _TRIALS, rng)
    best, smallest = posteriors[0], math.inf
    for posterior in posteriors:
        way = posterior.center - posterior.prior
        for share in _SHARES:
            moved = replace(posterior, center=posterior.prior + share * way)
            nets = [moved.net(learner, e) for e in noise]
            error = sum(learner.losses(net, rows).error for net in nets) / len(nets)
            radius = (moved.divergence + _NATS) / len(rows)
            # Close to the inverse of the relative entropy, from above.
            value = error + radius + math.sqrt(2.0 * error * radius)
            if value < smallest:
                best, smallest = moved, value
    return best
