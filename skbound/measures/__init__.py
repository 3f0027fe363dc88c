"""Complexity measures: numbers that may rank nets, and bound nothing.

A certificate is a theorem about the error of a predictor; a measure is an expression from a paper
or a habit of practice. Each says in `why_no_bound` what it lacks. The larger, the worse the net
should generalise.
"""

from skbound.measures._all import MEASURES, Measures, measure, measure_all
from skbound.measures._approximation import (
    AttentionDiffuseness,
    AttentionSharpness,
    attention_error,
    hoelder_rate,
    log_attention_leak,
)
from skbound.measures._covering import (
    allocate_errors,
    ball_log_covering,
    maurey_log_covering,
    packing_number,
)
from skbound.measures._covering_measures import (
    BallCovering,
    CompositionCovering,
    EdelmanCovering,
    PackingEstimate,
    ParametricCovering,
    TraugerTewariCovering,
)
from skbound.measures._depth import AttentionSpan, DepthAverage, SpectralProductRate
from skbound.measures._early_stopping import early_stopping_filter, effective_l2, ridge_filter
from skbound.measures._flatness import NoiseFlatness, PACBayesMagnitude, PACBayesNorm
from skbound.measures._gradients import (
    GradientPerRow,
    GradientVariance,
    MeanGradient,
    MeanSquaredGradient,
)
from skbound.measures._initial import (
    FeedForwardPathNorm,
    InitialGradient,
    InitialScale,
    TwoLayerGap,
    TwoLayerPathNorm,
    path_norm_of_change,
    two_layer_gap,
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
from skbound.measures._offset import (
    OffsetRademacher,
    linear_offset_complexity,
    offset_complexity_of_ball,
)
from skbound.measures._path_norm import PathNorm
from skbound.measures._pieces import Piece, Pieces, pieces_of
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
from skbound.measures._transformer_formula import (
    TransformerDataTerm,
    TransformerFormula,
    TransformerModelTerm,
    TransformerTerms,
    scaling,
    transformer_terms,
)
from skbound.measures._vc_dimension import VCPfaffian, VCPiecewiseLinear
from skbound.measures._weight_bits import WeightBits, quantised_bits
from skbound.measures._weight_ranks import WeightRank, threshold_rank, weight_ranks
from skbound.measures._weights import WeightStatistics, weight_statistics

__all__ = [
    "MEASURES",
    "AttentionDiffuseness",
    "AttentionKernelMisalignment",
    "AttentionKernelRademacher",
    "AttentionSharpness",
    "AttentionSpan",
    "BallCovering",
    "BallSharpness",
    "BoxSharpness",
    "ComplexityMeasure",
    "CompositionCovering",
    "DepthAverage",
    "DepthToWidth",
    "Distance",
    "EdelmanCovering",
    "EffectiveRanks",
    "FeatureEntropyRank",
    "FeatureParticipationRank",
    "FeatureStableRank",
    "FeedForwardPathNorm",
    "FisherRao",
    "GradientPerRow",
    "GradientVariance",
    "InitialGradient",
    "InitialScale",
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
    "OffsetRademacher",
    "PACBayesMagnitude",
    "PACBayesNorm",
    "PRDProxy",
    "PackingEstimate",
    "ParameterCount",
    "ParametricCovering",
    "PathNorm",
    "Piece",
    "Pieces",
    "PointwiseRiemannianDimension",
    "RademacherEstimate",
    "SchattenSum",
    "SpectralComplexity",
    "SpectralMain",
    "SpectralProductRate",
    "SpectrumAdaptive",
    "StableRankSum",
    "TransformerDataTerm",
    "TransformerFormula",
    "TransformerModelTerm",
    "TransformerTerms",
    "TraugerTewariCovering",
    "TwoLayerGap",
    "TwoLayerPathNorm",
    "VCPfaffian",
    "VCPiecewiseLinear",
    "WeightBits",
    "WeightRank",
    "WeightStatistics",
    "WidthCorrection",
    "allocate_errors",
    "attention_error",
    "ball_log_covering",
    "early_stopping_filter",
    "effective_l2",
    "effective_ranks",
    "feature_ranks",
    "hoelder_rate",
    "kernel_rademacher",
    "linear_offset_complexity",
    "log_attention_leak",
    "margin_quantile",
    "massart",
    "maurey_log_covering",
    "measure",
    "measure_all",
    "misalignment",
    "offset_complexity_of_ball",
    "packing_number",
    "path_norm_of_change",
    "pieces_of",
    "quantised_bits",
    "rademacher_ball",
    "rademacher_finite",
    "rademacher_lower",
    "regularized_stability",
    "ridge_filter",
    "riemannian_dimension",
    "scaling",
    "score_spectra",
    "sgd_stability_convex",
    "sgd_stability_nonconvex",
    "sgd_stability_strongly_convex",
    "threshold_rank",
    "transformer_terms",
    "two_layer_gap",
    "weight_ranks",
    "weight_statistics",
]
