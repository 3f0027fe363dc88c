"""How far gradient ascent raises the loss near the trained parameters."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch.func import functional_call

from skbound.collect._double import in_double, trained
from skbound.collect._probe import Probe
from skbound.evidence import LossAscent

__all__ = ["sharpness"]

_N_ROWS = 500
_N_STEPS = 10

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def sharpness(probe: Probe, *, radius: float = 0.05, box: float = 1e-3) -> LossAscent:
    """Climb the mean cross-entropy in a ball and in a box around the trained parameters.

    Ten steps of projected gradient ascent from a point near the centre, on up to 500 rows. Each
    step is a quarter of the radius: along the gradient in the ball, along its signs in the box.
    What is found is a lower estimate of the true maximum. Costs about 25 epochs of those rows in
    double precision.

    Parameters
    ----------
    probe : Probe
        Net and rows.
    radius : float, default=0.05
        Of the ball, in Euclidean norm over all trained parameters.
    box : float, default=1e-3
        A parameter ``w`` moves by at most ``box (|w| + 1)``.

    Returns
    -------
    LossAscent
        Rises of the loss.
    """
    net = in_double(probe.few(_N_ROWS))
    center = torch.cat([p.flatten() for p in trained(net.module)[0].values()])
    half = box * (center.abs() + 1.0)

    def in_ball(u: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        norm = gradient.norm()
        moved = u + 0.25 * radius * gradient / norm if norm > 0.0 else u
        return moved * min(1.0, radius / max(float(moved.norm()), 1e-300))

    def in_box(u: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return torch.maximum(torch.minimum(u + 0.25 * half * gradient.sign(), half), -half)

    rng = np.random.default_rng([net.seed, 1])
    draw = torch.as_tensor(rng.standard_normal(len(center))).to(center.device)
    base, _ = _loss(net, center)
    return LossAscent(
        loss=base,
        # At a minimum the gradient is 0: the start is off the centre.
        in_ball=_climb(net, center, 0.01 * radius * draw / draw.norm(), in_ball) - base,
        in_box=_climb(net, center, 0.01 * half * draw.clamp(-1.0, 1.0), in_box) - base,
    )


def _climb(net: Probe, center: torch.Tensor, u: torch.Tensor, step: Step) -> float:
    best, _ = _loss(net, center)
    for _ in range(_N_STEPS):
        loss, gradient = _loss(net, center + u)
        best = max(best, loss)
        u = step(u, gradient)
    return max(best, _loss(net, center + u)[0])


def _loss(net: Probe, vector: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Return the mean cross-entropy at a vector of parameters, and its gradient."""
    parameters, _ = trained(net.module)
    sizes = [p.numel() for p in parameters.values()]
    pieces = vector.split(sizes)
    leaves = {
        name: piece.reshape(value.shape).clone().requires_grad_()
        for (name, value), piece in zip(parameters.items(), pieces, strict=True)
    }
    total, gradient = [], torch.zeros_like(vector)
    for rows, labels in net.chunks():
        logits = functional_call(net.module, leaves, (rows,))
        loss = F.cross_entropy(logits, labels, reduction="sum") / net.n_samples
        found = torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)
        gradient += torch.cat([g.flatten() for g in found])
        total.append(float(loss.detach()))
    return math.fsum(total), gradient
