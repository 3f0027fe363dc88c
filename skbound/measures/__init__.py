"""Complexity measures: numbers that may rank nets, and bound nothing.

A certificate is a theorem about the error of a predictor; a measure is an expression from a paper
or a habit of practice. Each says in `why_no_bound` what it lacks. The larger, the worse the net
should generalise.
"""

from skbound.measures._all import MEASURES, Measures, measure, measure_all
from skbound.measures._gradients import (
    GradientPerRow,
    GradientVariance,
    MeanGradient,
    MeanSquaredGradient,
)
from skbound.measures._lipschitz import JacobianNorm, LipschitzLocalUpper, LipschitzUpper
from skbound.measures._measure import ComplexityMeasure, LogMeasure, Measure
from skbound.measures._norms import L2Norm, ParameterCount, SpectralProduct
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

__all__ = [
    "MEASURES",
    "AttentionKernelMisalignment",
    "AttentionKernelRademacher",
    "ComplexityMeasure",
    "DepthToWidth",
    "EffectiveRanks",
    "FeatureEntropyRank",
    "FeatureParticipationRank",
    "FeatureStableRank",
    "GradientPerRow",
    "GradientVariance",
    "JacobianEntropyRank",
    "JacobianNorm",
    "JacobianParticipationRank",
    "JacobianStableRank",
    "KernelFit",
    "KernelMisalignment",
    "KernelRademacher",
    "L2Norm",
    "LipschitzLocalUpper",
    "LipschitzUpper",
    "LogMeasure",
    "MeanGradient",
    "MeanSquaredGradient",
    "Measure",
    "Measures",
    "PRDProxy",
    "ParameterCount",
    "PointwiseRiemannianDimension",
    "RademacherEstimate",
    "SpectralProduct",
    "WidthCorrection",
    "effective_ranks",
    "feature_ranks",
    "kernel_rademacher",
    "massart",
    "measure",
    "measure_all",
    "misalignment",
    "rademacher_ball",
    "rademacher_finite",
    "rademacher_lower",
    "regularized_stability",
    "riemannian_dimension",
    "sgd_stability_convex",
    "sgd_stability_nonconvex",
    "sgd_stability_strongly_convex",
]
