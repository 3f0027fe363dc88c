"""Callbacks of every training, and those of the user behind them."""

from __future__ import annotations

import copy
import math
from typing import Any

from skorch.callbacks import Callback, EarlyStopping, GradientNormClipping, LRScheduler
from torch.optim.lr_scheduler import LambdaLR

from skbound._training._plan import TrainingPlan

__all__ = ["callbacks_of", "refuse_twice"]

_WARM_UP = 0.1


class _RefuseNonFiniteLoss(Callback):
    """Stop with an error as soon as an epoch's loss is not a number."""

    def on_epoch_end(self, net, **kwargs):
        for name in ("train_loss", "valid_loss"):
            loss = net.history[-1].get(name, 0.0)
            if not math.isfinite(loss):
                raise ValueError(
                    f"The {name} became {loss} in epoch {len(net.history)}. Nothing is certified "
                    f"from it. Lower lr, set gradient_clip, or look for extreme values in X."
                )


def _warm_up_then_cosine(n_steps: int):
    """Return the factor of the learning rate at each step: linear up, cosine down to 1 %."""
    n_up = max(1, round(_WARM_UP * n_steps))

    def factor(step: int) -> float:
        if step < n_up:
            return (step + 1) / n_up
        share = min(1.0, (step - n_up) / max(1, n_steps - n_up))
        return 0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * share))

    return factor


def callbacks_of(plan: TrainingPlan, n_steps: int, *, validated: bool) -> list:
    """Return the callbacks of a training, in the order in which they are called.

    Parameters
    ----------
    plan : TrainingPlan
        Its own callbacks are copied.
    n_steps : int
        Length of the schedule of the learning rate.
    validated : bool
        Whether validation rows decide when to stop.

    Returns
    -------
    list
        Of named and unnamed callbacks.
    """
    callbacks: list = [
        ("refuse_non_finite", _RefuseNonFiniteLoss()),
        (
            "schedule",
            LRScheduler(
                LambdaLR, lr_lambda=_warm_up_then_cosine(n_steps), step_every="batch",
                event_name=None,
            ),
        ),
    ]  # fmt: skip
    if validated:
        stop = EarlyStopping(
            patience=plan.n_iter_no_change, load_best=True, threshold=0.0, sink=_silent
        )
        callbacks.append(("early_stopping", stop))
    # Copied, so that the caller's objects keep no state of this fit.
    callbacks.extend(copy.deepcopy(callback) for callback in plan.callbacks)
    if plan.gradient_clip is not None:
        # Last, so that others see the gradient as it was.
        callbacks.append(("clip", GradientNormClipping(plan.gradient_clip)))
    return callbacks


def _silent(*args: Any) -> None:
    """Take the place of print."""


def refuse_twice(plan: TrainingPlan, *, validated: bool) -> None:
    """Refuse a callback that does what a parameter does already.

    Parameters
    ----------
    plan : TrainingPlan
        Parameters and callbacks.
    validated : bool
        Whether ``early_stopping`` is on.

    Raises
    ------
    ValueError
        Naming both.
    """
    doubles = (
        (EarlyStopping, validated, "early_stopping=True", "early_stopping=False"),
        (
            GradientNormClipping,
            plan.gradient_clip is not None,
            f"gradient_clip={plan.gradient_clip}",
            "gradient_clip=None",
        ),
    )
    for kind, given, parameter, without in doubles:
        if given and any(isinstance(callback, kind) for callback in plan.callbacks):
            raise ValueError(
                f"{parameter} and the callback {kind.__name__} do the same, so that it would be "
                f"done twice. Use {without}, or leave the callback out."
            )
