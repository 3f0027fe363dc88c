"""Train the net on some rows, then only its last linear map on the others, which are certified."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skbound.evidence import Evidence, LinearHeadSample, Sample
from skbound.protocols._all_rows import on_all_rows, too_few_rows
from skbound.protocols._assumptions import IID, OUTSIDE
from skbound.protocols._feature_map import FeatureMap, principal_map
from skbound.protocols._first_part import FirstPartMixin
from skbound.protocols._fractions import check_fraction, n_of_fraction
from skbound.protocols._learner import FeatureLearner, FittedModel, require
from skbound.protocols._logistic import fit_logistic

__all__ = ["FrozenFeatures"]

_PRIOR = 0.5
_NEEDED = "features", "with_head", "training_weights", "labels", "n_classes"


class FrozenFeatures(FirstPartMixin, BaseEstimator):
    """Train a net on a prior part; keep its features, train a new head on the certified rows.

    The net is trained on the prior part. What its last linear map reads is then fixed: centred,
    projected on the directions of largest spread and clipped to a ball, all as the prior part
    says. A new linear map, a regularised multinomial logistic regression, is trained on the other
    rows, on which it is also certified: by its margins, its norm, its number of parameters or its
    stability. ``predict`` is the net with that map.

    Parameters
    ----------
    prior_fraction : float or "auto", default="auto"
        Share of the rows that the features are trained on. "auto" takes half of them, and
        certifies nothing below 100 rows.
    n_directions : int or "auto", default="auto"
        Dimensions that are left of the features, at most the width of the net. "auto" keeps as
        many as there are classes, less one. Few of them make ``"covering"`` tight; ``"margin"``
        and ``"mean_head"`` do not count dimensions.
    regularization : float, default=0.01
        ``lam`` in ``mean cross-entropy + lam / 2 * squared norm of the head, offset included``.
        Larger values make ``"mean_head"`` and ``"stability"`` tighter.
    random_state : int, RandomState instance or None, default=None
        Chooses the prior part; None derives it from the classifier's ``random_state``.

    Notes
    -----
    All numbers here are fixed before the certified rows are read; choosing one by the certificate
    is a choice among candidates, which :class:`~skbound.BoundSearch` pays for.

    Weights of rows or classes act on the head, too. Its certificate is about the unweighted error
    and holds with them, but ``"mean_head"`` and ``"stability"`` are then vacuous: they are about
    the minimiser with equal weights.
    """

    def __init__(
        self,
        prior_fraction: float | Literal["auto"] = "auto",
        n_directions: int | Literal["auto"] = "auto",
        regularization: float = 0.01,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.prior_fraction = prior_fraction
        self.n_directions = n_directions
        self.regularization = regularization
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence like that of `run`, to refuse unfit bounds and parameters before a fit."""
        self._check()
        losses = np.zeros(100)
        head = LinearHeadSample(
            sample=Sample(np.arange(100), losses, losses),
            margins=np.ones(100),
            feature_norms=np.ones(100),
            domain_bound=math.sqrt(2.0),
            head_norm=1.0,
            n_classes=2,
            n_features=3,
            regularization=0.01,
            gradient_norm=0.0,
        )
        return Evidence(protocol="frozen_features", n_fit=100, majority_share=0.5, certified=head)

    def n_first(self, n_samples: int) -> int:
        """Return how many of `n_samples` rows the features are trained on.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        int
            All of them if there are too few rows.

        Raises
        ------
        ValueError
            If a parameter is out of range or leaves a part without a row.
        """
        self._check()
        n_prior = n_of_fraction("prior_fraction", self.prior_fraction, n_samples, auto=_PRIOR)
        return n_prior or n_samples

    def _check(self) -> None:
        check_fraction("prior_fraction", self.prior_fraction)
        n, lam = self.n_directions, self.regularization
        automatic = isinstance(n, str) and n == "auto"
        if not automatic and (not isinstance(n, Integral) or n < 1):
            raise ValueError(f"n_directions must be 'auto' or an integer of at least 1, got {n!r}.")
        if not isinstance(lam, Real) or not 1e-8 <= lam <= 1e8:
            raise ValueError(f"regularization must lie in [1e-8, 1e8], got {lam!r}.")

    def run(self, learner: FeatureLearner, seed: int) -> tuple[FittedModel, Evidence]:
        """Train the features on the prior part and the head on the rest.

        Parameters
        ----------
        learner : FeatureLearner
            Data and classifier.
        seed : int
            Seed of the split.

        Returns
        -------
        fit : FittedModel
            The net with the new head.
        evidence : Evidence
            With margins and losses on the rows of the head.

        Raises
        ------
        TypeError
            If the last linear map of the classifier cannot be replaced.
        ValueError
            If a parameter is out of range, before anything is trained.
        """
        prior_rows, certified_rows = self.split(learner.n_samples, seed)
        require(
            learner,
            _NEEDED,
            "protocol='frozen_features'",
            "whose last linear map can be replaced",
            "Use protocol='holdout', which takes any classifier.",
        )
        if not len(certified_rows):
            purpose = "train a head on some of them"
            return too_few_rows(learner, "frozen_features", purpose, "prior_fraction=0.5")
        if learner.n_classes < 2:
            reason = "there is a single class, so no head was trained."
            return on_all_rows(learner, "frozen_features", reason)
        fit = learner.fit(prior_rows)
        n_directions = self.n_directions
        if isinstance(n_directions, str):
            n_directions = learner.n_classes - 1
        feature_map = principal_map(learner.features(fit, prior_rows), n_directions)
        fit, head = _with_new_head(learner, fit, feature_map, certified_rows, self.regularization)
        evidence = Evidence(
            protocol="frozen_features",
            n_fit=fit.n_fit,
            n_validation=fit.n_validation,
            majority_share=learner.majority_share(prior_rows),
            certified=head,
            assumptions=(IID, _SPLIT, _HEAD, *learner.assumptions, OUTSIDE),
        )
        return fit, evidence


def _with_new_head(
    learner: FeatureLearner,
    fit: FittedModel,
    feature_map: FeatureMap,
    rows: NDArray[np.intp],
    lam: float,
) -> tuple[FittedModel, LinearHeadSample]:
    """Train a head on `rows` and record what its bounds need."""
    features, codes = feature_map(learner.features(fit, rows)), learner.labels(rows)
    head = fit_logistic(
        features, codes, learner.n_classes, lam=lam, weights=learner.training_weights(rows)
    )
    fit = learner.with_head(fit, feature_map, head.weights)
    logits = np.einsum("if,kf->ik", features, head.weights)
    own = np.take_along_axis(logits, codes[:, None], axis=1)[:, 0]
    np.put_along_axis(logits, codes[:, None], -np.inf, axis=1)
    record = LinearHeadSample(
        sample=learner.losses(fit, rows),
        margins=own - logits.max(axis=1),
        feature_norms=np.linalg.norm(features, axis=1),
        domain_bound=math.sqrt(2.0),
        head_norm=float(np.linalg.norm(head.weights)),
        n_classes=learner.n_classes,
        n_features=features.shape[1],
        regularization=float(lam),
        gradient_norm=head.gradient_norm,
    )
    return fit, record


_SPLIT = (
    "The certified rows are a uniform random part, chosen by seed and number of rows alone; they "
    "were not used for the net below its last linear map, nor for scaling, early stopping or the "
    "clipping of its features."
)
_HEAD = (
    "The last linear map was trained on the certified rows; its features, regularisation and grids "
    "were fixed before."
)
