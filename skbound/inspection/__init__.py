"""Pictures of certificates."""

from skbound.inspection._bound_vs_error import BoundVsErrorDisplay

__all__ = ["BoundVsErrorDisplay"]
