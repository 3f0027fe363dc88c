"""Weight matrices of a torch module, one rule per kind of layer."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from skbound.evidence import Layer

__all__ = ["layers_of", "matrix", "uncovered_parameters"]


@singledispatch
def matrix(module: nn.Module) -> torch.Tensor | None:
    """Return the matrix by which a layer multiplies its input.

    A rule for a layer of one's own is a function registered with ``matrix.register``.

    Parameters
    ----------
    module : nn.Module
        A layer.

    Returns
    -------
    torch.Tensor of shape (n_outputs, n_inputs) or None
        None for what is no linear map.

    Examples
    --------
    >>> from torch import nn
    >>> from skbound.collect import matrix
    >>> class Scaled(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = nn.Parameter(torch.ones(3, 2))
    >>> matrix(Scaled()) is None
    True
    >>> @matrix.register
    ... def _(module: Scaled):
    ...     return 0.5 * module.weight
    >>> matrix(Scaled()).shape
    torch.Size([3, 2])
    """
    return None


@matrix.register
def _(module: nn.Linear) -> torch.Tensor:
    return module.weight


@matrix.register
def _(module: nn.Embedding) -> torch.Tensor:
    return module.weight.T


@matrix.register(nn.Conv1d)
@matrix.register(nn.Conv2d)
@matrix.register(nn.Conv3d)
def _(module: nn.Conv1d | nn.Conv2d | nn.Conv3d) -> torch.Tensor:
    # The map of one patch, not of the whole image: its norms differ from those of the latter.
    return module.weight.flatten(1)


def layers_of(module: nn.Module, initial: nn.Module | None = None) -> tuple[Layer, ...]:
    """Return every weight matrix of a module.

    Parameters
    ----------
    module : nn.Module
        Trained net.
    initial : nn.Module or None, default=None
        The same net before training.

    Returns
    -------
    tuple of Layer
        In the order of ``module.named_modules()``.
    """
    before = {} if initial is None else dict(initial.named_modules())
    layers = []
    for name, layer in module.named_modules():
        weight = matrix(layer)
        if weight is None:
            continue
        start = matrix(before[name]) if name in before else None
        bias = getattr(layer, "bias", None)
        layers.append(
            Layer(
                name=name,
                role=name.rpartition(".")[2],
                weight=as_array(weight),
                initial=None if start is None else as_array(start),
                bias=as_array(bias) if isinstance(bias, torch.Tensor) else None,
            )
        )
    return tuple(layers)


def uncovered_parameters(module: nn.Module) -> dict[str, int]:
    """Return the parameters that belong to no weight matrix, with their sizes.

    Parameters
    ----------
    module : nn.Module
        Net.

    Returns
    -------
    dict of str to int
        Gains of normalisations, biases, position codes and the like.
    """
    covered = set()
    for name, layer in module.named_modules():
        if matrix(layer) is not None:
            prefix = f"{name}." if name else ""
            # Under a parametrisation the weight is computed from other parameters of the layer.
            covered |= {prefix + own for own, _ in layer.named_parameters() if "bias" not in own}
    return {name: p.numel() for name, p in module.named_parameters() if name not in covered}


def as_array(tensor: torch.Tensor) -> NDArray[np.float64]:
    """Return a tensor as a numpy array in double precision."""
    return tensor.detach().to("cpu", torch.float64).numpy()
