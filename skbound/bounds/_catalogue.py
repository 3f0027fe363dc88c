"""Which bounds apply to which kind of evidence, and under which names."""

from __future__ import annotations

from contextlib import suppress

from skbound.bounds._best import BestOf
from skbound.bounds._bound import Bound
from skbound.bounds._certificate import Certificate
from skbound.bounds._compression import PickToLearnBound, SampleCompressionBound
from skbound.bounds._covering import CoveringBound, EntropyBound
from skbound.bounds._cross_fit import (
    CrossFitBound,
    FoldKLBound,
    FoldMixtureBound,
    FoldUnionBound,
)
from skbound.bounds._cross_fit_votes import TandemBound
from skbound.bounds._description_length import OccamBound, OccamKLBound
from skbound.bounds._holdout import (
    BettingBound,
    BinomialBound,
    EmpiricalBernsteinBound,
    HoeffdingBound,
    KLBound,
)
from skbound.bounds._linear_head import MarginBound
from skbound.bounds._pac_bayes_kinds import (
    PACBayesCatoniBound,
    PACBayesFixedRatesBound,
    PACBayesKLBound,
    PACBayesLambdaBound,
    PACBayesMcAllesterBound,
    PACBayesQuadraticBound,
    RenyiBound,
)
from skbound.bounds._progressive import ProgressiveBound
from skbound.bounds._progressive_exact import ProgressiveExactBound
from skbound.bounds._progressive_mixture import ProgressiveMixtureBound
from skbound.bounds._progressive_together import ProgressiveAverageBound, ProgressiveVoteBound
from skbound.bounds._recursive import RecursiveBound
from skbound.bounds._split_kl import SplitKLBound
from skbound.bounds._stability import MeanHeadBound, StabilityBound
from skbound.bounds._unexpected_bernstein import UnexpectedBernsteinBound
from skbound.evidence import Evidence
from skbound.exceptions import MissingEvidenceError

__all__ = ["BOUNDS", "HOLDOUT_BOUNDS", "certificates", "resolve_bound"]

# For 0-1 losses kl, Hoeffding and empirical Bernstein are non-decreasing functions of the error
# count, and none of those beats the exact binomial tail at the same delta. So "best" gives them no
# share.
HOLDOUT_BOUNDS: dict[str, Bound] = {
    "binomial": BinomialBound(),
    "kl": KLBound(),
    "hoeffding": HoeffdingBound(),
    "empirical_bernstein": EmpiricalBernsteinBound(),
    "betting": BettingBound(),
    "best": BestOf((BinomialBound(), BettingBound())),
}

_CROSS_FIT_BOUNDS: dict[str, Bound] = {
    "cross_fit": CrossFitBound(),
    "cross_fit_union": FoldUnionBound(),
    "cross_fit_kl": FoldKLBound(),
    "cross_fit_mixture": FoldMixtureBound(),
}
_PAC_BAYES: dict[str, Bound] = {
    "kl_fixed": PACBayesFixedRatesBound(),
    "kl": PACBayesKLBound(),
    "quadratic": PACBayesQuadraticBound(),
    "lambda": PACBayesLambdaBound(),
    "mcallester": PACBayesMcAllesterBound(),
    "catoni": PACBayesCatoniBound(),
}
_PAC_BAYES_BRIER = PACBayesFixedRatesBound("brier"), PACBayesKLBound("brier")

