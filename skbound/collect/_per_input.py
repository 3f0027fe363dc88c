"""Look at a net at single inputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from skbound.collect._double import in_double
from skbound.collect._local_lipschitz import input_jacobians
from skbound.collect._probe import Probe
from skbound.evidence import InputReport

__all__ = ["per_input"]

_CHUNK = 256
# The search gives up farther out than this multiple of the first-order distance.
_DOUBLINGS = 10
_HALVINGS = 40


def per_input(probe: Probe) -> InputReport:
    """Measure margin, slope and distance to the decision boundary at each row.

    Costs one backward pass per class and 51 forward passes. Memory grows with rows times classes
    times numbers of an input: pass ``probe.few(k)`` if there are many.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    InputReport
        In the order of the rows; ``.to_frame()`` makes a table of it.

    Notes
    -----
    With the predicted class ``c``, the first-order distance is the least of ``(f_c - f_k) /
    ||grad f_c - grad f_k||`` over the other classes [1]_. From there the line against that gradient
    is searched: ten doublings, then bisection. On it the prediction may change more than once; any
    such point is an upper bound on the distance.

    References
    ----------
    .. [1] S.-M. Moosavi-Dezfooli, A. Fawzi and P. Frossard, "DeepFool", CVPR 2016, eq. 6-7.
    """
    net = in_double(probe)
    logits = _logits_of(net)
    jacobians = input_jacobians(net)
    values = np.linalg.svd(jacobians, compute_uv=False)
    rounding = max(jacobians.shape[1:]) * np.finfo(float).eps
    rows = np.arange(net.n_samples)
    own = logits[rows, net.codes]
    others = logits.copy()
    others[rows, net.codes] = -np.inf
    residuals = _softmax(logits)
    residuals[rows, net.codes] -= 1.0
    estimate, directions = _first_order(logits, jacobians)
    return InputReport(
        margin=own - others.max(axis=1),
        jacobian_norm=values[:, 0],
        jacobian_rank=(values > rounding * values[:, :1]).sum(axis=1),
        loss_gradient_norm=np.linalg.norm(np.einsum("nk,nkd->nd", residuals, jacobians), axis=1),
        distance_estimate=estimate,
        distance_upper=_search(net, logits.argmax(axis=1), estimate, directions),
    )


@torch.no_grad()
def _logits_of(net: Probe) -> NDArray[np.float64]:
    return np.concatenate([net.module(x).cpu().numpy() for x, _ in net.chunks(_CHUNK)])


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _first_order(
    logits: NDArray[np.float64], jacobians: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each row's distance to the nearest linear boundary, and the unit vector to it."""
    rows, predicted = np.arange(len(logits)), logits.argmax(axis=1)
    gaps = logits[rows, predicted][:, None] - logits
    slopes = jacobians[rows, predicted][:, None] - jacobians
    norms = np.linalg.norm(slopes, axis=2)
    norms[rows, predicted] = 0.0
    steep = norms > 0.0
    distances = np.divide(gaps, norms, out=np.full_like(gaps, np.inf), where=steep)
    nearest = distances.argmin(axis=1)
    chosen = norms[rows, nearest]
    return distances[rows, nearest], -np.divide(
        slopes[rows, nearest],
        chosen[:, None],
        out=np.zeros_like(slopes[:, 0]),
        where=chosen[:, None] > 0.0,
    )


@torch.no_grad()
def _search(
    net: Probe,
    predicted: NDArray[np.intp],
    estimate: NDArray[np.float64],
    directions: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the distance along each direction to a point with another prediction."""
    found, done = np.full(len(estimate), np.inf), 0
    for x, _ in net.chunks(_CHUNK):
        part = slice(done, done + len(x))
        done += len(x)
        along = torch.as_tensor(directions[part]).to(x).reshape(x.shape)

        def changed(
            steps: NDArray[np.float64],
            x: torch.Tensor = x,
            along: torch.Tensor = along,
            before: NDArray[np.intp] = predicted[part],
        ) -> NDArray[np.bool_]:
            far = torch.as_tensor(steps).to(x).reshape(-1, *[1] * (x.ndim - 1))
            return net.module(x + far * along).argmax(1).cpu().numpy() != before

        found[part] = _bisect(changed, estimate[part])
    return found


def _bisect(
    changed: Callable[[NDArray[np.float64]], NDArray[np.bool_]], estimate: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return steps at which `changed` holds, next to one at which it does not; else infinity."""
    start = np.where(np.isfinite(estimate), np.maximum(estimate, 1e-12), 0.0)
    low, high = np.zeros_like(start), np.full_like(start, np.inf)
    step = start.copy()
    for _ in range(_DOUBLINGS + 1):
        over = changed(step)
        open_ = np.isinf(high)
        high[open_ & over] = step[open_ & over]
        low[open_ & ~over] = step[open_ & ~over]
        step = np.where(np.isinf(high), 2.0 * step, step)
    reached = np.isfinite(high)
    high[~reached] = low[~reached]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        over = changed(middle)
        high, low = np.where(over & reached, middle, high), np.where(over, low, middle)
    return np.where(reached, high, np.inf)
