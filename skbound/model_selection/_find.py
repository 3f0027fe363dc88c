"""Find the certified estimator inside pipelines, searches and wrappers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Integral

from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from skbound.bounds import no_certificate, resolve_bound
from skbound.classifiers._certified import CertifiedMixin
from skbound.exceptions import SkboundWarning

__all__ = [
    "Found",
    "certificate_of",
    "find_certified",
    "steps_caveat",
    "the_only_one",
    "warn_of_steps",
]


@dataclass(frozen=True)
class Found:
    """A certified estimator and what stands between it and the caller.

    Parameters
    ----------
    estimator : CertifiedMixin
        Fitted.
    steps : tuple of str, default=()
        Preprocessing steps in front of it that were fitted on all rows.
    n_candidates : int, default=1
        Among how many it was chosen by searches around it.
    wrapper : str, default=""
        Name of a wrapper whose ``predict`` is not the estimator's, if there is one.
    obstacle : str, default=""
        Why nothing can be certified although there is evidence, if that is so.
    """

    estimator: CertifiedMixin
    steps: tuple[str, ...] = ()
    n_candidates: int = 1
    wrapper: str = ""
    obstacle: str = ""


def find_certified(estimator) -> list[Found]:
    """Return every certified estimator inside a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        Fitted.

    Returns
    -------
    list of Found
        Empty if there is none.
    """
    if isinstance(estimator, CertifiedMixin):
        return [Found(estimator)] if hasattr(estimator, "evidence_") else []
    # It passes attributes of what it holds on, so it must be opened first.
    if isinstance(estimator, FrozenEstimator):
        return find_certified(estimator.estimator)
    if isinstance(estimator, Pipeline):
        return _inside_pipeline(estimator)
    if hasattr(estimator, "cv_results_"):
        return _inside_search(estimator)
    name = type(estimator).__name__
    inside = [found for part in _parts(estimator) for found in find_certified(part)]
    return [replace(found, wrapper=found.wrapper or name) for found in inside]


def _inside_pipeline(pipeline) -> list[Found]:
    """Look at a pipeline's last step, and at what stands in front of it."""
    last = pipeline.steps[-1][1]
    inside = find_certified(last)
    in_front = [
        (name, step) for name, step in pipeline.steps[:-1] if step not in (None, "passthrough")
    ]
    why = ""
    supervised = [name for name, step in in_front if _learns_from_labels(step)]
    if supervised:
        why = (
            f"The pipeline steps {supervised} have learnt from the labels of certified rows, so no "
            f"bound holds. Use BoundedClassifier(pipeline), which fits them after the split; a "
            f"frozen step that has learnt from other rows is applied to the rows before fit."
        )
    elif in_front and isinstance(last, FrozenEstimator):
        why = (
            "The frozen last step was certified on rows that had not passed the steps in front of "
            "it. Use BoundedClassifier(pipeline) with the estimator unfrozen."
        )
    steps = tuple(name for name, step in in_front if get_tags(step).requires_fit)
    return [
        replace(found, steps=(*steps, *found.steps), obstacle=found.obstacle or why)
        for found in inside
    ]


def _learns_from_labels(step) -> bool:
    """Say whether a step, or one at any depth inside it, has seen the labels."""
    if isinstance(step, FrozenEstimator):
        return _learns_from_labels(step.estimator)
    inside = [
        part
        for name in ("steps", "transformer_list", "transformers_", "transformers")
        for entry in getattr(step, name, ())
        for part in entry
        if hasattr(part, "fit")
    ]
    if any(_learns_from_labels(part) for part in inside):
        return True
    # Selectors do not say that they need labels, since some score functions do without.
    selects = isinstance(step, SelectorMixin) and not isinstance(step, VarianceThreshold)
    if selects or get_tags(step).target_tags.required:
        return True
    # A user's own step may not say so, but it cannot be fitted without them.
    y = signature(step.fit).parameters.get("y") if hasattr(step, "fit") else None
    return y is not None and y.default is y.empty


def _inside_search(search) -> list[Found]:
    """Look into a search's winner, and at how it was chosen."""
    name = type(search).__name__
    if not hasattr(search, "best_estimator_"):
        raise ValueError(
            f"{name} has no best_estimator_ to certify. Search with refit=True (or the name of a "
            f"score)."
        )
    inside = find_certified(search.best_estimator_)
    if getattr(search, "records_its_choice", False):
        # The evidence of the winner knows the price of the choice, unless it was fitted again.
        return [
            found
            if found.estimator.evidence_ is search.evidence_
            else replace(found, n_candidates=search.n_candidates_ * found.n_candidates)
            for found in inside
        ]
    why = _why_not_payable(search)
    rounds = getattr(search, "n_candidates_", None)
    n_candidates = int(rounds[0]) if rounds else len(search.cv_results_["params"])
    return [
        replace(
            found,
            n_candidates=n_candidates * found.n_candidates,
            obstacle=found.obstacle or why,
        )
        for found in inside
    ]


