"""Rules of thumb that turn diagnostics into suggestions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from scipy.optimize import brentq

from skbound.bounds import binomial_tail_inverse

__all__ = ["Suggestion", "rows_needed", "suggestions"]

# A gap counts when it exceeds so many standard errors of the held-out error.
_CLEAR = 2.0
# A layer has grown much when its spectral norm is so many times that before training.
_GROWN = 4.0
# Attention hardly chooses when its entropy is that share of the largest possible one.
_FLAT = 0.95
# A layer's inputs fill few directions when their participation ratio is that share of the width.
_NARROW = 0.1


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Something to try, and why.

    Parameters
    ----------
    title : str
        What to do.
    reason : str
        Which numbers suggest it, and the threshold that they passed.
    params : dict of str to object
        Parameters of TransformerClassifier to set; empty where there are none.
    """

    title: str
    reason: str
    params: dict[str, Any] = field(default_factory=dict)


def rows_needed(error: float, target: float, delta: float) -> int | None:
    """Return how many certified rows an exact binomial certificate would need.

    Parameters
    ----------
    error : float
        Error rate that is expected on them.
    target : float
        Wanted certificate.
    delta : float
        Level.

    Returns
    -------
    int or None
        None if `target` does not exceed `error`, so that no number suffices.

    Examples
    --------
    >>> from skbound.inspection import rows_needed
    >>> rows_needed(0.0, 0.01, 0.05)
    299
    >>> rows_needed(0.1, 0.1, 0.05) is None
    True
    """
    if not error < target < 1.0:
        return None

    def excess(log_n: float) -> float:
        n = round(math.exp(log_n))
        errors = math.ceil(error * n)
        return binomial_tail_inverse(min(errors, n), n, log_delta=math.log(delta)) - target

    top = math.log(10.0)
    while excess(top) > 0.0:
        top += 1.0
    n = max(1, math.floor(math.exp(brentq(excess, 0.0, top, xtol=1e-6))))
    # Counts of errors are whole, so the bound saws: take the first n from which it suffices.
    while excess(math.log(n)) > 0.0:
        n += 1
    return n


def suggestions(diagnostics: Any, target: float | None = None) -> list[Suggestion]:
    """Return what diagnostics suggest.

    Parameters
    ----------
    diagnostics : Diagnostics
        Of a fitted net.
    target : float or None, default=None
        A wanted certificate.

    Returns
    -------
    list of Suggestion
        In the order of their urgency.
    """
    found = [*_about_the_fit(diagnostics), *_about_the_net(diagnostics)]
    if target is not None:
        found.append(_about_rows(diagnostics, target))
    return found


def _about_the_fit(d: Any) -> list[Suggestion]:
    training, held_out = d["training_error"], d["held_out_error"]
    if math.isnan(training) or math.isnan(held_out):
        return []
    n = d.evidence.evaluated.n_samples
    error = math.sqrt(max(held_out * (1.0 - held_out), 1.0 / n) / n)
    chance = 1.0 - d.evidence.majority_share
    if d["gap"] > _CLEAR * error:
        reason = (
            f"The error is {training:.3f} on training rows and {held_out:.3f} on {n} rows held "
            f"out, more than {_CLEAR:g} standard errors ({error:.3f}) apart."
        )
        return _those_that_change(
            d.params,
            reason,
            {
                "Regularise by dropout.": {"dropout": _at_least(d, "dropout", 0.2, 0.1, 0.5)},
                "Regularise by weight decay.": {
                    "weight_decay": _at_least(d, "weight_decay", 0.3, 0.3, 1.0)
                },
                "Stop early.": {"early_stopping": True},
                "Smooth the labels.": {
                    "label_smoothing": _at_least(d, "label_smoothing", 0.1, 0.1, 0.2)
                },
                "Take a smaller net.": {"depth": max(1, d.params["depth"] // 2), **_narrower(d)},
            },
        )
    if training > 0.5 * chance:
        reason = (
            f"The error on training rows is {training:.3f}, more than half of the {chance:.3f} of "
            f"always predicting the most frequent class: the net has not learnt the rows it saw."
        )
        return _those_that_change(
            d.params,
            reason,
            {
                "Train longer.": {"max_epochs": 4 * d.params["max_epochs"]},
                "Take larger steps.": {"lr": 2.5 * d.params["lr"]},
                "Take a larger net.": {
                    "depth": 2 * d.params["depth"], "width": 2 * d.params["width"]
                },
            },
        )  # fmt: skip
    return []


def _at_least(d: Any, name: str, start: float, step: float, most: float) -> float:
    """Return a value to try that is larger than the fit's own, up to the most that makes sense."""
    own = d.params[name]
    return start if own < start else max(own, min(most, round(own + step, 10)))


def _narrower(d: Any) -> dict[str, int]:
    """Return half the width, which the heads must divide."""
    heads = d.params["n_heads"]
    return {"width": max(heads, d.params["width"] // 2 // heads * heads)}


def _those_that_change(own: Any, reason: str, tried: dict[str, dict[str, Any]]) -> list[Suggestion]:
    """Return suggestions without what the fit had already."""
    changed = {
        title: {name: value for name, value in params.items() if value != own[name]}
        for title, params in tried.items()
    }
    return [
        Suggestion(title=title, reason=reason, params=params)
        for title, params in changed.items()
        if params
    ]


def _about_the_net(d: Any) -> list[Suggestion]:
    table, found = d.to_frame(), []
    grown = table[table["spectral_growth"] > _GROWN]
    if len(grown):
        reason = (
            f"The spectral norm of {', '.join(grown.index)} has grown more than {_GROWN:g} times "
            f"since the start."
        )
        decay = {"weight_decay": _at_least(d, "weight_decay", 0.3, 0.3, 1.0)}
        found += _those_that_change(d.params, reason, {"Hold spectral norms down.": decay})
    share = d.get("attention_entropy_share", float("nan"))
    if share > _FLAT:
        reason = (
            f"The entropy of attention is {share:.0%} of the largest possible one (limit "
            f"{_FLAT:.0%}): it hardly chooses among tokens."
        )
        shallow = {"depth": max(1, d.params["depth"] // 2)}
        found += _those_that_change(d.params, reason, {"Ask whether attention is of use.": shallow})
    inputs = table.loc[table["role"] == "head", ["input_rank", "n_inputs"]]
    if len(inputs) and inputs["input_rank"].iloc[0] < _NARROW * inputs["n_inputs"].iloc[0]:
        reason = (
            f"What the last layer reads fills {inputs['input_rank'].iloc[0]:.1f} of "
            f"{inputs['n_inputs'].iloc[0]} directions (limit {_NARROW:.0%})."
        )
        found += _those_that_change(d.params, reason, {"Take a narrower net.": _narrower(d)})
    return found


def _about_rows(d: Any, target: float) -> Suggestion:
    error = d["held_out_error"]
    n = None if math.isnan(error) else rows_needed(error, target, d.delta)
    if n is None:
        return Suggestion(
            title=f"No number of rows gives a certificate of {target:g} for this net.",
            reason=f"Its error on rows held out is {error:.4f}, which is not below {target:g}.",
        )
    return Suggestion(
        title=f"Certify on {n} rows.",
        reason=(
            f"With an error rate of {error:.4f} the exact binomial bound at delta={d.delta:g} is "
            f"{target:g} or less from {n} certified rows on; there are {d.evidence.n_certified}."
        ),
    )
