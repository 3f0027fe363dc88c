"""Point predictions of the true error. They carry no guarantee and are no bounds."""

from __future__ import annotations

from dataclasses import dataclass

from skbound.evidence import Evidence, FoldSample

__all__ = ["Estimate", "certified_error_estimate"]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A point prediction of the true error, without guarantee.

    ``float(estimate)`` is its value.

    Parameters
    ----------
    value : float
        Predicted error, in [0, 1]; NaN if the fit left nothing to predict it from.
    standard_error : float
        Its standard error; NaN if unknown.
    method : str
        How it was obtained, in words.
    optimistic : bool
        Whether the predictor or the rows were chosen by it, so that it is too low on average.
        Whether the predictor was chosen by this number, or trained on the same rows, so that it is
        too low on average.
    """

    value: float
    standard_error: float
    method: str
    optimistic: bool = False

    def __float__(self) -> float:
        return self.value


def certified_error_estimate(evidence: Evidence) -> Estimate:
    """Return the error on the certified rows as an estimate of the true error of ``predict``.

    After progressive validation that is the mean error of the predictors that share the rows. The
    last of them alone has usually a smaller one. Where the predictor picked the rows that it got
    wrong, those that it left out are easier than others, so the estimate is too low. After
    cross-fitting it is the mean error of single predictors; that of their vote is usually smaller.

    Parameters
    ----------
    evidence : Evidence
        Record of a fit.

    Returns
    -------
    Estimate
        With the binomial standard error; NaN where no rows were set aside.
    """
    if evidence.evaluated is None:
        missing = "no rows were set aside" if evidence.certified is None else "no row was left out"
        return Estimate(value=float("nan"), standard_error=float("nan"), method=missing)
    error, n = evidence.evaluated.error, evidence.evaluated.n_samples
    rows = _ROWS.get(evidence.kind, "that were not trained on")
    if isinstance(evidence.certified, FoldSample):
        rows, n = "by predictors that had not seen them", evidence.certified.n_samples
    return Estimate(
        value=error,
        standard_error=(error * (1.0 - error) / n) ** 0.5,
        method=f"share of wrong predictions on {n} rows {rows}",
        optimistic=evidence.n_candidates > 1 or evidence.kind in _OPTIMISTIC,
    )


_PAC_BAYES = [f"pac_bayes_{predictor}" for predictor in ("single_draw", "gibbs", "vote", "average")]
# Which rows an error was seen on, by kind of evidence.
_ROWS = {
    "progressive": "before they were trained on",
    "compression": "that were left out, and not picked because they were predicted wrongly",
    "linear_head": "that the linear head was trained on",
    "description_length": "that the decoded net was trained on",
    **dict.fromkeys(_PAC_BAYES, "that the prior has not seen but the posterior was trained on"),
}
# Kinds whose predictor depends on the rows that its error was seen on.
_OPTIMISTIC = frozenset({"compression", "description_length", "linear_head", *_PAC_BAYES})
