"""Find the certified estimator inside pipelines, searches and wrappers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from skbound.bounds import no_certificate
from skbound.classifiers._certified import CertifiedMixin, resolve_bound
from skbound.exceptions import SkboundWarning

__all__ = [
    "Found",
    "certificate_of",
    "find_certified",
    "refuse_wrapper",
    "steps_assumption",
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
    """

    estimator: CertifiedMixin
    steps: tuple[str, ...] = ()
    n_candidates: int = 1
    wrapper: str = ""


def _fitted_steps(pipeline):
    """Return the names of the steps before the last that learnt something from the rows.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted or not.

    Returns
    -------
    tuple of str
        Names.
    """
    return tuple(
        name
        for name, step in pipeline.steps[:-1]
        if step not in (None, "passthrough") and get_tags(step).requires_fit
    )


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
    if isinstance(estimator, Pipeline):
        steps = _fitted_steps(estimator)
        inside = find_certified(estimator.steps[-1][1])
        return [replace(found, steps=(*steps, *found.steps)) for found in inside]
    if hasattr(estimator, "best_estimator_"):
        factor = 1 if _records_its_choice(estimator) else _n_candidates(estimator)
        inside = find_certified(estimator.best_estimator_)
        return [replace(found, n_candidates=factor * found.n_candidates) for found in inside]
    if type(estimator).__name__ == "FrozenEstimator":
        return find_certified(estimator.estimator)
    name = type(estimator).__name__
    inside = [found for part in _parts(estimator) for found in find_certified(part)]
    return [replace(found, wrapper=found.wrapper or name) for found in inside]


def _records_its_choice(search) -> bool:
    """Whether the search has written its candidates into the evidence of the winner."""
    from skbound.model_selection._search import BoundSearch

    return isinstance(search, BoundSearch)


def _n_candidates(search) -> int:
    """Return the number of candidates of a scikit-learn search."""
    rounds = getattr(search, "n_candidates_", None)
    return int(rounds[0]) if rounds else len(search.cv_results_["params"])


def _parts(wrapper) -> list:
    """Return the fitted estimators that a wrapper of scikit-learn combines or adjusts."""
    if hasattr(wrapper, "calibrated_classifiers_"):
        return [part.estimator for part in wrapper.calibrated_classifiers_]
    for name in ("estimators_", "estimator_", "final_estimator_"):
        part = getattr(wrapper, name, None)
        if part is not None:
            return list(part) if isinstance(part, (list, tuple)) else [part]
    return []


def refuse_wrapper(inside) -> Found:
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
        If there is none, or a wrapper changes its predictions.
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
    if n_candidates is not None and n_candidates < recorded:
        raise ValueError(
            f"n_candidates must be at least the {recorded} that the search recorded, got "
            f"{n_candidates}."
        )
    assumptions = evidence.assumptions
    if found.steps:
        assumptions += (steps_assumption(found.steps),)
    evidence = replace(evidence, n_candidates=n_candidates or recorded, assumptions=assumptions)
    delta = estimator.delta if delta is None else delta
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie in (0, 1), got {delta!r}.")
    chosen = resolve_bound(estimator.bound if bound is None else bound)
    if evidence.certified is None:
        return no_certificate(evidence, delta)
    return chosen(evidence, delta)


def steps_assumption(steps) -> str:
    """Say in words that fitted preprocessing was taken as given.

    Parameters
    ----------
    steps : tuple of str
        Names of the steps.

    Returns
    -------
    str
        One sentence.
    """
    return (
        f"The pipeline steps {list(steps)} in front of the classifier were fitted on all rows, "
        f"certified rows included; they are taken as given and not certified."
    )
