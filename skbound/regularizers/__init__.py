"""Regularisers: what changes the training and can be compared, given as objects."""

from skbound.regularizers._affine import RandomAffine
from skbound.regularizers._balls import EntryClip, FrobeniusBall, RowBall, SpectralBall
from skbound.regularizers._base import Regularizer
from skbound.regularizers._depth import StochasticDepth
from skbound.regularizers._distillation import Distillation
from skbound.regularizers._gradient import GradientPenalty
from skbound.regularizers._lipschitz import LipschitzPenalty
from skbound.regularizers._mixing import CutMix, Mixup
from skbound.regularizers._parametrized import SpectralNorm, WeightNorm
from skbound.regularizers._penalties import NormPenalty
from skbound.regularizers._projection import Projection
from skbound.regularizers._schedules import Constant, Cosine, Linear, Schedule, Steps
from skbound.regularizers._sharpness import SharpnessAware
from skbound.regularizers._shift import RandomShift
from skbound.regularizers._weight_noise import WeightNoise

__all__ = [
    "Constant",
    "Cosine",
    "CutMix",
    "Distillation",
    "EntryClip",
    "FrobeniusBall",
    "GradientPenalty",
    "Linear",
    "LipschitzPenalty",
    "Mixup",
    "NormPenalty",
    "Projection",
    "RandomAffine",
    "RandomShift",
    "Regularizer",
    "RowBall",
    "Schedule",
    "SharpnessAware",
    "SpectralBall",
    "SpectralNorm",
    "Steps",
    "StochasticDepth",
    "WeightNoise",
    "WeightNorm",
]
