"""Pictures of certificates and comparisons."""

from skbound.inspection._bound_vs_error import BoundVsErrorDisplay
from skbound.inspection._comparison import ComparisonDisplay

__all__ = ["BoundVsErrorDisplay", "ComparisonDisplay"]
