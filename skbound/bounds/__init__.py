"""Certificates: upper bounds on the true error, computed from evidence alone."""

from __future__ import annotations

from skbound.bounds._best import BestOf
from skbound.bounds._bound import Bound
from skbound.bounds._catalogue import BOUNDS, HOLDOUT_BOUNDS, certificates, resolve_bound
from skbound.bounds._certificate import Certificate, no_certificate
from skbound.bounds._chain import ChainBound, chain_upper
from skbound.bounds._compression import PickToLearnBound, SampleCompressionBound
from skbound.bounds._covering import CoveringBound, EntropyBound, dudley_integral
from skbound.bounds._cross_fit import (
    CrossFitBound,
    FoldBound,
    FoldKLBound,
    FoldMixtureBound,
    FoldUnionBound,
)
from skbound.bounds._cross_fit_votes import TandemBound
from skbound.bounds._description_length import CodeLengthBound, OccamBound, OccamKLBound
from skbound.bounds._holdout import (
    BettingBound,
    BinomialBound,
    EmpiricalBernsteinBound,
    HoeffdingBound,
    HoldoutBound,
    KLBound,
)
from skbound.bounds._inversion import (
    binomial_tail_inverse,
    kl,
    kl_inverse_lower,
    kl_inverse_upper,
    log_xi,
)
from skbound.bounds._linear_head import MarginBound
from skbound.bounds._pac_bayes import PACBayesBound
from skbound.bounds._pac_bayes_forms import (
    catoni_upper,
    fixed_rates_upper,
    gaussian_divergence,
    lambda_upper,
    mcallester_upper,
    monte_carlo_upper,
    quadratic_upper,
)
from skbound.bounds._pac_bayes_kinds import (
    PACBayesCatoniBound,
    PACBayesFixedRatesBound,
    PACBayesKLBound,
    PACBayesLambdaBound,
    PACBayesMcAllesterBound,
    PACBayesQuadraticBound,
    RenyiBound,
)
from skbound.bounds._preference import pick_to_learn_risk
from skbound.bounds._progressive import ProgressiveBound
from skbound.bounds._progressive_exact import ProgressiveExactBound
from skbound.bounds._progressive_mixture import ProgressiveMixtureBound
from skbound.bounds._progressive_together import ProgressiveAverageBound, ProgressiveVoteBound
from skbound.bounds._rademacher import rademacher_upper
from skbound.bounds._recursive import RecursiveBound
from skbound.bounds._split_kl import (
    SplitKLBound,
    excess_risk_upper,
    split_kl_finite,
    split_kl_upper,
)
from skbound.bounds._stability import MeanHeadBound, StabilityBound
from skbound.bounds._unexpected_bernstein import UnexpectedBernsteinBound, unexpected_bernstein
from skbound.bounds._votes import c_bound, c_bound_upper, first_order_upper, tandem_upper

__all__ = [
    "BOUNDS",
    "HOLDOUT_BOUNDS",
    "BestOf",
    "BettingBound",
    "BinomialBound",
    "Bound",
    "Certificate",
    "ChainBound",
    "CodeLengthBound",
    "CoveringBound",
    "CrossFitBound",
    "EmpiricalBernsteinBound",
    "EntropyBound",
    "FoldBound",
    "FoldKLBound",
    "FoldMixtureBound",
    "FoldUnionBound",
    "HoeffdingBound",
    "HoldoutBound",
    "KLBound",
    "MarginBound",
    "MeanHeadBound",
    "OccamBound",
    "OccamKLBound",
    "PACBayesBound",
    "PACBayesCatoniBound",
    "PACBayesFixedRatesBound",
    "PACBayesKLBound",
    "PACBayesLambdaBound",
    "PACBayesMcAllesterBound",
    "PACBayesQuadraticBound",
    "PickToLearnBound",
    "ProgressiveAverageBound",
    "ProgressiveBound",
    "ProgressiveExactBound",
    "ProgressiveMixtureBound",
    "ProgressiveVoteBound",
    "RecursiveBound",
    "RenyiBound",
    "SampleCompressionBound",
    "SplitKLBound",
    "StabilityBound",
    "TandemBound",
    "UnexpectedBernsteinBound",
    "binomial_tail_inverse",
    "c_bound",
    "c_bound_upper",
    "catoni_upper",
    "certificates",
    "chain_upper",
    "dudley_integral",
    "excess_risk_upper",
    "first_order_upper",
    "fixed_rates_upper",
    "gaussian_divergence",
    "kl",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "lambda_upper",
    "log_xi",
    "mcallester_upper",
    "monte_carlo_upper",
    "no_certificate",
    "pick_to_learn_risk",
    "quadratic_upper",
    "rademacher_upper",
    "resolve_bound",
    "split_kl_finite",
    "split_kl_upper",
    "tandem_upper",
    "unexpected_bernstein",
]
