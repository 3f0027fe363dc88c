"""Checks of TransformerClassifier's parameters that go beyond a type and a range."""

from __future__ import annotations

from inspect import signature

import numpy as np

from skbound.regularizers import Regularizer

__all__ = [
    "check_callbacks",
    "check_class_weight",
    "check_heads",
    "check_optimizer",
    "check_regularizers",
]


def check_callbacks(callbacks):
    """Refuse what is no skorch callback.

    Parameters
    ----------
    callbacks : list or tuple
        From the user.

    Raises
    ------
    TypeError
        Naming the kind that was given.
    """
    for callback in callbacks:
        if isinstance(callback, type) or not hasattr(callback, "on_epoch_end"):
            raise TypeError(
                f"callbacks must hold instances of skorch.callbacks.Callback, got {callback!r}."
            )


def check_class_weight(class_weight):
    """Refuse weights of classes that are not finite or negative.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        From the user.

    Raises
    ------
    ValueError
        Naming the weight.
    """
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(
                    f"class_weight must hold finite weights of at least 0, got {weight!r} for "
                    f"class {label!r}."
                )


def check_heads(width, n_heads):
    """Refuse a width that cannot be shared equally by the heads.

    Parameters
    ----------
    width, n_heads : int
        From the user.

    Raises
    ------
    ValueError
        Naming both.
    """
    if width % n_heads:
        raise ValueError(
            f"width must be a multiple of n_heads, got width={width} and n_heads={n_heads}."
        )


def check_optimizer(optimizer):
    """Refuse a class that is no torch optimizer with a rate and a weight decay.

    Parameters
    ----------
    optimizer : str or type
        From the user; names are checked elsewhere.

    Raises
    ------
    TypeError
        Saying what the class lacks.
    """
    if isinstance(optimizer, str):
        return
    takes = signature(optimizer).parameters if isinstance(optimizer, type) else {}
    if not {"lr", "weight_decay"} <= set(takes):
        raise TypeError(
            f"optimizer must be 'adamw', 'adam', 'sgd' or a torch optimizer class that takes lr "
            f"and weight_decay, got {optimizer!r}."
        )


def check_regularizers(regularizers):
    """Refuse what is no regulariser.

    Parameters
    ----------
    regularizers : list or tuple
        From the user.

    Raises
    ------
    TypeError
        Naming the kind that was given.
    """
    for regularizer in regularizers:
        if not isinstance(regularizer, Regularizer):
            raise TypeError(
                f"regularizers must hold instances of skbound.regularizers.Regularizer, such as "
                f"RandomShift(), got {regularizer!r}."
            )
