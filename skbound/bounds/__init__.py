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
    "binomial_tail_inverse",
    "holdout_certificates",
    "kl",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "log_xi",
    "no_certificate",
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


def resolve_bound(bound: str | Bound) -> Bound:
    """Return the bound object that a parameter value stands for.

    Parameters
    ----------
    bound : str or Bound
        "auto" is the exact binomial tail.

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
        name = "binomial" if bound == "auto" else bound
        if name not in HOLDOUT_BOUNDS:
            raise ValueError(
                f"bound must be one of {['auto', *HOLDOUT_BOUNDS]} or a Bound object, got "
                f"{bound!r}."
            )
        return HOLDOUT_BOUNDS[name]
    if not isinstance(bound, Bound):
        raise TypeError(
            f"bound must be one of {['auto', *HOLDOUT_BOUNDS]} or a Bound object, got {bound!r}."
        )
    if bound.loss != "zero_one":
        raise ValueError(
            f"generalization_bound_ is about the error of predict, got a bound on the "
            f"{bound.loss!r} loss. Those certificates are in bounds_, for example "
            f"bounds_['brier_kl']."
        )
    return bound
