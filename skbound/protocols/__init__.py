"""Protocols: how a fit spends its rows."""

from collections.abc import Callable
from functools import partial
from typing import Any

from skbound.protocols._all_rows import AllRows
from skbound.protocols._compression import PickToLearn
from skbound.protocols._cross_fit import CrossFit
from skbound.protocols._description_length import DescriptionLength
from skbound.protocols._feature_map import FeatureMap
from skbound.protocols._frozen_features import FrozenFeatures
from skbound.protocols._holdout import Holdout
from skbound.protocols._learner import (
    CurveLearner,
    EnsembleLearner,
    EnsembleRule,
    FeatureLearner,
    FittedModel,
    Learner,
    MixtureLearner,
    SubspaceLearner,
    WarmLearner,
    WeightLearner,
    require,
    require_probabilities,
    require_warm,
)
from skbound.protocols._mixture import HashChoice
from skbound.protocols._pac_bayes import PACBayes
from skbound.protocols._progressive import Progressive
from skbound.protocols._recursive import RecursivePACBayes

__all__ = [
    "AllRows",
    "CrossFit",
    "CurveLearner",
    "DescriptionLength",
    "EnsembleLearner",
    "EnsembleRule",
    "FeatureLearner",
    "FeatureMap",
    "FittedModel",
    "FrozenFeatures",
    "HashChoice",
    "Holdout",
    "Learner",
    "MixtureLearner",
    "PACBayes",
    "PickToLearn",
    "Progressive",
    "RecursivePACBayes",
    "SubspaceLearner",
    "WarmLearner",
    "WeightLearner",
    "require",
    "require_probabilities",
    "require_warm",
    "resolve_protocol",
]

_BY_NAME: dict[str, Callable[[], Any]] = {
    "auto": partial(Holdout, n_members="auto"),
    "holdout": Holdout,
    "progressive": Progressive,
    "compression": PickToLearn,
    "recursive_pac_bayes": RecursivePACBayes,
    "frozen_features": FrozenFeatures,
    "cross_fit": CrossFit,
    "pac_bayes": PACBayes,
    "description_length": DescriptionLength,
}


def resolve_protocol(protocol: Any) -> Any:
    """Return the protocol object that a parameter value stands for.

    Parameters
    ----------
    protocol : str, None or object with a ``run(learner, seed)`` method
        A name of those listed in the error for an unknown one; None stands for `AllRows`.

    Returns
    -------
    object
        The object itself where one was given.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If the object has no ``run`` method.
    """
    if protocol is None:
        return AllRows()
    if isinstance(protocol, str):
        if protocol not in _BY_NAME:
            raise ValueError(
                f"protocol must be one of {list(_BY_NAME)}, None or a protocol object, got "
                f"{protocol!r}."
            )
        return _BY_NAME[protocol]()
    if isinstance(protocol, type) or not hasattr(protocol, "run"):
        raise TypeError(
            f"protocol must be one of {list(_BY_NAME)}, None or an object with a "
            f"run(learner, seed) method, got {protocol!r}."
        )
    return protocol
