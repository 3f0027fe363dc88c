"""Regularisers: what changes the training and can be compared, given as objects."""

from skbound.regularizers._base import Regularizer
from skbound.regularizers._shift import RandomShift

__all__ = ["RandomShift", "Regularizer"]
