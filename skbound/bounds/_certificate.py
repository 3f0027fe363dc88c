"""Certificate: an upper bound on the true error, with what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal

from skbound.evidence import Evidence, Loss

__all__ = ["Certificate", "no_certificate"]

# The loss that is bounded, and its mean on the rows.
_LOSS_IN_WORDS = {
    "zero_one": ("true error of predict, P(predict(x) != y),", "mean error"),
    "brier": ("expected Brier score / 2 of predict_proba", "mean Brier score / 2"),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """An upper bound that holds with probability at least ``1 - delta``.

    The probability is over the i.i.d. sample and the randomness of the fit. ``float(certificate)``
    is its value.

    Parameters
    ----------
    value : float
        The bound, not clipped: it may exceed 1.
    delta : float
        Probability with which the bound may fail, for the whole choice among `n_candidates`.
    name : str
        Key of the bound, for example ``"binomial"``.
    method : str
        The bound in words.
    loss : {"zero_one", "brier"}
        What is bounded: the error of ``predict`` or half the Brier score of ``predict_proba``.
    terms : dict of str to float
        Named amounts that sum to `value`.
    n_fit, n_certified : int
        Rows trained on, and rows whose losses the bound is computed from.
    n_candidates : int
        Among how many candidates the predictor was chosen; each got ``delta / n_candidates``, or
        a share of its own.
    share : float or None
        Share of delta of this candidate, fixed beforehand; None for equal shares.
    n_predictors : int
        How many predictors ``predict`` uses; `over` says how.
    baseline : float
        Error of always predicting the most frequent class, on the rows not certified.
    over : str
        What the bounded error is a mean over, in words; empty for the error of one fixed predictor.
    spent : str
        How the rows were used, in words.
    assumptions : tuple of str
        What the bound rests on.
    caveats : tuple of str
        What was done with certified rows that the bound does not cover; part of `statement`.
    reason : str
        Why nothing is certified, if nothing is.
    """

    value: float
    delta: float
    name: str
    method: str
    loss: Loss = "zero_one"
    terms: dict[str, float] = field(default_factory=dict)
    n_fit: int
    n_certified: int
    n_candidates: int = 1
    share: float | None = None
    n_predictors: int = 1
    baseline: float
    over: str = ""
    spent: str = ""
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    reason: str = ""

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        return self.statement()

    def __repr__(self) -> str:
        return (
            f"Certificate({rounded_up(self.value)}, name={self.name!r}, loss={self.loss!r}, "
            f"delta={self.delta:g}, n_certified={self.n_certified}, "
            f"n_candidates={self.n_candidates}, vacuous={self.vacuous})"
        )

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than always predicting the most frequent class would.

        For the Brier loss, whether it is no less than 1.
        """
        return self.value >= (self.baseline if self.loss == "zero_one" else 1.0)

    def statement(self) -> str:
        """Say the certificate in words, for a report.

        Returns
        -------
        str
            One paragraph with the level as a percentage, the value clipped to 1 and rounded up,
            both row counts, the price of a choice, and a warning if the bound is vacuous.
        """
        if self.n_certified == 0:
            return (
                f"Nothing is certified: {self.reason or 'no rows were set aside'} "
                f"The bound is 1, which always holds."
            )
        shown = rounded_up(min(1.0, self.value))
        bounded, mean = _LOSS_IN_WORDS[self.loss]
        seen = ""
        if "empirical_loss" in self.terms:
            seen = f" ({mean} there {self.terms['empirical_loss']:.4f})"
        text = (
            f"With probability at least {_percent(self.delta)} % over the sample and the "
            f"fit, the {bounded}{self.over} is at most {shown}, by the {self.method}. "
            f"{self.spent}{seen}."
        )
        if self.n_candidates > 1 and self.share is None:
            text += (
                f" The choice among {self.n_candidates} candidates is paid for: each was bounded "
                f"at level {self.delta:g} / {self.n_candidates}."
            )
        elif self.n_candidates > 1:
            text += (
                f" The choice among {self.n_candidates} candidates is paid for: this one was "
                f"bounded at level {self.delta:g} * {self.share:.4g}, a share that was fixed "
                f"before the certified rows were read."
            )
        if self.vacuous and self.loss == "zero_one":
            text += (
                f" This is vacuous: always predicting the most frequent class errs about "
                f"{self.baseline:.4f}."
            )
        elif self.vacuous:
            text += " This is vacuous: the loss never exceeds 1."
        return " ".join([text, *self.caveats])


def rounded_up(value: float) -> str:
    """Write a bound with four digits, none of which makes it smaller.

    Parameters
    ----------
    value : float
        Finite.

    Returns
    -------
    str
        At least `value`.
    """
    return f"{math.ceil(value * 1e4) / 1e4:.4f}"


def _percent(delta: float) -> str:
    """Write 1 - delta as a percentage, in decimal arithmetic and never rounded up."""
    digits = max(2, 1 - Decimal(delta).adjusted())
    exact = 100 * (1 - Decimal(repr(delta)))
    shown = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR)
    return f"{shown:f}".rstrip("0").rstrip(".")


def no_certificate(evidence: Evidence, delta: float) -> Certificate:
    """Return the trivial bound 1 of a fit that set no rows aside, with the reason why.

    Parameters
    ----------
    evidence : Evidence
        Record of the fit.
    delta : float
        Level asked for; the statement holds at every level.

    Returns
    -------
    Certificate
        Of value 1.0 and name ``"none"``.
    """
    return Certificate(
        value=1.0,
        delta=delta,
        name="none",
        method="trivial bound",
        terms={"no_certified_rows": 1.0},
        n_fit=evidence.n_fit,
        n_certified=0,
        n_candidates=evidence.n_candidates,
        share=evidence.share,
        baseline=1.0 - evidence.majority_share,
        assumptions=evidence.assumptions,
        caveats=evidence.caveats,
        reason=evidence.reason,
    )
