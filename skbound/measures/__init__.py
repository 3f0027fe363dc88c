"""Complexity measures: numbers that may rank nets, and bound nothing.

A certificate is a theorem about the error of a predictor; a measure is an expression from a paper
or a habit of practice. Each says in `why_no_bound` what it lacks. The larger, the worse the net
should generalise.
"""

from skbound.measures._all import MEASURES, Measures, measure, measure_all
from skbound.measures._flatness import NoiseFlatness, PACBayesMagnitude, PACBayesNorm
from skbound.measures._gradients import (
    GradientPerRow,
    GradientVariance,
    MeanGradient,
    MeanSquaredGradient,
)
from skbound.measures._lipschitz import JacobianNorm, LipschitzLocalUpper, LipschitzUpper
from skbound.measures._margins import InverseMargin, MarginOverEpochs, margin_quantile
from skbound.measures._measure import ComplexityMeasure, LogMeasure, Measure
from skbound.measures._norms import (
    Distance,
    L2Distance,
    L2Norm,
    NormProduct,
    NormSquares,
    NormSum,
    ParameterCount,
)
from skbound.measures._path_norm import PathNorm
from skbound.measures._rademacher import (
    RademacherEstimate,
    kernel_rademacher,
    massart,
    rademacher_ball,
    rademacher_finite,
    rademacher_lower,
)
from skbound.measures._ranks import (
    EffectiveRanks,
    FeatureEntropyRank,
    FeatureParticipationRank,
    FeatureStableRank,
    JacobianEntropyRank,
    JacobianParticipationRank,
    JacobianStableRank,
    effective_ranks,
    feature_ranks,
)
from skbound.measures._riemannian import (
    PointwiseRiemannianDimension,
    PRDProxy,
    riemannian_dimension,
)
from skbound.measures._schatten import SchattenSum, SpectrumAdaptive, score_spectra
from skbound.measures._sharpness import BallSharpness, BoxSharpness, FisherRao
from skbound.measures._spectral_complexity import SpectralComplexity, SpectralMain, StableRankSum
from skbound.measures._stability import (
    regularized_stability,
    sgd_stability_convex,
    sgd_stability_nonconvex,
    sgd_stability_strongly_convex,
)
from skbound.measures._tangent_kernel import (
    AttentionKernelMisalignment,
    AttentionKernelRademacher,
    DepthToWidth,
    KernelFit,
    KernelMisalignment,
    KernelRademacher,
    WidthCorrection,
    misalignment,
)
from skbound.measures._weight_bits import WeightBits, quantised_bits
from skbound.measures._weight_ranks import WeightRank, threshold_rank, weight_ranks

__all__ = [
    "MEASURES",
    "AttentionKernelMisalignment",
    "AttentionKernelRademacher",
    "BallSharpness",
    "BoxSharpness",
    "ComplexityMeasure",
    "DepthToWidth",
    "Distance",
    "EffectiveRanks",
    "FeatureEntropyRank",
    "FeatureParticipationRank",
    "FeatureStableRank",
    "FisherRao",
    "GradientPerRow",
    "GradientVariance",
    "InverseMargin",
    "JacobianEntropyRank",
    "JacobianNorm",
    "JacobianParticipationRank",
    "JacobianStableRank",
    "KernelFit",
    "KernelMisalignment",
    "KernelRademacher",
    "L2Distance",
    "L2Norm",
    "LipschitzLocalUpper",
    "LipschitzUpper",
    "LogMeasure",
    "MarginOverEpochs",
    "MeanGradient",
    "MeanSquaredGradient",
    "Measure",
    "Measures",
    "NoiseFlatness",
    "NormProduct",
    "NormSquares",
    "NormSum",
    "PACBayesMagnitude",
    "PACBayesNorm",
    "PRDProxy",
    "ParameterCount",
    "PathNorm",
    "PointwiseRiemannianDimension",
    "RademacherEstimate",
    "SchattenSum",
    "SpectralComplexity",
    "SpectralMain",
    "SpectrumAdaptive",
    "StableRankSum",
    "WeightBits",
    "WeightRank",
    "WidthCorrection",
    "effective_ranks",
    "feature_ranks",
    "kernel_rademacher",
    "margin_quantile",
    "massart",
    "measure",
    "measure_all",
    "misalignment",
    "quantised_bits",
    "rademacher_ball",
    "rademacher_finite",
    "rademacher_lower",
    "regularized_stability",
    "riemannian_dimension",
    "score_spectra",
    "sgd_stability_convex",
    "sgd_stability_nonconvex",
    "sgd_stability_strongly_convex",
    "threshold_rank",
    "weight_ranks",
]
