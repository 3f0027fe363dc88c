"""The frozen record of numbers that a fit leaves behind.

Bounds and estimates are computed from it and from nothing else. A loss and the rows it was
computed on live in the same object, so no bound can pair a risk with the wrong sample size.
"""

from skbound.evidence._attention import AttentionStatistics
from skbound.evidence._compression import CompressedSample
from skbound.evidence._convolutions import ConvolutionNorms
from skbound.evidence._curve import LearningCurve
from skbound.evidence._description_length import CodedSample
from skbound.evidence._evidence import CertifiedRecord, Evidence
from skbound.evidence._features import LayerFeatures
from skbound.evidence._folds import FoldPredictor, FoldSample
from skbound.evidence._gradients import GradientNorms
from skbound.evidence._initial import InitialState
from skbound.evidence._input_report import InputReport
from skbound.evidence._linear_head import LinearHeadSample
from skbound.evidence._net import Architecture, Layer, NetRecord
from skbound.evidence._pac_bayes import DrawnPredictor, DrawnSample, GibbsSample
from skbound.evidence._parameters import ParameterVectors
from skbound.evidence._progressive import ProgressiveSample, Together
from skbound.evidence._recursive import RecursiveSample, RecursiveStep
from skbound.evidence._sample import Loss, Sample
from skbound.evidence._sharpness import LossAscent
from skbound.evidence._tangent_kernel import TangentKernel

__all__ = [
    "Architecture",
    "AttentionStatistics",
    "CertifiedRecord",
    "CodedSample",
    "CompressedSample",
    "ConvolutionNorms",
    "DrawnPredictor",
    "DrawnSample",
    "Evidence",
    "FoldPredictor",
    "FoldSample",
    "GibbsSample",
    "GradientNorms",
    "InitialState",
    "InputReport",
    "Layer",
    "LayerFeatures",
    "LearningCurve",
    "LinearHeadSample",
    "Loss",
    "LossAscent",
    "NetRecord",
    "ParameterVectors",
    "ProgressiveSample",
    "RecursiveSample",
    "RecursiveStep",
    "Sample",
    "TangentKernel",
    "Together",
]
