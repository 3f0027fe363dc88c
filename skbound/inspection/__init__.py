"""Pictures of certificates and comparisons, and what can be seen by fitting again."""

from skbound.inspection._bound_vs_error import BoundVsErrorDisplay
from skbound.inspection._comparison import ComparisonDisplay
from skbound.inspection._information import EvaluatedCMI, evaluated_cmi
from skbound.inspection._replace_one import ReplaceOne, replace_one_sensitivity

__all__ = [
    "BoundVsErrorDisplay",
    "ComparisonDisplay",
    "EvaluatedCMI",
    "ReplaceOne",
    "evaluated_cmi",
    "replace_one_sensitivity",
]
