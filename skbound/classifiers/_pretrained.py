"""Training that starts from the weights of an earlier fit."""

from __future__ import annotations

from collections import Counter

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skbound.architectures import resolve_architecture
from skbound.protocols._mixture import canonical_rows
from skbound.tokenizers import resolve_tokenizer

__all__ = [
    "STARTED_EARLIER",
    "check_init_from",
    "check_not_seen",
    "copy_weights",
    "fitted_start",
]

# Of the rows that a fit keeps, as many may meet certified ones by chance, beside equal rows.
_BY_CHANCE = 3

STARTED_EARLIER = (
    "Training started from a net that was fitted before, with its scaling of the rows, and none of "
    "the certified rows had any part in that fit."
)
_SAME = ("depth", "width", "n_heads", "pooling")


def fitted_start(init_from):
    """Return the fitted classifier that training starts from.

    Parameters
    ----------
    init_from : TransformerClassifier, FrozenEstimator or None
        From the user.

    Returns
    -------
    TransformerClassifier or None
        Without the frozen estimator around it.
    """
    return init_from.estimator if isinstance(init_from, FrozenEstimator) else init_from


def check_init_from(params, X):
    """Refuse a start that is not fitted, does not fit, or is known to have seen rows of X.

    Parameters
    ----------
    params : TransformerClassifier
        Whose ``init_from`` is looked at.
    X : ndarray of shape (n_samples, ...)
        Validated rows.

    Raises
    ------
    TypeError
        If it is no TransformerClassifier.
    ValueError
        If it is not fitted, has another shape, or kept rows that are in `X`.
    """
    earlier = fitted_start(params.init_from)
    if earlier is None:
        return
    if not isinstance(earlier, type(params)):
        raise TypeError(
            f"init_from must be a fitted TransformerClassifier, or a FrozenEstimator of one, got "
            f"{params.init_from!r}."
        )
    if vars(earlier).get("net_") is None:
        raise ValueError(
            "init_from must be fitted, on at least two classes, but it has no net. clone() and "
            "searches undo a fit: pass sklearn.frozen.FrozenEstimator(fitted)."
        )
    ours = {name: getattr(params, name) for name in _SAME} | _parts(params)
    theirs = {name: getattr(earlier, name) for name in _SAME} | _parts(earlier)
    shape = (getattr(earlier, "n_tokens_in_", None), earlier.n_features_in_)
    ours["shape of a row"] = X.shape[1:]
    theirs["shape of a row"] = shape[1:] if shape[0] is None else shape
    if params.tokenizer != "auto":
        chosen = resolve_tokenizer(params.tokenizer, X.ndim)
        ours["tokenizer"], theirs["tokenizer"] = repr(chosen), repr(clone(earlier.tokenizer_))
    differ = [name for name in ours if ours[name] != theirs[name]]
    if differ:
        raise ValueError(
            f"init_from must have the same shape, but {differ[0]} is {theirs[differ[0]]} there and "
            f"{ours[differ[0]]} here. Set the parameters of this classifier to those of init_from."
        )
    calls = vars(earlier).get("_calls")
    if calls is not None and params.protocol is not None:
        known = {row.tobytes() for row in canonical_rows(calls.X)}
        n_known = sum(row.tobytes() in known for row in canonical_rows(X))
        if n_known:
            raise ValueError(
                f"{n_known} of {len(X)} rows were trained on by init_from already, so they cannot "
                f"be certified. Leave them out, or use protocol=None."
            )


def check_not_seen(params, X, certified):
    """Refuse to certify on rows that an earlier fit was trained on, as far as it has kept them.

    Parameters
    ----------
    params : TransformerClassifier
        Whose ``init_from`` is looked at, and that one's own.
    X : ndarray of shape (n_samples, ...)
        Validated rows.
    certified : ndarray of int
        Which of them may be certified.

    Raises
    ------
    ValueError
        If more of the kept rows are among the certified ones than of other rows, which may equal
        certified ones where there are few different rows.
    """
    earlier = fitted_start(params.init_from)
    if earlier is None:
        return
    rows = [row.tobytes() for row in canonical_rows(X)]
    times = Counter(rows[place] for place in certified)
    others = np.setdiff1d(np.arange(len(rows)), certified)
    # Where all rows are certified, a row equals another one if it is there twice.
    equal = [times[rows[i]] > 0 for i in others] if len(others) else [times[r] > 1 for r in rows]
    natural = float(np.mean(equal))
    while earlier is not None and vars(earlier).get("_few_rows") is not None:
        kept = canonical_rows(earlier._few_rows[0])
        n_seen = sum(times[row.tobytes()] > 0 for row in kept)
        spread = 3.0 * np.sqrt(len(kept) * natural * (1.0 - natural))
        if n_seen > len(kept) * natural + spread + _BY_CHANCE:
            raise ValueError(
                f"init_from must not have seen the rows that are certified, but {n_seen} of "
                f"{len(kept)} rows that it was trained on and has kept are among them. Leave out "
                f"its rows, or use protocol=None; where both fits are to have these rows, give "
                f"both the same protocol and random_state, so that they certify on the same rows."
            )
        earlier = fitted_start(earlier.init_from)


def copy_weights(module, earlier, classes):
    """Give a fresh net the weights of an earlier one.

    Parameters
    ----------
    module : Transformer
        Changed in place. It keeps its own last linear map where the classes are others, or where
        the earlier net ends in another kind of map.
    earlier : TransformerClassifier
        Fitted.
    classes : ndarray
        Labels that `module` has logits for.
    """
    state, own = earlier.net_.module_.state_dict(), module.state_dict()
    theirs, ours = _head(state), _head(own)
    if not (np.array_equal(earlier.classes_, classes) and theirs.keys() == ours.keys()):
        state = {name: value for name, value in state.items() if name not in theirs} | ours
    # Strict: both nets were put together alike, so every name is in both.
    module.load_state_dict(state)


def _head(state):
    """Return the numbers of the last map."""
    return {name: value for name, value in state.items() if name.startswith("head.")}


def _parts(params):
    """Return what decides how a net is put together; how it was drawn does not."""
    parts = resolve_architecture(params.architecture).get_params()
    return {name: value for name, value in parts.items() if name != "init"}
