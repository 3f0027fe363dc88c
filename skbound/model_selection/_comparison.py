"""What a comparison of regularisers found: a table, sentences, the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from skbound.bounds import Certificate
from skbound.bounds._certificate import rounded_up
from skbound.model_selection._find import (
    find_certified,
    steps_caveat,
    the_only_one,
    warn_of_steps,
)

__all__ = ["Compared", "Comparison", "corrected_interval"]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One regulariser against none.

    Parameters
    ----------
    params : dict
        What it sets.
    certificate : Certificate
        Of the fit on all rows, on its own at level delta.
    error, training_error : float
        Means over the splits, on the rows left out and on those trained on; scores, if a scoring
        was given.
    difference : float
        Mean of `error` minus that of none, paired; 0 for none itself.
    interval : tuple of float
        Of the difference, corrected for overlapping training parts and for the number of rows.
    seconds : float
        Time of the fit on all rows.
    measures : dict of str to float
        Of the fit on all rows, where the estimator has ``measures_``.
    """

    params: dict[str, Any]
    certificate: Certificate
    error: float
    training_error: float
    difference: float
    interval: tuple[float, float]
    seconds: float
    measures: dict[str, float]

    @property
    def gap(self) -> float:
        """Error on the rows left out minus that on those trained on."""
        return self.error - self.training_error


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Regularisers side by side.

    Parameters
    ----------
    rows : dict of str to Compared
        By name, "none" first.
    level : float
        Of all intervals at once.
    n_splits : int
        Splits that the errors are means over.
    measured : str
        "error", or the scoring that was asked for.
    best_ : str
        Name with the smallest certificate.
    best_estimator_ : estimator
        Its fit on all rows.
    best_certificate_ : Certificate
        Its certificate, paid for the choice among all rows.
    """

    rows: dict[str, Compared]
    level: float
    n_splits: int
    measured: str
    best_: str
    best_estimator_: Any
    best_certificate_: Certificate

    @classmethod
    def of(cls, fits, errors, *, named, level, test_share, measured) -> Comparison:
        """Put the results of all fits together.

        Parameters
        ----------
        fits : dict of str to Outcome
            Of the fits on all rows.
        errors : ndarray of shape (n_splits, n_rows, 2)
            On the rows left out and on those trained on.
        named : dict of str to dict
            Parameters by name.
        level : float
            Of all intervals at once.
        test_share : float
            Rows left out per row trained on.
        measured : str
            What `errors` are.

        Returns
        -------
        Comparison
            With the best one paid for.
        """
        own_level = 1.0 - (1.0 - level) / max(1, len(fits) - 1)
        rows = {}
        for number, (name, outcome) in enumerate(fits.items()):
            differences = errors[:, number, 0] - errors[:, 0, 0]
            rows[name] = Compared(
                params=dict(named[name]),
                certificate=_certified(outcome).estimator.certificate_,
                error=float(errors[:, number, 0].mean()),
                training_error=float(errors[:, number, 1].mean()),
                difference=float(differences.mean()),
                interval=corrected_interval(differences, test_share, own_level),
                seconds=outcome.seconds,
                measures=_measures(_certified(outcome).estimator),
            )
        best = min(rows, key=lambda name: rows[name].certificate.value)
        found = _certified(fits[best])
        found.estimator._pay_for_choice(len(rows), steps_caveat(found.steps))
        warn_of_steps(found.steps, stacklevel=4)
        return cls(
            rows=rows,
            level=level,
            n_splits=len(errors),
            measured=measured,
            best_=best,
            best_estimator_=fits[best].estimator,
            best_certificate_=found.estimator.certificate_,
        )

    def to_frame(self) -> Any:
        """Return a table with one row per regulariser.

        Returns
        -------
        pandas.DataFrame
            Indexed by name.
        """
        import pandas as pd  # type: ignore[import-untyped]

        table = {
            name: {
                "certificate": row.certificate.value,
                self.measured: row.error,
                "gap": row.gap,
                "difference": row.difference,
                "lower": row.interval[0],
                "upper": row.interval[1],
                "seconds": row.seconds,
                **row.measures,
            }
            for name, row in self.rows.items()
        }
        return pd.DataFrame.from_dict(table, orient="index").rename_axis("regularizer")

    def sentences(self) -> dict[str, str]:
        """Say for each regulariser what was found.

        Returns
        -------
        dict of str to str
            One sentence per regulariser.
        """
        return {name: self._sentence(name, row) for name, row in self.rows.items()}

    def _sentence(self, name: str, row: Compared) -> str:
        figures = (
            f"{self.measured} {row.error:.4f}, certificate {rounded_up(row.certificate.value)}"
        )
        if name == "none":
            return f"none: {figures}."
        low, high = row.interval
        interval = (
            f"{row.difference:+.4f} against none, between {low:+.4f} and {high:+.4f} "
            f"({self.level:.0%} for all rows together, {self.n_splits} splits)"
        )
        smaller_is_better = self.measured == "error"
        if low <= 0.0 <= high:
            verdict = "no difference can be told"
        elif (high < 0.0) == smaller_is_better:
            verdict = "it helps"
        else:
            verdict = "it hurts"
        return f"{name}: {verdict}; {figures}, {interval}."


def corrected_interval(
    differences: NDArray[np.float64], test_share: float, level: float
) -> tuple[float, float]:
    """Return the interval of the corrected resampled t-test.

    Parameters
    ----------
    differences : ndarray of shape (n_splits,)
        Paired.
    test_share : float
        Rows left out per row trained on.
    level : float
        In (0, 1).

    Returns
    -------
    low, high : float
        Around the mean, after Nadeau and Bengio (2003).
    """
    n = len(differences)
    width = np.sqrt((1.0 / n + test_share) * differences.var(ddof=1))
    half = student_t.ppf(0.5 + level / 2.0, n - 1) * width
    mean = differences.mean()
    return float(mean - half), float(mean + half)


def _certified(outcome):
    return the_only_one(find_certified(outcome.estimator))


def _measures(estimator) -> dict[str, float]:
    """Return what the fit measured of its net, where it has one."""
    found = getattr(estimator, "measures_", {})
    return {name: float(measure) for name, measure in found.items()}
