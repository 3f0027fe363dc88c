"""Choosing among candidates by their certificates, and paying for the choice."""

from skbound.model_selection._certify import certify
from skbound.model_selection._compare import compare_regularizers
from skbound.model_selection._comparison import Compared, Comparison
from skbound.model_selection._scorer import BoundScorer, bound_scorer
from skbound.model_selection._search import BoundSearch
from skbound.model_selection._search_advice import search_advice
from skbound.model_selection._splits import FitOnce

__all__ = [
    "BoundScorer",
    "BoundSearch",
    "Compared",
    "Comparison",
    "FitOnce",
    "bound_scorer",
    "certify",
    "compare_regularizers",
    "search_advice",
]
