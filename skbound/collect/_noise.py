"""How much noise on the parameters a net endures."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.func import functional_call

from skbound.collect._double import in_double, trained
from skbound.collect._probe import Probe
from skbound.exceptions import MissingEvidenceError

__all__ = ["noise_scale", "relative_noise_scale"]

# What a parameter of size 0 is taken for by relative noise; see eq. 56 of the source of the
# measures, which contains it too.
_FLOOR = 1e-3
_N_DRAWS = 10
_N_ROWS = 500
_INCREASE = 0.1
_LARGEST = 2.0**10
_SMALLEST = 2.0**-30


def noise_scale(probe: Probe) -> float:
    """Find the largest noise that raises the error by no more than 0.1.

    Noise ``sigma z`` is added to all trained parameters; the error is the mean over ten fixed draws
    of ``z`` and over up to 500 rows. ``sigma`` is bisected to 2.2 %. As the mean error need not
    grow with ``sigma``, the result is an end of a crossing. Costs about 100 passes over those rows.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    float
        ``sigma``, a standard deviation.

    Raises
    ------
    MissingEvidenceError
        If noise of any size up to 2^10 does no such harm, or of any down to 2^-30 does more.
    """
    return _largest(probe, relative=False)


def relative_noise_scale(probe: Probe) -> float:
    """Find the largest noise in proportion to each parameter; see `noise_scale`.

    A parameter ``w`` gets noise of variance ``(sigma w)^2 + 1e-6``.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    float
        ``sigma``, per unit of a parameter's size.

    Raises
    ------
    MissingEvidenceError
        As in `noise_scale`; also if the constant part alone does more harm.
    """
    return _largest(probe, relative=True)


def _largest(probe: Probe, *, relative: bool) -> float:
    net = in_double(probe.few(_N_ROWS))
    error = _error(net, {})
    low = high = 1.0
    while _noisy_error(net, high, relative=relative) - error <= _INCREASE:
        low, high = high, 2.0 * high
        if high > _LARGEST:
            raise MissingEvidenceError(
                f"Noise of any size up to {_LARGEST:g} raises the training error of {error:.3f} by "
                f"no more than {_INCREASE}, so there is no largest one. The net does no better "
                f"than a guess that ignores its input."
            )
    while low == high or _noisy_error(net, low, relative=relative) - error > _INCREASE:
        low, high = low / 2.0, low
        if low < _SMALLEST:
            raise MissingEvidenceError(
                f"Noise as small as {_SMALLEST:g} raises the training error of {error:.3f} by more "
                f"than {_INCREASE}, so no scale of noise is known that does not."
            )
    for _ in range(5):
        middle = math.sqrt(low * high)
        if _noisy_error(net, middle, relative=relative) - error <= _INCREASE:
            low = middle
        else:
            high = middle
    return low


def _noisy_error(net: Probe, sigma: float, *, relative: bool) -> float:
    parameters, _ = trained(net.module)
    errors = []
    for draw in range(_N_DRAWS):
        # The same draws at each scale, so that the error is a function of the scale alone.
        rng = np.random.default_rng([net.seed, 1 + draw])
        moved = {}
        for name, value in parameters.items():
            noise = torch.as_tensor(rng.standard_normal(value.shape)).to(value.device)
            size = ((sigma * value) ** 2 + _FLOOR**2).sqrt() if relative else sigma
            moved[name] = value + size * noise
        errors.append(_error(net, moved))
    return math.fsum(errors) / _N_DRAWS


@torch.no_grad()
def _error(net: Probe, parameters: dict[str, torch.Tensor]) -> float:
    wrong = 0
    for rows, labels in net.chunks():
        logits = functional_call(net.module, parameters, (rows,))
        wrong += int((logits.argmax(dim=1) != labels).sum())
    return wrong / net.n_samples
