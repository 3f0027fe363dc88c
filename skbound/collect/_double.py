"""A copy of a net in double precision, on which derivatives are taken."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from skbound.collect._probe import Probe

__all__ = ["attention_by_formula", "in_double", "trained"]


def in_double(probe: Probe) -> Probe:
    """Return a probe whose module is a copy in double precision.

    Derivatives of rows then do not depend on how many rows are looked at together, except in the
    last digits of a double.

    Parameters
    ----------
    probe : Probe
        Stays as it is.

    Returns
    -------
    Probe
        With the same rows.
    """
    return replace(probe, module=copy.deepcopy(probe.module).double())


def attention_by_formula() -> AbstractContextManager[None]:
    """Return a context in which torch computes attention from products and softmax.

    Its fused kernels can be neither vectorised over rows nor differentiated twice.
    """
    return sdpa_kernel(SDPBackend.MATH)


def trained(
    module: torch.nn.Module, chosen: Callable[[str], bool] = lambda name: True
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Split the state of a module into the parameters to differentiate by, and the rest.

    Parameters
    ----------
    module : nn.Module
        Net.
    chosen : callable, default=all
        Whether to take a parameter, by its name; frozen ones never are.

    Returns
    -------
    taken, fixed : dict of str to torch.Tensor
        Detached.
    """
    taken: dict[str, torch.Tensor] = {}
    fixed = {name: buffer.detach() for name, buffer in module.named_buffers()}
    for name, parameter in module.named_parameters():
        into = taken if parameter.requires_grad and chosen(name) else fixed
        into[name] = parameter.detach()
    return taken, fixed
