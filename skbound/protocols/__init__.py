"""Protocols: how a fit spends its rows."""

from typing import Any

from skbound.protocols._all_rows import AllRows
from skbound.protocols._holdout import Holdout
from skbound.protocols._learner import FittedModel, Learner, MixtureLearner
from skbound.protocols._mixture import HashChoice
from skbound.protocols._progressive import Progressive

__all__ = [
    "AllRows",
    "FittedModel",
    "HashChoice",
    "Holdout",
    "Learner",
    "MixtureLearner",
    "Progressive",
    "resolve_protocol",
]

_BY_NAME = {"holdout": Holdout, "progressive": Progressive}


def resolve_protocol(protocol: Any) -> Any:
    """Return the protocol object that a parameter value stands for.

    Parameters
    ----------
    protocol : "holdout", "progressive", None or object with a ``run(learner, seed)`` method
        None stands for `AllRows`.

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
                f"protocol must be 'holdout', 'progressive', None or a protocol object, got "
                f"{protocol!r}."
            )
        return _BY_NAME[protocol]()
    if isinstance(protocol, type) or not hasattr(protocol, "run"):
        raise TypeError(
            f"protocol must be 'holdout', 'progressive', None or an object with a "
            f"run(learner, seed) method, got {protocol!r}."
        )
    return protocol
