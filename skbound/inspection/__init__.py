"""Pictures of certificates, and what can be seen by fitting again."""

from skbound.inspection._bound_vs_error import BoundVsErrorDisplay
from skbound.inspection._information import EvaluatedCMI, evaluated_cmi
from skbound.inspection._replace_one import ReplaceOne, replace_one_sensitivity

__all__ = [
    "BoundVsErrorDisplay",
    "EvaluatedCMI",
    "ReplaceOne",
    "evaluated_cmi",
    "replace_one_sensitivity",
]
