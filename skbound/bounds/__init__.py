"""Certificates: upper bounds on the true error, computed from evidence alone."""

from __future__ import annotations

from skbound.bounds._best import BestOf
from skbound.bounds._bound import Bound
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
from skbound.evidence import Evidence

__all__ = [
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
    "ProgressiveBound",
    "binomial_tail_inverse",
    "holdout_certificates",
    "kl",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "log_xi",
    "no_certificate",
    "progressive_certificates",
    "resolve_bound",
]

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

_NAMES = ["auto", *HOLDOUT_BOUNDS, ProgressiveBound.key]

_BRIER_BOUNDS: tuple[Bound, ...] = (
    KLBound("brier"),
    HoeffdingBound("brier"),
    EmpiricalBernsteinBound("brier"),
    BettingBound("brier"),
)


def holdout_certificates(evidence: Evidence, delta: float = 0.05) -> dict[str, Certificate]:
    """Compute every hold-out certificate, each alone at `delta`.

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
        For the 0-1 loss by key of the bound; for half the Brier score, where there are
        probabilities, by ``"brier_"`` and the key.

    Raises
    ------
    MissingEvidenceError
        If no rows were certified.

    Examples
    --------
    >>> from skbound.evidence import Evidence, Sample
    >>> sample = Sample(range(100), [1] * 5 + [0] * 95)
    >>> evidence = Evidence(protocol="holdout", n_fit=400, majority_share=0.5, certified=sample)
    >>> round(holdout_certificates(evidence, 0.05)["binomial"].value, 6)
    0.102253
    """
    certificates = {key: bound(evidence, delta) for key, bound in HOLDOUT_BOUNDS.items()}
    if evidence.certified is not None and evidence.certified.brier is not None:
        certificates |= {f"brier_{bound.key}": bound(evidence, delta) for bound in _BRIER_BOUNDS}
    return certificates


def progressive_certificates(evidence: Evidence, delta: float = 0.05) -> dict[str, Certificate]:
    """Compute every certificate of a progressive fit, each alone at `delta`.

    Parameters
    ----------
    evidence : Evidence
        Of a progressive protocol.
    delta : float, default=0.05
        Probability with which each may fail, in (0, 1).

    Returns
    -------
    dict of str to Certificate
        ``"progressive"`` for the 0-1 loss and, where there are probabilities,
        ``"brier_progressive"`` for half the Brier score.

    Raises
    ------
    MissingEvidenceError
        If the rows were not evaluated progressively.
    """
    certificates = {"progressive": ProgressiveBound()(evidence, delta)}
    if evidence.evaluated is not None and evidence.evaluated.brier is not None:
        certificates["brier_progressive"] = ProgressiveBound("brier")(evidence, delta)
    return certificates


def resolve_bound(bound: str | Bound, evidence: Evidence | None = None) -> Bound:
    """Return the bound object that a parameter value stands for.

    Parameters
    ----------
    bound : str or Bound
        "auto" is the protocol's own: the exact binomial tail for a hold-out, the progressive
        bound for progressive evidence.
    evidence : Evidence or None, default=None
        What "auto" is resolved for; None stands for a hold-out.

    Returns
    -------
    Bound
        On the error of ``predict``.

    Raises
    ------
    ValueError
        If the name is unknown or the bound is about another loss.
    TypeError
        If it is neither a name nor a Bound.
    """
    if isinstance(bound, str):
        if bound not in _NAMES:
            raise ValueError(f"bound must be one of {_NAMES} or a Bound object, got {bound!r}.")
        progressive = evidence is not None and evidence.progressive is not None
        if bound == "progressive" or (bound == "auto" and progressive):
            return ProgressiveBound()
        return HOLDOUT_BOUNDS["binomial" if bound == "auto" else bound]
    if not isinstance(bound, Bound):
        raise TypeError(f"bound must be one of {_NAMES} or a Bound object, got {bound!r}.")
    if bound.loss != "zero_one":
        raise ValueError(
            f"generalization_bound_ is about the error of predict, got a bound on the "
            f"{bound.loss!r} loss. Those certificates are in bounds_, for example "
            f"bounds_['brier_kl']."
        )
    return bound
