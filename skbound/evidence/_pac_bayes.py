"""Losses of predictors that were drawn from a posterior, with their divergence from a prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import Sample, frozen_array
from skbound.evidence._sentences import joint_answer, over_the_key

__all__ = ["DrawnPredictor", "DrawnSample", "GibbsSample"]

DrawnPredictor = Literal["single_draw", "gibbs", "vote", "average"]


@dataclass(frozen=True, eq=False, kw_only=True)
class DrawnSample:
    """Losses of nets that were drawn from a posterior and are what ``predict`` uses.

    The prior must not depend on these rows; the posterior may depend on everything. Each net has
    the posterior as its law; they may depend on each other.

    Parameters
    ----------
    predictor : {"single_draw", "gibbs", "vote", "average"}
        What ``predict`` makes of the nets: the only one answers; a hash of the row chooses one;
        their labels are counted; their probabilities are averaged.
    sample : Sample
        Losses of ``predict`` itself.
    zero_one : array-like of shape (n_draws, n_samples)
        1 where a drawn net is wrong, 0 where it is right.
    brier : array-like of shape (n_draws, n_samples) or None
        Half the squared distance between its probabilities and the one-hot label, in [0, 1].
    log_ratios : array-like of shape (n_draws,)
        Logarithm of the posterior's density over the prior's at each drawn net, in nats.
    divergence : float
        Relative entropy of posterior and prior, in nats: what `log_ratios` are in expectation.
    n_options : int
        Among how many priors, fixed before the rows were read, one was chosen with their help.
    guess : Sample
        Losses on other rows, recorded before any row of `sample` was evaluated. Whatever a bound
        must fix beforehand is computed from them.

    Raises
    ------
    ValueError
        If shapes do not match, a number is not finite, or a loss is outside its range.
    """

    predictor: DrawnPredictor
    sample: Sample
    zero_one: NDArray[np.float64]
    brier: NDArray[np.float64] | None
    log_ratios: NDArray[np.float64]
    divergence: float
    n_options: int
    guess: Sample

    def __post_init__(self) -> None:
        if self.predictor not in get_args(DrawnPredictor):
            raise ValueError(
                f"predictor must be one of {get_args(DrawnPredictor)}, got {self.predictor!r}."
            )
        for name in ("zero_one", "brier", "log_ratios"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen_array(getattr(self, name), np.float64))
        shape = (len(self.log_ratios), self.sample.n_samples)
        if self.log_ratios.ndim != 1 or not self.n_draws:
            raise ValueError(f"There must be a log ratio per net, got {self.log_ratios!r}.")
        if self.predictor == "single_draw" and self.n_draws > 1:
            raise ValueError(f"A single draw is one net, got {self.n_draws}.")
        for losses in (self.zero_one, self.brier):
            if losses is None:
                continue
            if losses.shape != shape:
                raise ValueError(f"Losses must have the shape {shape}, got {losses.shape}.")
            # Written so that NaN fails too.
            if not ((losses >= 0.0) & (losses <= 1.0)).all():
                raise ValueError("Losses must lie in [0, 1], got values outside or NaN.")
        _check_numbers(self.divergence, self.n_options)
        if not np.isfinite(self.log_ratios).all():
            raise ValueError(f"Log ratios must be finite, got {self.log_ratios.tolist()}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), dict(vars(self)))

    @property
    def kind(self) -> str:
        """Which bounds apply."""
        return f"pac_bayes_{self.predictor}"

    @property
    def n_draws(self) -> int:
        """Number of drawn nets."""
        return len(self.log_ratios)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.sample.n_samples

    @property
    def n_predictors(self) -> int:
        """Number of drawn nets, all of which ``predict`` uses."""
        return self.n_draws

    @property
    def over(self) -> str:
        """What the bounded error is a mean over, in words."""
        return over_the_key(self.n_draws, "drawn nets") if self.predictor == "gibbs" else ""

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the posterior was trained on.

        Returns
        -------
        str
            A sentence without its full stop, which ends with the rows that the losses are of.
        """
        answer = joint_answer(self.predictor, self.n_draws, "drawn nets")
        return answer + _spent(n_fit, self.n_samples, self.n_draws)


