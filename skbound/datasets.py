"""Random classification problems whose true risk is known, to check bounds without a test set."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FiniteDomain", "GaussianPair", "finite_domain", "parity_domain", "random_label_domain"]

Seed = int | np.random.Generator | None
_LARGEST_GRID = 10**6
_SIGNS = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False)
class FiniteDomain:
    """A law of (x, y) on finitely many points, so that risks are finite sums.

    Parameters
    ----------
    points : array-like of shape (n_points, n_features)
        All values that x can take.
    probabilities : array-like of shape (n_points,)
        Probability of each point.
    conditionals : array-like of shape (n_points, n_classes)
        Probability of each class at each point.
    classes : array-like of shape (n_classes,)
        Labels, in the order of the columns of `conditionals`.

    Raises
    ------
    ValueError
        If shapes do not match, or probabilities are negative or do not sum to 1.

    Examples
    --------
    >>> domain = FiniteDomain([[0.0], [1.0]], [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], ["no", "yes"])
    >>> round(domain.bayes_risk, 6), round(domain.risk(lambda X: ["no"] * len(X)), 6)
    (0.15, 0.45)
    """

    points: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    conditionals: NDArray[np.float64]
    classes: NDArray[Any]

    def __post_init__(self) -> None:
        for name in ("points", "probabilities", "conditionals"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "classes", np.array(self.classes))
        laws = self.probabilities, self.conditionals
        shapes = [law.shape for law in laws]
        expected = [self.points.shape[:1], (len(self.points), len(self.classes))]
        if self.points.ndim != 2 or shapes != expected:
            raise ValueError(f"The laws must have the shapes {expected}, got {shapes}.")
        for law in laws:
            if not ((law >= 0.0).all() and np.allclose(law.sum(axis=-1), 1.0, atol=1e-9)):
                raise ValueError(f"Probabilities must be >= 0 and sum to 1, got {law.tolist()}.")

    def sample(
        self, n_samples: int, random_state: Seed = None
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Draw independent rows.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, numpy.random.Generator or None, default=None
            Source of randomness.

        Returns
        -------
        X, y : ndarray of shape (n_samples, n_features) and of shape (n_samples,)
            Points and labels.
        """
        rng = np.random.default_rng(random_state)
        drawn = rng.choice(len(self.points), size=n_samples, p=self.probabilities)
        # Without the last column: rounding cannot lead past the last class.
        steps = np.cumsum(self.conditionals, axis=1)[:, :-1]
        labels = (rng.random(n_samples)[:, None] >= steps[drawn]).sum(axis=1)
        return self.points[drawn], self.classes[labels]

    def risk(self, predict: Callable[[NDArray[np.float64]], ArrayLike]) -> float:
        """Compute the true error of a predictor.

        Parameters
        ----------
        predict : callable
            Maps points of shape (n_points, n_features) to labels.

        Returns
        -------
        float
            ``P(predict(x) != y)``. A label that is none of `classes` is always wrong.
        """
        right = np.asarray(predict(self.points))[:, None] == self.classes
        return float(self.probabilities @ (1.0 - (self.conditionals * right).sum(axis=1)))

    def brier(self, predict_proba: Callable[[NDArray[np.float64]], ArrayLike]) -> float:
        """Compute half the expected Brier score of predicted probabilities.

        Parameters
        ----------
        predict_proba : callable
            Maps points to an array of shape (n_points, n_classes), in the order of `classes`.

        Returns
        -------
        float
            Mean of half the squared distance to the one-hot label, in [0, 1].
        """
        forecast = np.asarray(predict_proba(self.points), dtype=np.float64)
        distances = ((forecast[:, None, :] - np.eye(len(self.classes))) ** 2).sum(axis=2)
        return float(self.probabilities @ (self.conditionals * distances).sum(axis=1)) / 2.0

    @property
    def bayes_risk(self) -> float:
        """Smallest true error of any predictor."""
        return float(self.probabilities @ (1.0 - self.conditionals.max(axis=1)))


