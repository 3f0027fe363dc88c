"""What a fit depends on, as one name: a finished fit is taken for no other."""

from __future__ import annotations

import functools
import platform
import types
from importlib.metadata import version
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np

from skbound import __version__
from skbound._inputs import from_torch

__all__ = ["identity", "same_labels"]

_NOT_A_RESULT = {"history_"}  # Seconds, which differ from run to run.


def identity(*values: Any) -> str:
    """Return a name that differs where a value, its code or the software differs.

    Parameters
    ----------
    *values : object
        Estimators, with whatever they hold, and data.

    Returns
    -------
    str
        The same in every process.

    Raises
    ------
    TypeError
        If a value cannot be told from others, because it cannot be pickled.
    """
    try:
        content = [_software(), [_description(value) for value in values]]
        return joblib.hash(content, coerce_mmap=True)
    except (PicklingError, TypeError, AttributeError) as error:
        raise TypeError(
            f"With checkpoint=, all that a fit depends on must be something that can be pickled, "
            f"by which a finished fit is found again: {str(error)[:200]} Define it at the top of a "
            f"module, or leave out the checkpoint."
        ) from error


def same_labels(y: np.ndarray) -> str:
    """Return a name that rows keep as long as their labels are in the same places.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    str
        Independent of how rows are represented, weighted and of what their classes are called.
    """
    return joblib.hash(np.unique(y, return_inverse=True)[1].astype(np.int64))


@functools.cache
def _software() -> list[str]:
    """Return the versions that decide what a fit gives, and whether it can be read again."""
    packages = [f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "skorch", "torch")]
    return [f"skbound {__version__}", f"python {platform.python_version()}", *packages]


def _description(value: Any) -> Any:
    """Return a value as what it consists of, down to what joblib can hash."""
    if isinstance(value, type):
        return _code(value)
    if hasattr(value, "named_parameters"):
        # A module of torch, which pickle writes in another way each time.
        weights = value.state_dict()
        return _code(type(value)), [(name, _description(weights[name])) for name in sorted(weights)]
    if hasattr(value, "detach"):
        return str(value.dtype), from_torch(value, "a parameter")
    if hasattr(value, "module_"):
        # A net of skorch: beside its module, only the way there.
        return _code(type(value)), _description(value.module_)
    if hasattr(value, "get_params"):
        params = value.get_params(deep=False)
        # Of a fitted estimator, also what it has learnt.
        state = {n: v for n, v in vars(value).items() if n.endswith("_") and n not in params}
        params |= {n: v for n, v in state.items() if n not in _NOT_A_RESULT}
        return _code(type(value)), _description(params)
    if isinstance(value, dict):
        return [(_description(key), _description(part)) for key, part in _sorted(value)]
    if isinstance(value, list | tuple):
        return [_description(part) for part in value]
    if isinstance(value, functools.partial):
        return "partial", _description([value.func, value.args, value.keywords])
    if isinstance(value, types.FunctionType):
        return _function(value)
    return value


def _sorted(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return sorted(value.items(), key=lambda item: repr(item[0]))


def _function(function: types.FunctionType) -> Any:
    """Return a function by its code and what that sees; under the same name it may be edited."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    # A function that calls itself, or its class, is in its own closure.
    seen = [cell for cell in cells if not isinstance(cell, type | types.FunctionType)]
    defaults = [function.__defaults__, function.__kwdefaults__]
    place = function.__module__, function.__qualname__
    return place, _compiled(function.__code__), _description([defaults, seen])


def _compiled(code: types.CodeType) -> Any:
    constants = [
        _compiled(part) if isinstance(part, types.CodeType) else repr(_stable(part))
        for part in code.co_consts
    ]
    return code.co_code, code.co_names, constants


def _stable(constant: Any) -> Any:
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


def _code(kind: type) -> Any:
    """Return a class by its name and the code of its methods."""
    methods = [
        (name, _compiled(method.__code__))
        for parent in kind.__mro__
        for name, method in sorted(vars(parent).items())
        if isinstance(method, types.FunctionType)
    ]
    return f"{kind.__module__}.{kind.__qualname__}", methods