def _why_not_payable(search) -> str:
    """Say why a search's choice cannot be paid for, if it cannot."""
    kind, name = type(search), type(search).__name__
    halving = kind.__module__.startswith("sklearn.") and name.startswith("Halving")
    if not halving and kind not in (GridSearchCV, RandomizedSearchCV):
        return (
            f"{name} may propose candidates after looking at scores; then no number of candidates "
            f"pays for the choice. If all candidates were fixed beforehand, use "
            f"certify(search.best_estimator_, n_candidates=...)."
        )
    names = {name for params in search.cv_results_["params"] for name in params}
    if any(name.split("__")[-1] == "delta" for name in names):
        return (
            "The grid holds delta, so the level was chosen with the data. Fix delta and search "
            "again."
        )
    return ""


def _parts(wrapper) -> list:
    """Return the fitted estimators that a wrapper of scikit-learn combines or adjusts."""
    if hasattr(wrapper, "calibrated_classifiers_"):
        return [part.estimator for part in wrapper.calibrated_classifiers_]
    for name in ("estimators_", "estimator_", "final_estimator_"):
        part = getattr(wrapper, name, None)
        if part is not None:
            return list(part) if isinstance(part, (list, tuple)) else [part]
    return []


def the_only_one(inside) -> Found:
    """Return the one certified estimator whose predictions the caller gets.

    Parameters
    ----------
    inside : list of Found
        From `find_certified`.

    Returns
    -------
    Found
        The only one.

    Raises
    ------
    ValueError
        If there is none, a wrapper changes its predictions, or something else stands in the way.
    """
    if not inside:
        raise ValueError(
            "There is no certificate inside. Use TransformerClassifier, or wrap the classifier in "
            "BoundedClassifier."
        )
    wrapper = inside[0].wrapper
    if wrapper:
        raise ValueError(
            f"{wrapper} does not predict what the certified estimator inside predicts, so the "
            f"bound says nothing about it. Put {wrapper} inside BoundedClassifier(...)."
        )
    if inside[0].obstacle:
        raise ValueError(inside[0].obstacle)
    return inside[0]


def warn_of_steps(steps, stacklevel=3) -> None:
    """Warn that fitted preprocessing is taken as given.

    Parameters
    ----------
    steps : tuple of str
        Names of the steps; nothing happens if there are none.
    stacklevel : int, default=3
        As for ``warnings.warn``.
    """
    if steps:
        warnings.warn(
            f"The pipeline steps {list(steps)} were fitted on all rows, certified rows included; "
            f"the certificate takes them as given. Use BoundedClassifier(pipeline), which fits "
            f"them after the split, or leave out scaling, which TransformerClassifier does inside.",
            SkboundWarning,
            stacklevel=stacklevel,
        )


def certificate_of(found: Found, bound=None, delta=None, n_candidates=None):
    """Compute a certificate of a fitted estimator, without refitting.

    Parameters
    ----------
    found : Found
        Estimator with its surroundings.
    bound : str, Bound or None, default=None
        None takes the estimator's own.
    delta : float or None, default=None
        None takes the estimator's own.
    n_candidates : int or None, default=None
        Among how many candidates the estimator was chosen; None takes what the searches around it
        have recorded.

    Returns
    -------
    Certificate
        At level delta for the whole choice.

    Raises
    ------
    ValueError
        If a parameter is out of range, or fewer candidates are claimed than were recorded.
    """
    estimator = found.estimator
    evidence = estimator.evidence_
    recorded = evidence.n_candidates * found.n_candidates
    if n_candidates is not None and not isinstance(n_candidates, Integral):
        raise ValueError(f"n_candidates must be an integer, got {n_candidates!r}.")
    if n_candidates is not None and n_candidates < recorded:
        raise ValueError(
            f"n_candidates must be at least the {recorded} that the search recorded, got "
            f"{n_candidates}."
        )
    total = n_candidates or recorded
    share = evidence.share
    if share is not None:
        # What further choices leave of it.
        share *= evidence.n_candidates / total
    evidence = replace(evidence, n_candidates=total, share=share, caveats=steps_caveat(found.steps))
    delta = estimator.certificate_.delta if delta is None else delta
    if not isinstance(delta, float | int) or not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie in (0, 1), got {delta!r}.")
    chosen = resolve_bound(estimator._bound if bound is None else bound, evidence)
    if evidence.n_certified == 0:
        return no_certificate(evidence, delta)
    return chosen(evidence, delta)


def steps_caveat(steps) -> tuple[str, ...]:
    """Say in words that fitted preprocessing was taken as given.

    Parameters
    ----------
    steps : tuple of str
        Names of the steps.

    Returns
    -------
    tuple of str
        One sentence, or nothing if there are no such steps.
    """
    if not steps:
        return ()
    return (
        f"The pipeline steps {list(steps)} in front of the classifier were fitted on all rows, "
        f"certified rows included; they are taken as given and not certified.",
    )
