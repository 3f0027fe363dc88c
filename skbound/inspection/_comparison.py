"""Regularisers against none: differences with their intervals, and certificates."""

from __future__ import annotations

import numpy as np

__all__ = ["ComparisonDisplay"]


class ComparisonDisplay:
    """Differences from none with their intervals on the left, certificates on the right.

    Use `from_comparison` to make one.

    Parameters
    ----------
    names : list of str
        Regularisers, "none" first.
    differences : ndarray of shape (n_rows,)
        Errors minus that of none.
    intervals : ndarray of shape (n_rows, 2)
        Of the differences.
    certificates : ndarray of shape (n_rows,)
        Each at its own delta.
    errors : ndarray of shape (n_rows,)
        On the rows left out.
    measured : str, default="error"
        What the differences are of.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Both.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, names, differences, intervals, certificates, errors, measured="error"):
        self.names = names
        self.differences = differences
        self.intervals = intervals
        self.certificates = certificates
        self.errors = errors
        self.measured = measured

    @classmethod
    def from_comparison(cls, comparison, *, axes=None):
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
            From :func:`~skbound.compare_regularizers`.
        axes : sequence of two matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ComparisonDisplay
            Drawn.
        """
        rows = comparison.rows.values()
        return cls(
            list(comparison.rows),
            np.array([row.difference for row in rows]),
            np.array([row.interval for row in rows]),
            np.array([row.certificate.value for row in rows]),
            np.array([row.error for row in rows]),
            comparison.measured,
        ).plot(axes=axes)

    def plot(self, axes=None):
        """Draw.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ComparisonDisplay
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
        if axes is None:
            size = (8.5, 1.2 + 0.32 * len(self.names))
            _, axes = plt.subplots(1, 2, figsize=size, sharey=True, layout="constrained")
        left, right = axes
        places = np.arange(len(self.names))[::-1]
        reach = np.abs(self.intervals - self.differences[:, None]).T
        left.axvline(0.0, color="0.6", lw=1)
        left.errorbar(self.differences, places, xerr=reach, fmt="o", capsize=3)
        left.set(xlabel=f"{self.measured}, difference from none", yticks=places)
        left.set_yticklabels(self.names)
        right.scatter(self.errors, places, marker="o", label=self.measured)
        right.scatter(self.certificates, places, marker="|", s=120, label="certificate")
        right.set(xlabel=f"{self.measured} and certificate")
        right.legend(frameon=False)
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
