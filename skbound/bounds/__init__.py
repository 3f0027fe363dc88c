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
from skbound.bounds._progressive import ProgressiveBound
from skbound.bounds._progressive_exact import ProgressiveExactBound
from skbound.bounds._progressive_mixture import ProgressiveMixtureBound
from skbound.bounds._progressive_together import ProgressiveAverageBound, ProgressiveVoteBound

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
    "ProgressiveAverageBound",
    "ProgressiveBound",
    "ProgressiveExactBound",
    "ProgressiveMixtureBound",
    "ProgressiveVoteBound",
    "binomial_tail_inverse",
    "certificates",
    "kl",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "log_xi",
    "no_certificate",
    "resolve_bound",
]
