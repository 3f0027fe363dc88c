"""Pictures of certificates."""

from skbound.inspection._bound_error import BoundErrorDisplay

__all__ = ["BoundErrorDisplay"]
