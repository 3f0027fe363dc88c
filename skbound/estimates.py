"""Point predictions of the true error. They carry no guarantee and are no bounds."""

from __future__ import annotations

from dataclasses import dataclass

from skbound.evidence import Evidence

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
        Whether the predictor was chosen by this number or trained on its rows, so that it is too
        low on average.
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
    last of them alone has usually a smaller one. The posterior of a PAC-Bayes protocol was trained
    on these rows too, so its estimate is too low on average.

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
        return Estimate(
            value=float("nan"), standard_error=float("nan"), method="no rows were set aside"
        )
    error, n = evidence.evaluated.error, evidence.evaluated.n_samples
    rows = "that were not trained on"
    trained_on = evidence.kind.startswith("pac_bayes")
    if trained_on:
        rows = "that the prior has not seen but the posterior was trained on"
    elif evidence.kind == "progressive":
        rows = f"before they were trained on, over {evidence.n_predictors} predictors"
    return Estimate(
        value=error,
        standard_error=(error * (1.0 - error) / n) ** 0.5,
        method=f"share of wrong predictions on {n} rows {rows}",
        optimistic=trained_on or evidence.n_candidates > 1,
    )
