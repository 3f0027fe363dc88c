"""How fast a measured quantity grows, and how fast expressions say that it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import linregress, t

__all__ = ["Exponent", "GrowthComparison", "GrowthDisplay", "compare_growth"]


class Exponent(NamedTuple):
    """Power of the size, by least squares on logarithms, and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class GrowthComparison:
    """Growth of one quantity with a size, and of expressions for it.

    Parameters
    ----------
    sizes : ndarray of shape (n_values,)
        Depths, widths or the like; one may occur several times.
    measured : ndarray of shape (n_values,)
        The quantity.
    predicted : dict of str to ndarray of shape (n_values,)
        The expressions, by name.
    level : float
        Of the intervals.
    exponent : Exponent
        Of the quantity: it grows like this power of the size.
    exponents : dict of str to Exponent
        Of the expressions.
    off_by : dict of str to Exponent
        Of each expression over the quantity: by how much its exponent is too large. Where both are
        of the same nets, what they share does not widen the interval.
    """

    sizes: NDArray[np.float64]
    measured: NDArray[np.float64]
    predicted: dict[str, NDArray[np.float64]]
    level: float
    exponent: Exponent
    exponents: dict[str, Exponent]
    off_by: dict[str, Exponent]

    @property
    def closest(self) -> str:
        """The expression whose exponent is the least off."""
        return min(self.off_by, key=lambda name: abs(self.off_by[name].value))

    def to_frame(self) -> Any:
        """Return a table of exponents, the measured one first.

        Returns
        -------
        pandas.DataFrame
            With columns exponent, low, high, off_by, off_low and off_high, indexed by expression;
            the last three are NaN for "measured".
        """
        import pandas as pd  # type: ignore[import-untyped]

        rows = {"measured": (*self.exponent, *[np.nan] * 3)}
        rows |= {name: (*self.exponents[name], *self.off_by[name]) for name in self.predicted}
        columns = ["exponent", "low", "high", "off_by", "off_low", "off_high"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return frame.rename_axis("expression")


def compare_growth(
    sizes: ArrayLike,
    measured: ArrayLike,
    predicted: Mapping[str, ArrayLike],
    *,
    level: float = 0.95,
) -> GrowthComparison:
    """Fit powers of a size to a quantity and to expressions for it, and compare the exponents.

    An exponent is the slope of the least-squares line through the logarithms. Constant factors do
    not matter.

    Parameters
    ----------
    sizes : array-like of shape (n_values,)
        Positive; at least three values, two of them different. Repeat a size for each fit.
    measured : array-like of shape (n_values,)
        The quantity at each, positive.
    predicted : mapping of str to array-like of shape (n_values,)
        Expressions at the same places, positive: of the size alone, or evaluated on the same nets.
    level : float, default=0.95
        Of the intervals, in (0, 1).

    Returns
    -------
    GrowthComparison
        Exponents, intervals and how far off each expression is.

    Raises
    ------
    ValueError
        If a number is not positive and finite, the lengths differ, or no line can be fitted.

    See Also
    --------
    GrowthDisplay : The picture.

    Notes
    -----
    The intervals are Student's for a straight line with independent errors. Growth that is no power
    counts as error: it widens them, and the exponent is then one between the sizes at hand. They
    are descriptions, no certificates.

    Examples
    --------
    >>> from skbound.inspection import compare_growth
    >>> found = compare_growth(
    ...     [1, 2, 4, 8],
    ...     [0.10, 0.15, 0.23, 0.31],
    ...     {"depth": [1, 2, 4, 8], "its root": [1, 1.41, 2, 2.83]},
    ... )
    >>> found.closest
    'its root'
    >>> found.to_frame().loc[["depth", "its root"], ["exponent", "off_by", "off_low"]].round(2)
                exponent  off_by  off_low
    expression
    depth            1.0    0.45     0.32
    its root         0.5   -0.05    -0.18
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")
    if not predicted:
        raise ValueError("predicted must hold at least one expression, got none.")
    x = _positive("sizes", sizes)
    if len(x) < 3 or len(np.unique(x)) < 2:
        raise ValueError(
            f"sizes must be at least three values, two of them different, got {x.tolist()}: an "
            f"interval for a slope needs them."
        )
    y = _positive("measured", measured, len(x))
    values = {name: _positive(f"predicted[{name!r}]", p, len(x)) for name, p in predicted.items()}
    log_x, log_y = np.log(x), np.log(y)
    return GrowthComparison(
        sizes=x,
        measured=y,
        predicted=values,
        level=level,
        exponent=_slope(log_x, log_y, level),
        exponents={name: _slope(log_x, np.log(p), level) for name, p in values.items()},
        # The slope of a difference is the difference of the slopes, and pairs the errors.
        off_by={name: _slope(log_x, np.log(p) - log_y, level) for name, p in values.items()},
    )


def _positive(name: str, values: ArrayLike, length: int | None = None) -> NDArray[np.float64]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or length not in (None, len(numbers)):
        wanted = "one row of numbers" if length is None else f"{length} numbers, one per size"
        raise ValueError(f"{name} must be {wanted}, got the shape {numbers.shape}.")
    if not (np.isfinite(numbers) & (numbers > 0.0)).all():
        raise ValueError(
            f"{name} must be positive and finite, got {numbers.tolist()}: exponents are slopes of "
            f"logarithms. Leave out the values at which it is not."
        )
    return numbers


def _slope(x: NDArray[np.float64], y: NDArray[np.float64], level: float) -> Exponent:
    line = linregress(x, y)
    reach = t.ppf(0.5 + level / 2.0, len(x) - 2) * line.stderr
    return Exponent(float(line.slope), float(line.slope - reach), float(line.slope + reach))


class GrowthDisplay:
    """Measured values and their power law, and the expressions' through the same middle.

    Use `from_comparison` to make one. Both axes are logarithmic. Each expression is scaled so that
    it agrees with the measured values in the mean of the logarithms: only growth is compared.

    Parameters
    ----------
    comparison : GrowthComparison
        From :func:`compare_growth`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    points_ : matplotlib PathCollection
        Measured.
    lines_ : dict of str to matplotlib Line2D
        Power laws by name, "measured" among them.
    """

    def __init__(self, comparison):
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison, *, size_name="size", measured_name="measured", ax=None):
        """Draw a comparison.

        Parameters
        ----------
        comparison : GrowthComparison
            From :func:`compare_growth`.
        size_name, measured_name : str, default="size" and "measured"
            Labels of the axes.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        GrowthDisplay
            Drawn.
        """
        return cls(comparison).plot(size_name=size_name, measured_name=measured_name, ax=ax)

    def plot(self, *, size_name="size", measured_name="measured", ax=None):
        """Draw.

        Parameters
        ----------
        size_name, measured_name : str, default="size" and "measured"
            Labels of the axes.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        GrowthDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise ImportError("Pictures need matplotlib: pip install 'skbound[plot]'.") from error
        if ax is None:
            _, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
        found = self.comparison
        places = np.unique(found.sizes)
        middle_x = np.exp(np.log(found.sizes).mean())
        middle_y = np.exp(np.log(found.measured).mean())
        self.points_ = ax.scatter(found.sizes, found.measured, s=18, color="k", alpha=0.6, zorder=3)
        self.lines_ = {}
        for name, exponent in {"measured": found.exponent, **found.exponents}.items():
            style = {"color": "k", "lw": 2} if name == "measured" else {"lw": 1.2, "ls": "--"}
            (self.lines_[name],) = ax.plot(
                places, middle_y * (places / middle_x) ** exponent.value,
                label=f"{name}: {exponent.value:+.2f}", **style,
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel=size_name, ylabel=measured_name)
        ax.set_xticks(places, [f"{place:g}" for place in places])
        ax.minorticks_off()
        ax.legend(frameon=False, title="exponent", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
