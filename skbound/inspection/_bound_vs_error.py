"""Bounds of a search's candidates against their errors on other rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

__all__ = ["BoundVsErrorDisplay"]


class BoundVsErrorDisplay:
    """Bound against error on rows that no candidate saw, one point per candidate.

    Use `from_search` to make one.

    Parameters
    ----------
    bounds : ndarray of shape (n_candidates,)
        Certificates, each at its share of delta; NaN for a failed candidate.
    errors : ndarray of shape (n_candidates,)
        Share of wrong predictions on the other rows; NaN for a failed candidate.
    best_index : int
        Position of the chosen candidate.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    points_ : matplotlib PathCollection
        All candidates.
    chosen_ : matplotlib PathCollection
        The chosen one.
    line_ : matplotlib Line2D
        Where bound and error are equal.
    """

    def __init__(self, bounds, errors, best_index):
        self.bounds = bounds
        self.errors = errors
        self.best_index = best_index

    @classmethod
    def from_search(cls, search, X, y, *, ax=None):
        """Evaluate a search's candidates on other rows, and draw.

        The errors computed here are for looking at: a candidate chosen by them is not covered by
        the certificate.

        Parameters
        ----------
        search : BoundSearch
            Fitted with ``choose_by="bound", return_estimators=True``.
        X, y : array-like
            Rows that were not given to the search.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        BoundVsErrorDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the search did not keep its candidates.
        """
        check_is_fitted(search)
        if not hasattr(search, "estimators_"):
            raise ValueError(
                "The search must keep its candidates, but it kept only the best. Fit it again "
                "with BoundSearch(choose_by='bound', return_estimators=True)."
            )
        errors = [
            np.nan if model is None else 1.0 - accuracy_score(y, model.predict(X))
            for model in search.estimators_
        ]
        return cls(search.cv_results_["bound"], np.array(errors), search.best_index_).plot(ax=ax)

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        BoundVsErrorDisplay
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
        fine = np.isfinite(self.bounds) & np.isfinite(self.errors)
        tau = (
            kendalltau(self.bounds[fine], self.errors[fine]).statistic if fine.sum() > 1 else np.nan
        )
        self.points_ = ax.scatter(
            self.errors[fine], self.bounds[fine], s=28, alpha=0.75, label="candidates"
        )
        self.chosen_ = ax.scatter(
            self.errors[self.best_index], self.bounds[self.best_index], s=140, marker="*",
            color="tab:red", zorder=3, label="chosen by its bound",
        )  # fmt: skip
        top = float(np.nanmax([*self.bounds[fine], *self.errors[fine]])) * 1.05
        (self.line_,) = ax.plot([0, top], [0, top], color="0.6", lw=1, label="bound = error")
        ax.set(
            xlim=(0, top), ylim=(0, top), xlabel="error on untouched rows",
            ylabel="certificate, paid for the choice",
            title=f"{fine.sum()} candidates: Kendall's tau of bound and error {tau:.2f}",
        )  # fmt: skip
        ax.legend(frameon=False, loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self
