"""Transformer classifiers that know an upper bound on their true error."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skbound.classifiers._bounded import BoundedClassifier
    from skbound.classifiers._transformer import TransformerClassifier
    from skbound.model_selection import (
        BoundScorer,
        BoundSearch,
        FitOnce,
        bound_scorer,
        certify,
        compare_regularizers,
    )

__version__ = "0.1.0"

__all__ = [
    "BoundScorer",
    "BoundSearch",
    "BoundedClassifier",
    "FitOnce",
    "TransformerClassifier",
    "__version__",
    "bound_scorer",
    "certify",
    "compare_regularizers",
]

_HOME = {
    "BoundedClassifier": "skbound.classifiers",
    "TransformerClassifier": "skbound.classifiers",
    "BoundScorer": "skbound.model_selection",
    "BoundSearch": "skbound.model_selection",
    "FitOnce": "skbound.model_selection",
    "bound_scorer": "skbound.model_selection",
    "certify": "skbound.model_selection",
    "compare_regularizers": "skbound.model_selection",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: the bounds work without torch, which takes seconds to import.
    if name in _HOME:
        return getattr(_import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