# By kind of evidence, then by the name that a user gives. The first of each is "auto".
BOUNDS: dict[str, dict[str, Bound]] = {
    "holdout": HOLDOUT_BOUNDS,
    "compression": {
        "pick_to_learn": PickToLearnBound(),
        "sample_compression": SampleCompressionBound(),
    },
    "recursive_held_out": {"recursive": RecursiveBound()},
    "recursive_single_draw": {"recursive": RecursiveBound()},
    "linear_head": {
        "covering": CoveringBound(),
        "margin": MarginBound(),
        "mean_head": MeanHeadBound(),
        "stability": StabilityBound(),
        "entropy": EntropyBound(),
        "best": BestOf((CoveringBound(), MarginBound(), MeanHeadBound()), (0.6, 0.2, 0.2)),
    },
    "cross_fit_vote": _CROSS_FIT_BOUNDS,
    "cross_fit_gibbs": _CROSS_FIT_BOUNDS,
    "cross_fit_average": _CROSS_FIT_BOUNDS,
    "out_of_bag_vote": {**_CROSS_FIT_BOUNDS, "tandem": TandemBound()},
    "pac_bayes_single_draw": {**_PAC_BAYES, "renyi": RenyiBound()},
    "pac_bayes_gibbs": _PAC_BAYES,
    "pac_bayes_vote": _PAC_BAYES,
    "pac_bayes_average": _PAC_BAYES,
    "description_length": {"occam": OccamBound(), "occam_kl": OccamKLBound()},
    "progressive": {
        "progressive_exact": ProgressiveExactBound(),
        "progressive_mixture": ProgressiveMixtureBound(),
        "progressive": ProgressiveBound(),
    },
    "progressive_stream": {"progressive_mixture": ProgressiveMixtureBound()},
    "progressive_vote": {"progressive_vote": ProgressiveVoteBound()},
    "progressive_average": {"progressive_average": ProgressiveAverageBound()},
}

_BRIER_BOUNDS: dict[str, tuple[Bound, ...]] = {
    "holdout": (
        KLBound("brier"),
        HoeffdingBound("brier"),
        EmpiricalBernsteinBound("brier"),
        BettingBound("brier"),
        SplitKLBound("brier"),
        UnexpectedBernsteinBound("brier"),
    ),
    "compression": (PickToLearnBound("brier"), SampleCompressionBound("brier")),
    "cross_fit_vote": (CrossFitBound("brier"),),
    "cross_fit_gibbs": (CrossFitBound("brier"),),
    "cross_fit_average": (CrossFitBound("brier"),),
    "out_of_bag_vote": (CrossFitBound("brier"),),
    "pac_bayes_single_draw": _PAC_BAYES_BRIER,
    "pac_bayes_gibbs": _PAC_BAYES_BRIER,
    "pac_bayes_vote": _PAC_BAYES_BRIER,
    "pac_bayes_average": _PAC_BAYES_BRIER,
    "description_length": (OccamKLBound("brier"),),
    "progressive": (ProgressiveMixtureBound("brier"), ProgressiveBound("brier")),
    "progressive_stream": (ProgressiveMixtureBound("brier"),),
    "progressive_vote": (ProgressiveVoteBound("brier"),),
    "progressive_average": (ProgressiveAverageBound("brier"),),
}

# What the user sets to get each kind.
_PROTOCOLS = {
    "holdout": "'holdout'",
    "compression": "'compression'",
    "recursive_held_out": "RecursivePACBayes(predictor='held_out')",
    "recursive_single_draw": "RecursivePACBayes(predictor='single_draw')",
    "linear_head": "'frozen_features'",
    "cross_fit_vote": "CrossFit(predictor='vote')",
    "cross_fit_gibbs": "CrossFit(predictor='gibbs')",
    "cross_fit_average": "CrossFit(predictor='average')",
    "out_of_bag_vote": "CrossFit(predictor='vote', scheme='bags')",
    "pac_bayes_single_draw": "PACBayes(predictor='single_draw')",
    "pac_bayes_gibbs": "PACBayes(predictor='gibbs')",
    "pac_bayes_vote": "PACBayes(predictor='vote')",
    "pac_bayes_average": "PACBayes(predictor='average')",
    "description_length": "'description_length'",
    "progressive": "Progressive(predictor='gibbs')",
    "progressive_stream": "Progressive(predictor='gibbs') with partial_fit",
    "progressive_vote": "Progressive(predictor='vote')",
    "progressive_average": "Progressive(predictor='average')",
}


