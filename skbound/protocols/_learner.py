"""The small interface through which a protocol sees a classifier: no torch, no scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import Sample
from skbound.protocols._feature_map import FeatureMap
from skbound.protocols._mixture import HashChoice
from skbound.protocols._subspace import Subspace

__all__ = [
    "CurveLearner",
    "EnsembleLearner",
    "EnsembleRule",
    "FeatureLearner",
    "FittedModel",
    "Learner",
    "MixtureLearner",
    "SubspaceLearner",
    "WarmLearner",
    "WeightLearner",
    "require",
    "require_probabilities",
    "require_warm",
]

Rows = NDArray[np.intp]
EnsembleRule = Literal["average", "majority"]


@dataclass(frozen=True)
class FittedModel:
    """A trained predictor and how many rows made it.

    Parameters
    ----------
    model : object
        Whatever the learner needs to predict.
    n_fit : int
        Rows trained on.
    n_validation : int, default=0
        Rows that decided when to stop.
    """

    model: Any
    n_fit: int
    n_validation: int = 0


class Learner(Protocol):
    """Data plus a way to train on some of its rows.

    Rows are positions 0 .. n_samples - 1. Everything that is learnt from data (scaling, category
    maps, class weights, when to stop) is learnt in `fit`, from the rows given to it.
    `assumptions` are sentences that every certificate on these data rests on.
    """

    n_samples: int
    assumptions: tuple[str, ...]

    def fit(self, rows: Rows, *, seed: int | None = None) -> FittedModel:
        """Train a fresh predictor on `rows` and on nothing else.

        The same rows and seed give the same predictor; None stands for the learner's own seed.
        """
        ...

    def losses(self, fit: FittedModel, rows: Rows) -> Sample:
        """Return the losses of the predictor on `rows`."""
        ...

    def majority_share(self, rows: Rows) -> float:
        """Return the share of the most frequent class among `rows`."""
        ...


class EnsembleLearner(Learner, Protocol):
    """A learner whose fits can answer together."""

    def probabilities(self, fit: FittedModel, rows: Rows) -> NDArray[np.float64]:
        """Return predicted probabilities of `rows`, one column per class."""
        ...

    def votes(self, fit: FittedModel, rows: Rows) -> NDArray[np.intp]:
        """Return the number of the predicted class of each row."""
        ...

    def ensemble(
        self, fits: Sequence[FittedModel], weights: Sequence[float], how: EnsembleRule
    ) -> Any:
        """Return the predictor that averages probabilities, or counts votes, with weights."""
        ...

    def ensemble_rule(self, fits: Sequence[FittedModel]) -> EnsembleRule:
        """Return "average" where all fits have probabilities, else "majority"."""
        ...


class WarmLearner(Learner, Protocol):
    """A learner that can go on from an earlier fit."""

    def fit(
        self,
        rows: Rows,
        *,
        seed: int | None = None,
        start: FittedModel | None = None,
        effort: float = 1.0,
        pull: float = 0.0,
        noise: float = 0.0,
    ) -> FittedModel:
        """Train on `rows`, from the weights of `start` and with its scaling.

        `effort` is the share of the full number of epochs; 0 leaves the initial weights. `pull`
        adds ``pull / 2`` times the squared distance from the weights of `start` to the mean loss.
        `noise` is the standard deviation of noise on the weights, drawn anew for each batch.
        """
        ...


class WeightLearner(WarmLearner, Protocol):
    """A learner whose predictors are given by a vector of weights."""

    def parameters(self, fit: FittedModel) -> NDArray[np.float64]:
        """Return all trained numbers of a fit, in a fixed order."""
        ...

    def with_parameters(self, fit: FittedModel, weights: NDArray[np.float64]) -> FittedModel:
        """Return the predictor that differs from `fit` in its weights only."""
        ...


class FeatureLearner(Learner, Protocol):
    """A learner whose predictors end with a linear map that can be replaced.

    `n_classes` is the number of labels, known in advance.
    """

    n_classes: int

    def labels(self, rows: Rows) -> NDArray[np.intp]:
        """Return the number of the class of each row."""
        ...

    def training_weights(self, rows: Rows) -> NDArray[np.float64]:
        """Return the weights with which training counts the rows, of mean 1."""
        ...

    def features(self, fit: FittedModel, rows: Rows) -> NDArray[np.float64]:
        """Return what the last linear map reads, one vector per row."""
        ...

    def with_head(
        self, fit: FittedModel, feature_map: FeatureMap, weights: NDArray[np.float64]
    ) -> FittedModel:
        """Return the predictor whose logits are ``feature_map(features) @ weights.T``."""
        ...


class SubspaceLearner(WeightLearner, Protocol):
    """A learner that can train a few coordinates in place of all weights."""

    def fit_coordinates(
        self,
        rows: Rows,
        center: FittedModel,
        subspace: Subspace,
        *,
        start: NDArray[np.float64] | None = None,
        levels: NDArray[np.float64] | None = None,
        effort: float = 1.0,
    ) -> tuple[FittedModel, NDArray[np.float64]]:
        """Train coordinates of the subspace around `center`, and return the net and them.

        `start` are the first coordinates, by default zeros. With `levels` the net is trained for
        coordinates that are rounded to the nearest of these; those returned are not rounded.
        """
        ...


class CurveLearner(Learner, Protocol):
    """A learner that scores probabilities by their logarithm.

    `n_classes` is the number of labels, known in advance.
    """

    n_classes: int

    def log_losses(self, fit: FittedModel, rows: Rows) -> NDArray[np.float64] | None:
        """Return minus the logarithm of the predicted probability of each row's label, in nats.

        None for a predictor without probabilities.
        """
        ...


class MixtureLearner(Learner, Protocol):
    """A learner whose fits can share the rows that ``predict`` meets."""

    def inputs(self, rows: Rows) -> Any:
        """Return the rows themselves, in the form in which ``predict`` gets rows."""
        ...

    def mixture(self, fits: Sequence[FittedModel], choice: HashChoice) -> Any:
        """Return the predictor in which the fit ``choice(X)[i]`` answers for row ``i`` of X."""
        ...


def require(learner: Any, names: Sequence[str], who: str, ability: str, instead: str) -> None:
    """Refuse a learner that cannot do what a protocol needs, before anything is trained.

    Parameters
    ----------
    learner : object
        Data and classifier.
    names : sequence of str
        Methods and attributes that the protocol uses, besides those of `Learner`.
    who : str
        What needs them, for the message: the protocol with the parameter that decides it.
    ability : str
        What a classifier with them can do, in words that go on from "a classifier".
    instead : str
        The remedy: a sentence that is true for this protocol.

    Raises
    ------
    TypeError
        If one of them is missing.
    """
    missing = [name for name in names if not hasattr(learner, name)]
    if missing:
        raise TypeError(
            f"{who} needs a classifier {ability}, such as TransformerClassifier; the learner of "
            f"this one lacks {', '.join(missing)}. {instead}"
        )


def require_warm(learner: Any, who: str) -> None:
    """Refuse a learner whose ``fit`` cannot go on from an earlier one, as in `WarmLearner`.

    Parameters
    ----------
    learner : object
        Data and classifier.
    who : str
        The protocol that was given ``warm_start=True``, for the message.

    Raises
    ------
    TypeError
        If ``fit`` does not take ``start`` and ``effort``.
    """
    taken = signature(learner.fit).parameters
    anything = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in taken.values())
    if not anything and not {"start", "effort"} <= set(taken):
        raise TypeError(
            f"{who} needs a classifier that can go on from an earlier fit, such as "
            f"TransformerClassifier. Use warm_start=False."
        )


def require_probabilities(sample: Sample, who: str) -> None:
    """Refuse to average where there are no probabilities, which only a first fit can tell.

    Parameters
    ----------
    sample : Sample
        Losses of a fit.
    who : str
        The protocol that was asked for an average, for the message.

    Raises
    ------
    ValueError
        If the losses have no Brier scores.
    """
    if sample.brier is None:
        raise ValueError(
            f"{who} needs a classifier with predict_proba, got one without. Use predictor='vote'."
        )
