"""Turn a trained net and rows into the record that measures read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from torch import nn

from skbound.collect._attention import attention_statistics
from skbound.collect._convolutions import convolutions
from skbound.collect._epochs import epochs
from skbound.collect._features import chain_features, downstream_norms, features
from skbound.collect._fisher_rao import fisher_rao
from skbound.collect._gradients import gradient_norms
from skbound.collect._initial import initial_state
from skbound.collect._layers import layers_of, uncovered_parameters
from skbound.collect._lipschitz import log_lipschitz_upper
from skbound.collect._local_lipschitz import jacobian_norm, log_lipschitz_local_upper
from skbound.collect._margins import margins
from skbound.collect._noise import noise_scale, relative_noise_scale
from skbound.collect._parameters import parameters
from skbound.collect._paths import path_norm
from skbound.collect._perturbed import perturbed_logits
from skbound.collect._probe import Probe
from skbound.collect._sharpness import sharpness
from skbound.collect._tangent_kernel import attention_kernel, tangent_kernel
from skbound.evidence import Architecture, NetRecord
from skbound.exceptions import MissingEvidenceError

__all__ = ["GATHER", "collect"]

# How to gather each optional field of a NetRecord.
GATHER: dict[str, Callable[[Probe], Any]] = {
    "margins": margins,
    "gradients": gradient_norms,
    "tangent_kernel": tangent_kernel,
    "attention_kernel": attention_kernel,
    "features": features,
    "chain_features": chain_features,
    "downstream_norms": downstream_norms,
    "log_lipschitz_upper": lambda probe: log_lipschitz_upper(probe.module),
    "log_lipschitz_local_upper": log_lipschitz_local_upper,
    "jacobian_norm": jacobian_norm,
    "parameters": parameters,
    "noise_scale": noise_scale,
    "relative_noise_scale": relative_noise_scale,
    "sharpness": sharpness,
    "fisher_rao": fisher_rao,
    "path_norm": path_norm,
    "convolutions": convolutions,
    "epochs": epochs,
    "attention": attention_statistics,
    "initial_state": initial_state,
    "perturbed_logits": perturbed_logits,
}


def collect(
    module: nn.Module,
    architecture: Architecture,
    *,
    n_samples: int,
    initial: nn.Module | None = None,
    probe: Probe | None = None,
    needs: Iterable[str] = (),
) -> NetRecord:
    """Collect what is known about a net.

    Parameters
    ----------
    module : nn.Module
        Trained net.
    architecture : Architecture
        Its sizes.
    n_samples : int
        Rows that it was trained on.
    initial : nn.Module or None, default=None
        The net before training.
    probe : Probe or None, default=None
        The net with training rows, for what depends on rows.
    needs : iterable of str, default=()
        Optional fields of :class:`~skbound.evidence.NetRecord` to gather; each needs a `probe`.

    Returns
    -------
    NetRecord
        With None for all that was not asked for, or that this net has not: then with the reason.

    Raises
    ------
    ValueError
        If a field is not known or there are no rows for it.
    """
    needs = list(dict.fromkeys(needs))
    if unknown := set(needs) - set(GATHER):
        raise ValueError(f"needs must name some of {sorted(GATHER)}, got {sorted(unknown)} too.")
    gathered: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    if needs:
        if probe is None:
            raise ValueError(f"Rows are needed to gather {needs}, got none. Pass X and y.")
        if probe.initial is None:
            probe = replace(probe, initial=initial)
        for name in needs:
            try:
                gathered[name] = GATHER[name](probe)
            except MissingEvidenceError as error:
                reasons[name] = str(error)
    return NetRecord(
        architecture=architecture,
        layers=layers_of(module, initial),
        uncovered=uncovered_parameters(module),
        n_samples=n_samples,
        reasons=reasons,
        **gathered,
    )
