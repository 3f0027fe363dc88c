"""The catalogue of complexity measures."""

from __future__ import annotations

from skbound.measures._approximation import AttentionDiffuseness, AttentionSharpness
from skbound.measures._covering_measures import (
    BallCovering,
    CompositionCovering,
    EdelmanCovering,
    PackingEstimate,
    ParametricCovering,
    TraugerTewariCovering,
)
from skbound.measures._depth import AttentionSpan, DepthAverage, SpectralProductRate
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
    TwoLayerPathNorm,
)
from skbound.measures._lipschitz import JacobianNorm, LipschitzLocalUpper, LipschitzUpper
from skbound.measures._margins import InverseMargin, MarginOverEpochs
from skbound.measures._measure import ComplexityMeasure
from skbound.measures._norms import (
    Distance,
    L2Distance,
    L2Norm,
    NormProduct,
    NormSquares,
    NormSum,
    ParameterCount,
)
from skbound.measures._offset import OffsetRademacher
from skbound.measures._path_norm import PathNorm
from skbound.measures._ranks import (
    FeatureEntropyRank,
    FeatureParticipationRank,
    FeatureStableRank,
    JacobianEntropyRank,
    JacobianParticipationRank,
    JacobianStableRank,
)
from skbound.measures._riemannian import PointwiseRiemannianDimension, PRDProxy
from skbound.measures._schatten import SchattenSum, SpectrumAdaptive
from skbound.measures._sharpness import BallSharpness, BoxSharpness, FisherRao
from skbound.measures._spectral_complexity import SpectralComplexity, SpectralMain, StableRankSum
from skbound.measures._tangent_kernel import (
    AttentionKernelMisalignment,
    AttentionKernelRademacher,
    DepthToWidth,
    KernelFit,
    KernelMisalignment,
    KernelRademacher,
    WidthCorrection,
)
from skbound.measures._transformer_formula import (
    TransformerDataTerm,
    TransformerFormula,
    TransformerModelTerm,
)
from skbound.measures._vc_dimension import VCPfaffian, VCPiecewiseLinear
from skbound.measures._weight_bits import WeightBits
from skbound.measures._weight_ranks import WeightRank

__all__ = ["MEASURES"]

# Of the founding documents, and of the papers behind them.
_EXPRESSIONS: tuple[ComplexityMeasure, ...] = (
    AttentionDiffuseness(),
    AttentionSharpness(),
    BallCovering(),
    CompositionCovering(),
    EdelmanCovering(),
    PackingEstimate(),
    ParametricCovering(),
    TraugerTewariCovering(),
    AttentionSpan(),
    DepthAverage(),
    SpectralProductRate(),
    FeedForwardPathNorm(),
    InitialGradient(),
    InitialScale(),
    TwoLayerPathNorm(),
    OffsetRademacher(),
    TransformerDataTerm(),
    TransformerFormula(),
    TransformerModelTerm(),
    VCPfaffian(),
    VCPiecewiseLinear(),
)


_NORMS: tuple[ComplexityMeasure, ...] = (
    L2Distance(),
    *(
        rule(norm, over_margin=over_margin)
        for norm in ("spectral", "exact_spectral", "frobenius", "two_one")
        for rule in (NormProduct, NormSum)
        for over_margin in (False, True)
    ),
    *(
        rule(norm)
        for norm in ("spectral", "exact_spectral", "frobenius", "two_one")
        for rule in (NormSquares, Distance)
    ),
    *(StableRankSum(norm) for norm in ("spectral", "exact_spectral")),
    *(
        SpectralMain(reference, norm)
        for reference in ("initial", "origin")
        for norm in ("spectral", "exact_spectral")
    ),
    SpectralComplexity(),
    PathNorm(),
    PathNorm(over_margin=True),
)
_MARGINS_AND_NOISE: tuple[ComplexityMeasure, ...] = (
    InverseMargin(),
    MarginOverEpochs(),
    MarginOverEpochs(normalized=True),
    NoiseFlatness(),
    NoiseFlatness(magnitude=True),
    PACBayesNorm(),
    PACBayesNorm("origin"),
    PACBayesMagnitude(),
    PACBayesMagnitude("origin"),
    BallSharpness(),
    BoxSharpness(),
    FisherRao(),
)
_SPECTRA: tuple[ComplexityMeasure, ...] = (
    *(WeightRank(kind) for kind in ("entropy", "participation", "nuclear", "threshold")),
    SchattenSum(),
    SpectrumAdaptive(),
    WeightBits(),
)

MEASURES: dict[str, ComplexityMeasure] = {
    rule.key: rule
    for rule in (
        ParameterCount(),
        L2Norm(),
        MeanSquaredGradient(),
        *_NORMS,
        *_MARGINS_AND_NOISE,
        *_SPECTRA,
        GradientPerRow(),
        MeanGradient(),
        GradientVariance(),
        KernelRademacher(),
        KernelMisalignment(),
        KernelFit(),
        AttentionKernelRademacher(),
        AttentionKernelMisalignment(),
        WidthCorrection(),
        DepthToWidth(),
        FeatureEntropyRank(),
        FeatureParticipationRank(),
        FeatureStableRank(),
        JacobianEntropyRank(),
        JacobianParticipationRank(),
        JacobianStableRank(),
        PointwiseRiemannianDimension(),
        PRDProxy(),
        LipschitzUpper(),
        LipschitzLocalUpper(),
        JacobianNorm(),
        *_EXPRESSIONS,
    )
}
