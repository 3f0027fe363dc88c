"""Regularisers: what changes the training and can be compared, given as objects."""

from skbound.regularizers._affine import RandomAffine
from skbound.regularizers._base import Regularizer
from skbound.regularizers._shift import RandomShift

__all__ = ["RandomAffine", "RandomShift", "Regularizer"]
