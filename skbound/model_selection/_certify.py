"""The certificate of a fitted estimator or of a search's winner, without refitting."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from skbound.model_selection._find import (
    certificate_of,
    find_certified,
    the_only_one,
    warn_of_steps,
)

__all__ = ["certify"]


def certify(estimator_or_search, bound=None, *, delta=None, n_candidates=None):
    """Return a certificate for what ``predict`` of a fitted estimator or search uses.

    For a search of scikit-learn with K candidates, the refits it could have ended with form a
    family of K, fixed before any certified row was read; so the winner's own certificate at level
    ``delta / K`` holds, whatever scores chose it.

    Parameters
    ----------
    estimator_or_search : estimator
        A fitted certified classifier, a pipeline around one, a BoundSearch, or a grid, randomised
        or halving search of scikit-learn with a refitted ``best_estimator_``.
    bound : str, Bound or None, default=None
        None takes the estimator's own. Choosing the smallest of several bounds afterwards is not
        paid for; ``"best"`` is.
    delta : float or None, default=None
        Level for the whole choice; None takes the estimator's own.
    n_candidates : int or None, default=None
        Number of candidates; None takes what searches have recorded (1 for a lone estimator).

    Returns
    -------
    Certificate
        Paid for the choice.

    Raises
    ------
    ValueError
        If there is nothing certified inside, the search has no ``best_estimator_`` or may have
        proposed candidates after looking at scores, or a wrapper changes the predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skbound import BoundedClassifier, certify
    >>> clf = BoundedClassifier(LogisticRegression(max_iter=5000), random_state=0)
    >>> clf = clf.fit(*load_breast_cancer(return_X_y=True))
    >>> certify(clf, delta=0.01).value > certify(clf).value
    True
    """
    check_is_fitted(estimator_or_search)
    found = the_only_one(find_certified(estimator_or_search))
    warn_of_steps(found.steps)
    return certificate_of(found, bound, delta, n_candidates)