def certificates(evidence: Evidence, delta: float = 0.05) -> dict[str, Certificate]:
    """Compute every certificate that applies, each alone at `delta`.

    They do not hold all at once at this level: the smallest of them is not a certificate at
    `delta`. Use `BestOf` for that.

    Parameters
    ----------
    evidence : Evidence
        With certified rows.
    delta : float, default=0.05
        Probability with which each may fail, in (0, 1).

    Returns
    -------
    dict of str to Certificate
        For the error of ``predict`` by name of the bound; for half the Brier score, where there
        are probabilities, by ``"brier_"`` and the name.

    Raises
    ------
    MissingEvidenceError
        If no rows were certified.

    Examples
    --------
    >>> from skbound.evidence import Evidence, Sample
    >>> sample = Sample(range(100), [1] * 5 + [0] * 95)
    >>> evidence = Evidence(protocol="holdout", n_fit=400, majority_share=0.5, certified=sample)
    >>> round(certificates(evidence, 0.05)["binomial"].value, 6)
    0.102253
    """
    if evidence.certified is None:
        raise MissingEvidenceError(
            f"Certificates need certified rows, but the fit set none aside"
            f"{f' ({evidence.reason})' if evidence.reason else ''}. Fit with a protocol that "
            f"does, for example protocol='holdout'."
        )
    asked = dict(BOUNDS.get(evidence.kind, {}))
    sample = evidence.evaluated
    if sample is not None and sample.brier is not None:
        smooth = _BRIER_BOUNDS.get(evidence.kind, ())
        asked |= {f"brier_{bound.key}": bound for bound in smooth}
    found = {}
    for name, bound in asked.items():
        # Some need what not every protocol of a kind records.
        with suppress(MissingEvidenceError):
            found[name] = bound(evidence, delta)
    return found


def resolve_bound(bound: str | Bound, evidence: Evidence | None = None) -> Bound:
    """Return the bound object that a parameter value stands for.

    Parameters
    ----------
    bound : str or Bound
        A name is looked up among the bounds for this kind of evidence; "auto" is the first of
        them, for example the exact binomial tail for a hold-out.
    evidence : Evidence or None, default=None
        What the name is resolved for; None stands for a hold-out.

    Returns
    -------
    Bound
        On the error of ``predict``.

    Raises
    ------
    ValueError
        If the name is unknown or the bound is about another loss.
    MissingEvidenceError
        If the name is that of a bound for another kind of evidence.
    TypeError
        If it is neither a name nor a Bound.
    """
    kind = "holdout" if evidence is None or evidence.certified is None else evidence.kind
    names = BOUNDS.get(kind, {})
    if isinstance(bound, str):
        return _named(bound, names, evidence)
    if not isinstance(bound, Bound):
        raise TypeError(
            f"bound must be one of {['auto', *names]} or a Bound object, got {bound!r}."
        )
    if bound.loss != "zero_one":
        others = [f"bounds_['brier_{other.key}']" for other in _BRIER_BOUNDS.get(kind, ())]
        where = f" Such certificates are in bounds_, for example {others[0]}." if others else ""
        raise ValueError(
            f"bound must be about the error of predict, as generalization_bound_ is, got one on "
            f"the {bound.loss!r} loss.{where} Use bound='auto' or one of {list(names)}."
        )
    return bound


def _named(bound: str, names: dict[str, Bound], evidence: Evidence | None) -> Bound:
    """Return the bound of a name, or say why it has none here."""
    if not names and evidence is not None:
        raise MissingEvidenceError(
            f"bound must be a Bound object that reads {type(evidence.certified).__name__}, which "
            f"protocol {evidence.protocol!r} records: no bound on it has a name. Got {bound!r}. "
            f"Give a Bound object."
        )
    if bound == "auto":
        return next(iter(names.values()))
    if bound in names:
        return names[bound]
    homes = [_PROTOCOLS[kind] for kind in BOUNDS if bound in BOUNDS[kind]]
    if homes:
        raise MissingEvidenceError(
            f"bound={bound!r} needs protocol={' or '.join(homes)}, but protocol={_given(evidence)} "
            f"is used. Use bound='auto' or one of {list(names)}."
        )
    raise ValueError(f"bound must be one of {['auto', *names]} or a Bound object, got {bound!r}.")


def _given(evidence: Evidence | None) -> str:
    """Return the protocol as the user has set it."""
    if evidence is None:
        return "'holdout'"
    if evidence.kind not in ("holdout", "none"):
        return _PROTOCOLS[evidence.kind]
    # The last of the predictors has a hold-out of its own.
    last = evidence.kind == "holdout" and evidence.protocol == "progressive"
    return "Progressive(predictor='last')" if last else repr(evidence.protocol)
