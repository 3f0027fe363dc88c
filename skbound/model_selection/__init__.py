"""Choosing among candidates by their certificates, and paying for the choice."""

from skbound.model_selection._certify import certify
from skbound.model_selection._scorer import BoundScorer, bound_scorer
from skbound.model_selection._search import BoundSearch
from skbound.model_selection._splits import FitOnce

__all__ = ["BoundScorer", "BoundSearch", "FitOnce", "bound_scorer", "certify"]