def _grid(n_features: int, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    if n_features < 1 or not 1 <= len(levels) ** n_features <= _LARGEST_GRID:
        size = f"{len(levels)} ** {n_features}"
        raise ValueError(f"The domain must have 1 to {_LARGEST_GRID} points, got {size}.")
    return np.array(list(itertools.product(levels, repeat=n_features)))


def _uniform(points: NDArray[np.float64], conditionals: NDArray[np.float64]) -> FiniteDomain:
    probabilities = np.full(len(points), 1.0 / len(points))
    return FiniteDomain(points, probabilities, conditionals, np.arange(conditionals.shape[1]))


def parity_domain(n_features: int = 6, n_relevant: int = 2, flip: float = 0.1) -> FiniteDomain:
    """Product of the first signs, with flipped labels.

    Parameters
    ----------
    n_features : int, default=6
        Features, each -1 or 1 with probability 1/2.
    n_relevant : int, default=2
        The label is 1 where the product of this many first features is positive, else 0.
    flip : float, default=0.1
        Probability that a label is flipped; the Bayes risk is ``min(flip, 1 - flip)``.

    Returns
    -------
    FiniteDomain
        With classes 0 and 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(parity_domain(flip=0.1).bayes_risk, 6)
    0.1
    """
    if not 1 <= n_relevant <= n_features:
        raise ValueError(f"n_relevant must lie in [1, {n_features}], got {n_relevant}.")
    if not 0.0 <= flip <= 1.0:
        raise ValueError(f"flip must lie in [0, 1], got {flip}.")
    points = _grid(n_features, _SIGNS)
    clean = (points[:, :n_relevant].prod(axis=1) > 0.0).astype(int)
    conditionals = flip + (1.0 - 2.0 * flip) * np.eye(2)[clean]
    return _uniform(points, conditionals)


def finite_domain(
    n_features: int = 3,
    n_levels: int = 4,
    n_classes: int = 3,
    label_noise: float = 0.1,
    random_state: Seed = 0,
) -> FiniteDomain:
    """Random law on a grid, with a favourite class and label noise of its own at every point.

    Parameters
    ----------
    n_features, n_levels : int
        Features, each with the values ``0, ..., n_levels - 1``.
    n_classes : int
        Classes ``0, ..., n_classes - 1``.
    label_noise : float
        Weight of a random law of the label, mixed at each point with its favourite class.
    random_state : int, numpy.random.Generator or None, default=0
        Draws the law.

    Returns
    -------
    FiniteDomain
        Point probabilities are random as well.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> finite_domain(n_features=2, n_levels=3, label_noise=0.0).bayes_risk
    0.0
    """
    if not 0.0 <= label_noise <= 1.0:
        raise ValueError(f"label_noise must lie in [0, 1], got {label_noise}.")
    rng = np.random.default_rng(random_state)
    points = _grid(n_features, np.arange(n_levels, dtype=np.float64))
    favourites = np.eye(n_classes)[rng.integers(n_classes, size=len(points))]
    noise = rng.dirichlet(np.ones(n_classes), size=len(points))
    conditionals = (1.0 - label_noise) * favourites + label_noise * noise
    probabilities = rng.dirichlet(np.ones(len(points)))
    return FiniteDomain(points, probabilities, conditionals, np.arange(n_classes))


def random_label_domain(n_features: int = 4, n_classes: int = 2) -> FiniteDomain:
    """Labels that do not depend on the features: nothing can be learned.

    Parameters
    ----------
    n_features : int, default=4
        Features, each -1 or 1 with probability 1/2.
    n_classes : int, default=2
        Equally likely classes; every predictor has risk ``1 - 1 / n_classes``.

    Returns
    -------
    FiniteDomain
        With classes ``0, ..., n_classes - 1``.

    Examples
    --------
    >>> random_label_domain(n_classes=4).risk(lambda X: (X[:, 0] > 0).astype(int))
    0.75
    """
    points = _grid(n_features, _SIGNS)
    conditionals = np.full((len(points), n_classes), 1.0 / n_classes)
    return _uniform(points, conditionals)


@dataclass(frozen=True)
class GaussianPair:
    """Two equally likely Gaussian classes with unit covariance.

    Class 1 is centred at ``distance / 2`` along the diagonal, class 0 opposite to it.

    Parameters
    ----------
    n_features : int
        Dimension.
    distance : float
        Distance between the centres, at least 0.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> pair = GaussianPair(n_features=2, distance=2.0)
    >>> round(pair.bayes_risk, 6), round(pair.risk_linear([1, 1]), 6)
    (0.158655, 0.158655)
    """

    n_features: int
    distance: float

    def __post_init__(self) -> None:
        if self.n_features < 1 or not 0.0 <= self.distance < math.inf:
            raise ValueError(f"n_features must be >= 1 and distance finite and >= 0, got {self}.")

    @property
    def center(self) -> NDArray[np.float64]:
        """Centre of class 1; that of class 0 is its negative."""
        return np.full(self.n_features, self.distance / 2.0 / math.sqrt(self.n_features))

    @property
    def bayes_risk(self) -> float:
        """Smallest true error of any predictor, ``Phi(-distance / 2)``."""
        return _normal_cdf(-self.distance / 2.0)

    def sample(
        self, n_samples: int, random_state: Seed = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw independent rows with labels 0 and 1. See `FiniteDomain.sample`."""
        rng = np.random.default_rng(random_state)
        y = rng.integers(2, size=n_samples)
        noise = rng.standard_normal((n_samples, self.n_features))
        return noise + (2.0 * y[:, None] - 1.0) * self.center, y

    def risk_linear(self, coef: ArrayLike, intercept: float = 0.0) -> float:
        """Compute the true error of the rule "1 where ``x @ coef + intercept > 0``, else 0".

        Parameters
        ----------
        coef : array-like of shape (n_features,)
            Weights.
        intercept : float, default=0.0
            Offset.

        Returns
        -------
        float
            ``P(prediction != y)``, in closed form.
        """
        weights = np.asarray(coef, dtype=np.float64).reshape(self.n_features)
        norm, signal = float(np.linalg.norm(weights)), float(weights @ self.center)
        if norm == 0.0:
            return 0.5
        # Errors on class 1 and on class 0.
        return sum(_normal_cdf((side * intercept - signal) / norm) for side in (-1, 1)) / 2.0


def _normal_cdf(z: float) -> float:
    return math.erfc(-z / math.sqrt(2.0)) / 2.0
