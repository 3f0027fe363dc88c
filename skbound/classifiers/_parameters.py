"""Checks of TransformerClassifier's parameters that go beyond a type and a range."""

from __future__ import annotations

from inspect import signature

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from skbound.architectures import resolve_architecture
from skbound.regularizers import Regularizer

__all__ = [
    "check_class_weight",
    "check_parameters",
]


def check_parameters(classifier):
    """Refuse parameters of the wrong kind, before any row is looked at.

    Parameters
    ----------
    classifier : TransformerClassifier
        With the parameters that the user gave.

    Raises
    ------
    ValueError, TypeError
        Naming the parameter.
    """
    _check_heads(classifier.width, classifier.n_heads)
    resolve_architecture(classifier.architecture)
    _check_callbacks(classifier.callbacks)
    _check_optimizer(classifier.optimizer)
    _check_regularizers(classifier.regularizers)


def _check_callbacks(callbacks):
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


def check_class_weight(class_weight, classes):
    """Refuse weights of unknown classes, and weights that are not finite or negative.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        From the user.
    classes : ndarray of shape (n_classes,)
        All labels.

    Raises
    ------
    ValueError
        Naming the class.
    """
    # scikit-learn's own words for a class that there is not.
    compute_class_weight(class_weight, classes=classes, y=classes)
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(
                    f"class_weight must hold finite weights of at least 0, got {weight!r} for "
                    f"class {label!r}."
                )


def _check_heads(width, n_heads):
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


def _check_optimizer(optimizer):
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


def _check_regularizers(regularizers):
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
