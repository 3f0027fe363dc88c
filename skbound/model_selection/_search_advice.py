"""Try what the diagnostics of a first fit suggest, on the training side."""

from __future__ import annotations

from sklearn.pipeline import Pipeline

from skbound._random_state import draw_seed
from skbound.exceptions import MissingEvidenceError
from skbound.model_selection._candidates import prepare_candidate
from skbound.model_selection._ranking import certified_end, ranking_candidate
from skbound.model_selection._search import BoundSearch

__all__ = ["search_advice"]


def search_advice(estimator, X, y, *, n_jobs=None, random_state=None, verbose=0):
    """Regularise automatically: fit once, try what the diagnostics suggest, certify the winner.

    The first fit, its diagnostics and the search that follows see rows of the training side only.
    The candidates are the estimator as it is and, one by one, what
    :meth:`~skbound.inspection.Diagnostics.suggest_interventions` suggests.

    Parameters
    ----------
    estimator : TransformerClassifier or pipeline that ends with one
        Its protocol must split the rows once, as a hold-out does.
    X : array-like
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    n_jobs : int or None, default=None
        Candidates fitted side by side.
    random_state : int, RandomState instance or None, default=None
        Of the split and the fits.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    BoundSearch
        Fitted; ``advice_`` holds the suggestions, in the order of the candidates after the first.

    Raises
    ------
    MissingEvidenceError
        If the estimator does not end with a TransformerClassifier.
    ValueError
        If the protocol does not split the rows once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbound import TransformerClassifier
    >>> from skbound.model_selection import search_advice
    >>> clf = TransformerClassifier(depth=1, width=8, n_heads=2, max_epochs=2)
    >>> search = search_advice(clf, *load_iris(return_X_y=True), random_state=0)
    >>> search.n_candidates_ == 1 + len(search.advice_)
    True
    """
    seed = draw_seed(random_state)
    # The seed that the search below will draw from its own, so that both split the rows alike.
    first = prepare_candidate(estimator, {}, delta=None, seed=draw_seed(seed))
    first = ranking_candidate(first)
    end = certified_end(first)
    if not hasattr(type(end), "diagnostics_"):
        raise MissingEvidenceError(
            f"Advice comes from the diagnostics of a net, and {type(end).__name__} has none. Use a "
            f"TransformerClassifier, or BoundSearch with a grid of your own."
        )
    first.fit(X, y)
    advice = [s for s in end.diagnostics_.suggest_interventions() if s.params]
    prefix = _prefix(estimator)
    grid: list[dict[str, list[object]]] = [{}]
    for suggestion in advice:
        grid.append({f"{prefix}{name}": [value] for name, value in suggestion.params.items()})
    search = BoundSearch(
        estimator, grid, choose_by="training_side", n_jobs=n_jobs, random_state=seed,
        verbose=verbose,
    )  # fmt: skip
    search.fit(X, y)
    search.advice_ = advice
    return search


def _prefix(estimator) -> str:
    """Return what parameters of the last step of a pipeline begin with."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return prefix
