"""Compare regularisers with none, on the same splits and seeds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed
from tqdm import tqdm

from skbound._inputs import check_labels, from_torch, weight_keyword
from skbound._random_state import draw_seed, seed_unset
from skbound.model_selection._candidates import fit_candidate, prepare_candidate
from skbound.model_selection._comparison import Comparison
from skbound.model_selection._ranking import certified_end

__all__ = ["compare_regularizers"]

# What "none" stands for, where the comparison is of regularisers that are known here.
NOTHING = {
    "weight_decay": 0.0,
    "dropout": 0.0,
    "label_smoothing": 0.0,
    "early_stopping": False,
    "regularizers": (),
}
KNOWN = {
    "weight decay": {"weight_decay": 0.1},
    "dropout": {"dropout": 0.2},
    "label smoothing": {"label_smoothing": 0.1},
    "early stopping": {"early_stopping": True},
}


def compare_regularizers(
    estimator,
    X,
    y,
    regularizers=None,
    *,
    cv=None,
    scoring=None,
    delta=None,
    level=0.95,
    sample_weight=None,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Compare regularisers with none: certificates, errors, gaps and their differences.

    Each regulariser is fitted once on all rows, as `estimator` is, which gives its certificate, and
    once on the training rows of each split of `cv`, where all of them are trained on. All share
    the splits and, per split, the seed, so differences are paired.

    Parameters
    ----------
    estimator : classifier
        TransformerClassifier, BoundedClassifier, or a pipeline that ends with one.
    X : array-like
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    regularizers : dict of str to dict or None, default=None
        For each name the parameters that it sets. The entry "none", by default without parameters,
        is what the others are compared with. None takes what TransformerClassifier has parameters
        for: weight decay, dropout, label smoothing, early stopping; "none" then has none of them.
    cv : int, splitter, iterable or None, default=None
        Splits for the errors; None takes 5 folds, twice.
    scoring : str, callable or None, default=None
        What is compared; None takes the error, one minus the accuracy, which is to be small. A
        score of scikit-learn is compared as it is, and is to be large.
    delta : float or None, default=None
        Level of each certificate, and of that of the best for the whole choice; None takes the
        estimator's own.
    level : float, default=0.95
        Of the intervals, for all differences at once.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Passed to every fit.
    n_jobs : int or None, default=None
        Fits side by side, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Of the splits, the certified rows and the seeds.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Comparison
        One row per regulariser: ``to_frame()``, ``sentences()``, ``best_``.

    Raises
    ------
    ValueError
        If a parameter is unknown, or a fit fails.

    Notes
    -----
    The intervals are those of the corrected resampled t-test of Nadeau and Bengio (2003): the
    variance over J splits is multiplied by ``1 / J + n_test / n_train``, because training parts
    overlap. For R differences each is at the level ``1 - (1 - level) / R``.

    Each row's certificate holds on its own at level `delta`. Whoever takes the best of them looks
    at all, so ``best_certificate_`` is that of the smallest, at ``delta / R``, "none" included.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbound import BoundedClassifier, compare_regularizers
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> pruned = {"pruned": {"estimator__ccp_alpha": 0.01}, "stump": {"estimator__max_depth": 1}}
    >>> tree = BoundedClassifier(DecisionTreeClassifier())
    >>> comparison = compare_regularizers(tree, X, y, pruned, random_state=0)
    >>> list(comparison.rows)
    ['none', 'pruned', 'stump']
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie in (0, 1), got {level!r}.")
    X, y = from_torch(X, "X"), check_labels(y)
    named = _named(regularizers)
    seed = draw_seed(random_state)
    candidates = {
        name: prepare_candidate(estimator, params, delta=delta, seed=seed)
        for name, params in named.items()
    }
    splits = _splits(cv, X, y, seed)
    scorer = None if scoring is None else check_scoring(estimator, scoring)
    tasks = [delayed(_certified)(c, X, y, sample_weight) for c in candidates.values()]
    tasks += [
        delayed(_errors)(c, X, y, sample_weight, scorer, rows, seed + 1 + number)
        for number, rows in enumerate(splits)
        for c in candidates.values()
    ]
    found = _run(tasks, n_jobs, verbose)
    n_rows = len(named)
    fits, errors = found[:n_rows], np.array(found[n_rows:]).reshape(len(splits), n_rows, 2)
    share = float(np.mean([len(test) / len(train) for train, test in splits]))
    return Comparison.of(
        dict(zip(named, fits, strict=True)),
        errors,
        named=named,
        level=level,
        test_share=share,
        measured="error" if scoring is None else str(scoring),
    )


def _named(regularizers):
    """Return names and parameters, "none" first."""
    if regularizers is None:
        return {"none": NOTHING, **{name: {**NOTHING, **own} for name, own in KNOWN.items()}}
    if not isinstance(regularizers, Mapping) or not regularizers:
        raise ValueError(
            f"regularizers must be a dict of names and parameters, such as "
            f"{{'dropout': {{'dropout': 0.2}}}}, got {regularizers!r}."
        )
    for name, params in regularizers.items():
        if not isinstance(params, Mapping):
            raise ValueError(
                f"regularizers[{name!r}] must be a dict of parameters, got {params!r}."
            )
    return {"none": regularizers.get("none", {}), **regularizers}


def _splits(cv, X, y, seed):
    if cv is None:
        cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=seed)
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    if len(splits) < 2:
        raise ValueError(f"cv must give at least two splits, got {len(splits)}.")
    return splits


def _certified(candidate, X, y, weights):
    """Fit on all rows, as the estimator would."""
    outcome = fit_candidate(clone(candidate), X, y, weights)
    if outcome.failure is not None:
        raise outcome.failure
    return outcome


def _errors(candidate, X, y, weights, scorer, rows, seed):
    """Return the errors, or scores, on the rows left out and on those trained on."""
    train, test = rows
    candidate = clone(candidate)
    certified_end(candidate).set_params(protocol=None, bound="auto")
    candidate = seed_unset(candidate, seed, every=True)
    X_train, X_test = (_take(X, part) for part in (train, test))
    keywords = {} if weights is None else weight_keyword(candidate, np.asarray(weights)[train])
    candidate.fit(X_train, y[train], **keywords)
    if scorer is not None:
        return scorer(candidate, X_test, y[test]), scorer(candidate, X_train, y[train])
    return tuple(
        float(np.mean(candidate.predict(part) != labels))
        for part, labels in ((X_test, y[test]), (X_train, y[train]))
    )


def _take(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _run(tasks, n_jobs, verbose):
    """Return the results in their order, with a progress bar."""
    try:
        results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    except ValueError:
        results = Parallel(n_jobs=n_jobs)(tasks)
    return list(tqdm(results, total=len(tasks), desc="fits", disable=not verbose))
