"""Point predictions of the true error. They carry no guarantee and are no bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import Evidence, FoldSample
from skbound.exceptions import MissingEvidenceError

__all__ = ["Estimate", "certified_error_estimate", "learning_curve_estimate"]


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

    After progressive validation that is the mean error of the predictors that share the rows; of
    the last predictor alone, where ``predict`` uses that one, `learning_curve_estimate`. Where the
    predictor picked the rows that it got wrong, those that it left out are easier than others, so
    the estimate is too low. So it is where the predictor was trained on these rows, as the last of
    a chain of drawn nets was. After cross-fitting it is the mean error of single predictors; that
    of their vote is usually smaller.

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
    if evidence.kind == "holdout" and evidence.learning_curve is not None:
        return learning_curve_estimate(evidence)
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


_PROGRESSIVE = [f"progressive{how}" for how in ("", "_stream", "_vote", "_average")]
_PAC_BAYES = [f"pac_bayes_{predictor}" for predictor in ("single_draw", "gibbs", "vote", "average")]
# Which rows an error was seen on, by kind of evidence.
_ROWS = {
    **dict.fromkeys(_PROGRESSIVE, "before they were trained on"),
    "compression": "that were left out, and not picked because they were predicted wrongly",
    "linear_head": "that the linear head was trained on",
    "description_length": "that the decoded net was trained on",
    "recursive_single_draw": "that its prior has not seen but the last predictor was trained on",
    **dict.fromkeys(_PAC_BAYES, "that the prior has not seen but the posterior was trained on"),
}
# Kinds whose predictor depends on the rows that its error was seen on.
_OPTIMISTIC = frozenset(
    {"compression", "description_length", "linear_head", "recursive_single_draw", *_PAC_BAYES}
)


def learning_curve_estimate(evidence: Evidence, n_fit: int | None = None) -> Estimate:
    """Predict the error of a predictor that is trained on `n_fit` rows from the learning curve.

    The error is taken to be ``a + b / n_fit`` with ``b >= 0``, fitted to the errors of all steps
    by least squares, weighted with the rows they were evaluated on. With two steps the line goes
    through both, unless the later one errs more often; then it is their mean.

    Parameters
    ----------
    evidence : Evidence
        Of a progressive protocol, whatever ``predict`` uses.
    n_fit : int or None, default=None
        Rows to train on; None means as many as the last predictor was trained on.

    Returns
    -------
    Estimate
        Clipped to [0, 1]. The standard error is that of the line without the condition
        ``b >= 0``, from the binomial spread of the errors alone: it does not know how far the
        true curve is from such a line. Far outside the range of the steps it is large, and the
        estimate worth little.

    Raises
    ------
    MissingEvidenceError
        If predictors were not trained one after the other.
    ValueError
        If `n_fit` is not positive.

    Examples
    --------
    >>> from skbound.evidence import Evidence, LearningCurve
    >>> curve = LearningCurve(
    ...     n_fit=[100, 200], n_rows=[100, 100], n_errors=[20, 15], n_first=100, n_classes=2
    ... )
    >>> evidence = Evidence(
    ...     protocol="progressive", n_fit=200, majority_share=0.5, learning_curve=curve
    ... )
    >>> round(learning_curve_estimate(evidence, 400).value, 4)
    0.125
    """
    curve = evidence.learning_curve
    if curve is None:
        raise MissingEvidenceError(
            f"A learning curve needs predictors that were trained one after the other, but the "
            f"protocol {evidence.protocol!r} has trained none. Fit with protocol='progressive'."
        )
    n_fit = int(curve.n_fit[-1]) if n_fit is None else n_fit
    if not n_fit >= 1:
        raise ValueError(f"n_fit must be at least 1, got {n_fit!r}.")
    value, variance = _on_the_line(1.0 / curve.n_fit, curve.n_errors, curve.n_rows, 1.0 / n_fit)
    return Estimate(
        value=min(1.0, max(0.0, value)),
        standard_error=variance**0.5,
        method=(
            f"learning curve a + b / rows through the errors of {len(curve.n_fit)} predictors, "
            f"at {n_fit} rows"
        ),
        optimistic=evidence.n_candidates > 1,
    )


def _on_the_line(
    x: NDArray[np.float64], errors: NDArray[np.intp], rows: NDArray[np.intp], target: float
) -> tuple[float, float]:
    """Return the height of a line at `target`, and its variance."""
    n = rows.sum()
    mean, center = errors.sum() / n, float(rows @ x) / n
    # Half an error more and half a right answer more, so that no error does not mean no variance.
    smoothed = (errors.sum() + 0.5) / (n + 1.0)
    spread = float(rows @ (x - center) ** 2)
    if spread == 0.0:
        return float(mean), float(smoothed * (1.0 - smoothed) / n)
    slope = float((rows * (x - center)) @ (errors / rows)) / spread
    height = mean + max(0.0, slope) * (target - center)
    variance = smoothed * (1.0 - smoothed) * (1.0 / n + (target - center) ** 2 / spread)
    return float(height), float(variance)
