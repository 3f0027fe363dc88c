"""Diagnostics of a net, pictures, and what can be seen by fitting again."""

from skbound.inspection._advice import Suggestion, rows_needed
from skbound.inspection._bound_vs_error import BoundVsErrorDisplay
from skbound.inspection._comparison import ComparisonDisplay
from skbound.inspection._diagnostics import DIAGNOSTICS_NEED, Diagnostics
from skbound.inspection._growth import (
    Exponent,
    GrowthComparison,
    GrowthDisplay,
    compare_growth,
)
from skbound.inspection._information import EvaluatedCMI, evaluated_cmi
from skbound.inspection._replace_one import ReplaceOne, replace_one_sensitivity

__all__ = [
    "DIAGNOSTICS_NEED",
    "BoundVsErrorDisplay",
    "ComparisonDisplay",
    "Diagnostics",
    "EvaluatedCMI",
    "Exponent",
    "GrowthComparison",
    "GrowthDisplay",
    "ReplaceOne",
    "Suggestion",
    "compare_growth",
    "evaluated_cmi",
    "replace_one_sensitivity",
    "rows_needed",
]