@dataclass(frozen=True, eq=False, kw_only=True)
class GibbsSample:
    """Monte-Carlo mean losses of a posterior, for a predictor that draws anew for each prediction.

    The rows are cut into minibatches once, and fresh weights are drawn for every minibatch of
    every pass.

    Parameters
    ----------
    zero_one : float
        Mean over the passes of the mean error on all rows.
    brier : float or None, default=None
        The same for half the Brier score.
    n_samples : int
        Number of rows.
    n_draws : int
        Passes times minibatches: how many independent draws the means consist of.
    inflation : float, default=1.0
        Number of minibatches times the largest share of the rows in one of them; 1 for
        minibatches of equal size.
    divergence : float
        Relative entropy of posterior and prior, in nats.
    n_options : int, default=1
        Among how many priors, fixed before the rows were read, one was chosen with their help.
    guess : Sample
        Losses on other rows, recorded before any of these rows was evaluated.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    No protocol here records it: `PACBayes` certifies the nets that it has drawn, without a
    Monte-Carlo step. It serves bounds for predictors that were trained elsewhere.

    Examples
    --------
    A posterior with an error of .1 on 300 rows, seen in 50 passes of 20 minibatches:

    >>> from skbound.bounds import PACBayesKLBound, gaussian_divergence
    >>> from skbound.evidence import Evidence, GibbsSample, Sample
    >>> record = GibbsSample(
    ...     zero_one=0.1, n_samples=300, n_draws=1000,
    ...     divergence=gaussian_divergence([0.3, -0.2], 0.1, [0.1, 0.0], 0.1),
    ...     guess=Sample(range(300, 400), [1] * 10 + [0] * 90),
    ... )
    >>> evidence = Evidence(
    ...     protocol="elsewhere", n_fit=500, majority_share=0.5, certified=record
    ... )
    >>> round(PACBayesKLBound()(evidence, 0.05).value, 4)
    0.2356
    """

    kind: ClassVar[str] = "pac_bayes_gibbs"
    sample: ClassVar[None] = None
    predictor: ClassVar[str] = "gibbs"
    over: ClassVar[str] = " in the mean over the weights, drawn anew for each prediction,"

    zero_one: float
    brier: float | None = None
    n_samples: int
    n_draws: int
    inflation: float = 1.0
    divergence: float
    n_options: int = 1
    guess: Sample

    def __post_init__(self) -> None:
        for mean in (self.zero_one, self.brier):
            if mean is not None and not 0.0 <= mean <= 1.0:
                raise ValueError(f"Mean losses must lie in [0, 1], got {mean!r}.")
        if self.n_samples < 1 or self.n_draws < 1 or not self.inflation >= 1.0:
            raise ValueError(
                f"n_samples and n_draws must be at least 1 and inflation at least 1, got "
                f"{self.n_samples}, {self.n_draws} and {self.inflation}."
            )
        _check_numbers(self.divergence, self.n_options)

    @property
    def n_predictors(self) -> int:
        """Number of draws that the means consist of."""
        return self.n_draws

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the posterior was trained on.

        Returns
        -------
        str
            A sentence without its full stop, which ends with the rows that the losses are of.
        """
        return _spent(n_fit, self.n_samples, self.n_draws)


def _rebuilt(kind: type, fields: dict[str, Any]) -> Any:
    # Arrays lose their write protection in a pickle; the constructor restores it.
    return kind(**fields)


def _check_numbers(divergence: float, n_options: int) -> None:
    if not 0.0 <= divergence < math.inf:
        raise ValueError(f"divergence must be finite and not negative, got {divergence!r}.")
    if not isinstance(n_options, Integral) or n_options < 1:
        raise ValueError(f"n_options must be an integer of at least 1, got {n_options!r}.")


def _spent(n_fit: int, n_samples: int, n_draws: int) -> str:
    nets = "one net drawn from it was" if n_draws == 1 else f"{n_draws} nets drawn from it were"
    return (
        f"The posterior was trained on {n_fit} rows, its prior on a part of them; {nets} "
        f"certified on the {n_samples} rows that the prior has not seen"
    )
