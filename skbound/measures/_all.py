"""All measures of one net."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skbound.evidence import NetRecord
from skbound.exceptions import MissingEvidenceError
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
from skbound.measures._measure import ComplexityMeasure, Measure
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

__all__ = ["MEASURES", "Measures", "measure", "measure_all"]

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

MEASURES: dict[str, ComplexityMeasure] = {
    rule.key: rule
    for rule in (
        ParameterCount(),
        L2Norm(),
        *_NORMS,
        *_MARGINS_AND_NOISE,
        *_SPECTRA,
        MeanSquaredGradient(),
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


class Measures(dict[str, Measure]):
    """Measures of a net by their keys, in the order of the catalogue.

    Attributes
    ----------
    not_computed : dict of str to str
        The keys of measures that do not apply to this net, and why.
    """

    def __init__(self, found: dict[str, Measure], not_computed: dict[str, str]) -> None:
        super().__init__(found)
        self.not_computed = not_computed

    def to_frame(self) -> Any:
        """Return a table with one row per measure, those not computed included.

        Returns
        -------
        pandas.DataFrame
            With columns value, log_value, depends_on, source, note and not_computed, indexed by
            key.
        """
        import pandas as pd  # type: ignore[import-untyped]

        rows = {
            key: {
                "value": m.value,
                "log_value": m.log_value,
                "depends_on": ", ".join(m.depends_on),
                "source": m.source,
                "note": m.note,
                "not_computed": "",
            }
            for key, m in self.items()
        }
        rows |= {key: {"not_computed": why} for key, why in self.not_computed.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("measure")


def measure(net: NetRecord, rules: Iterable[ComplexityMeasure] | None = None) -> Measures:
    """Compute measures from what was collected.

    Parameters
    ----------
    net : NetRecord
        What is known.
    rules : iterable of ComplexityMeasure or None, default=None
        Which; None takes the whole catalogue.

    Returns
    -------
    Measures
        What cannot be computed is listed in ``not_computed`` with its reason.
    """
    found, missing = {}, {}
    for rule in MEASURES.values() if rules is None else rules:
        try:
            found[rule.key] = rule(net)
        except MissingEvidenceError as error:
            missing[rule.key] = str(error)
    return Measures(found, missing)


def measure_all(
    clf: Any, X: Any, y: Any, rules: Iterable[ComplexityMeasure] | None = None
) -> Measures:
    """Compute every measure of a fitted classifier.

    Parameters
    ----------
    clf : TransformerClassifier or BoundedClassifier
        Fitted; a BoundedClassifier around a torch module.
    X : array-like
        The rows that the net was trained on. Measures of rows that it has not seen are something
        else than their names say.
    y : array-like of shape (n_samples,)
        Their labels.
    rules : iterable of ComplexityMeasure or None, default=None
        Which; None takes the whole catalogue.

    Returns
    -------
    Measures
        By key; what does not apply is listed in ``not_computed`` with its reason.

    Raises
    ------
    MissingEvidenceError
        If the classifier does not reveal a net.
    """
    rules = list(MEASURES.values() if rules is None else rules)
    if not hasattr(clf, "_net_record"):
        raise MissingEvidenceError(
            f"Measures are about nets, and {type(clf).__name__} does not reveal one. Pass a fitted "
            f"TransformerClassifier, or a BoundedClassifier around a torch module."
        )
    optional = NetRecord.optional()
    needs = {name for rule in rules for name in rule.depends_on if name in optional}
    return measure(clf._net_record(X, y, needs=sorted(needs)), rules)
