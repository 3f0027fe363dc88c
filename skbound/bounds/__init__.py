"""Certificates: upper bounds on the true error, computed from evidence alone."""

from __future__ import annotations

from skbound.bounds._best import BestOf
from skbound.bounds._bound import Bound
from skbound.bounds._catalogue import BOUNDS, HOLDOUT_BOUNDS, certificates, resolve_bound
from skbound.bounds._certificate import Certificate, no_certificate
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
from skbound.bounds._progressive import ProgressiveBound

__all__ = [
    "BOUNDS",
    "HOLDOUT_BOUNDS",
    "BestOf",
    "BettingBound",
    "BinomialBound",
    "Bound",
    "Certificate",
    "EmpiricalBernsteinBound",
    "HoeffdingBound",
    "HoldoutBound",
    "KLBound",
    "PACBayesBound",
    "PACBayesCatoniBound",
    "PACBayesFixedRatesBound",
    "PACBayesKLBound",
    "PACBayesLambdaBound",
    "PACBayesMcAllesterBound",
    "PACBayesQuadraticBound",
    "ProgressiveBound",
    "RenyiBound",
    "binomial_tail_inverse",
    "catoni_upper",
    "certificates",
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
    "quadratic_upper",
    "resolve_bound",
]
