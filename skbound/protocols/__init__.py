"""Protocols: how a fit spends its rows."""

from typing import Any

from skbound.protocols._all_rows import AllRows
from skbound.protocols._holdout import Holdout
from skbound.protocols._learner import FittedModel, Learner

__all__ = ["AllRows", "FittedModel", "Holdout", "Learner", "resolve_protocol"]


def resolve_protocol(protocol: Any) -> Any:
    """Return the protocol object that a parameter value stands for.

    Parameters
    ----------
    protocol : "holdout", None or object with a ``run(learner, seed)`` method
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
        if protocol == "holdout":
            return Holdout()
        raise ValueError(
            f"protocol must be 'holdout', None or a protocol object, got {protocol!r}."
        )
    if isinstance(protocol, type) or not hasattr(protocol, "run"):
        raise TypeError(
            f"protocol must be 'holdout', None or an object with a run(learner, seed) method, got "
            f"{protocol!r}."
        )
    return protocol
