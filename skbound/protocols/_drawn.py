"""How the rows are cut for a prior, and what is assumed of nets that are drawn from a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import DrawnPredictor
from skbound.protocols._assumptions import DISTINCT

__all__ = ["Parts", "drawn_assumptions", "n_guess"]

_GUESS = 0.2


def n_guess(n_prior: int) -> int:
    """Return on how many of the prior's rows the error is guessed.

    Parameters
    ----------
    n_prior : int
        Rows that train the prior.

    Returns
    -------
    int
        A fifth of them.
    """
    return round(n_prior * _GUESS)


@dataclass(frozen=True)
class Parts:
    """Three parts of the rows, each sorted.

    Parameters
    ----------
    early, guess : ndarray of int
        The rows of the prior; the error is guessed by a net trained on the early ones.
    certified : ndarray of int
        All other rows.
    """

    early: NDArray[np.intp]
    guess: NDArray[np.intp]
    certified: NDArray[np.intp]

    @classmethod
    def of(cls, order: NDArray[np.intp], n_prior: int) -> Parts:
        """Cut rows in random order.

        Parameters
        ----------
        order : ndarray of int of shape (n_samples,)
            All rows.
        n_prior : int
            How many of them, the first ones, train the prior.

        Returns
        -------
        Parts
            Of all rows.
        """
        n_early = n_prior - n_guess(n_prior)
        early, guess, certified = np.split(order, [n_early, n_prior])
        return cls(np.sort(early), np.sort(guess), np.sort(certified))

    @property
    def prior(self) -> NDArray[np.intp]:
        """All rows that train the prior."""
        return np.sort(np.concatenate([self.early, self.guess]))

    @property
    def all(self) -> NDArray[np.intp]:
        """All rows."""
        return np.arange(len(self.early) + len(self.guess) + len(self.certified))


def drawn_assumptions(
    predictor: DrawnPredictor, n_draws: int, sigma: float, sigmas: Sequence[float]
) -> tuple[str, ...]:
    """Say what a certificate of drawn nets rests on.

    Parameters
    ----------
    predictor : {"single_draw", "gibbs", "vote", "average"}
        What ``predict`` makes of the nets.
    n_draws : int
        How many there are.
    sigma : float
        Their standard deviation.
    sigmas : sequence of float
        Among which it was chosen.

    Returns
    -------
    tuple of str
        Sentences.
    """
    tried = ", ".join(f"{s:g}" for s in sigmas)
    draw = _DRAW.format(sigma=sigma, sigmas=tried)
    distinct = (DISTINCT,) if predictor == "gibbs" else ()
    return _PRIOR_ROWS, draw, _WHAT[predictor].format(n=n_draws), *distinct


_PRIOR_ROWS = (
    "The rows that the prior has not seen are a uniform random part, chosen by seed and number of "
    "rows alone; scaling, category maps and the prior's weights come from the other rows. The "
    "posterior was trained on both parts."
)
_DRAW = (
    "Prior and posterior are Gaussians with the standard deviation {sigma:g}, one of {sigmas}, "
    "which were fixed before fit; the nets were drawn with a generator that knows the seed only."
)
_WHAT = {
    "single_draw": (
        "predict uses one net, drawn once from the posterior: the certificate is about this net, "
        "and its level is over rows and draw."
    ),
    "gibbs": (
        "predict gives each row to one of {n} nets, drawn once from the posterior, by a keyed hash "
        "of the row; the bound is on the mean error over the key, which was drawn at random, and "
        "its level is over rows and draws."
    ),
    "vote": (
        "predict counts the labels of {n} nets, drawn once from the posterior: the bound is twice "
        "that on their mean error, and its level is over rows and draws."
    ),
    "average": (
        "predict averages the probabilities of {n} nets, drawn once from the posterior: the bound "
        "on the error is four times that on the mean of half their Brier scores, and its level is "
        "over rows and draws."
    ),
}
