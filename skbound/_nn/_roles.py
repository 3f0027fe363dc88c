"""What the weights of a Transformer are for, told from their names."""

from __future__ import annotations

import re
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils import parametrize

__all__ = [
    "MATRICES",
    "ROLES",
    "Weight",
    "bake",
    "effective_vector",
    "effective_weights",
    "weights_of",
]

_LAYERS = {
    "query_key": r"blocks\.\d+\.attention\.(query|key)",
    "value": r"blocks\.\d+\.attention\.(value|output)",
    "feed_forward": r"blocks\.\d+\.(expand|contract)",
    "head": r"head",
}
MATRICES = tuple(_LAYERS)
_PATTERNS = {
    **{role: (layer, "weight") for role, layer in _LAYERS.items()},
    "embedding": (r"embedding(\.project)?", "weight"),
    "bias": ("|".join(f"({layer})" for layer in _LAYERS.values()), "bias"),
}
ROLES = ("matrices", *_PATTERNS)


class Weight(NamedTuple):
    """A weight and where it is, which stays true while a parametrisation stands in for it.

    Parameters
    ----------
    name : str
        Such as ``"blocks.0.attention.query.weight"``.
    layer : nn.Module
        That has it.
    attribute : str
        "weight" or "bias".
    """

    name: str
    layer: nn.Module
    attribute: str

    @property
    def value(self) -> torch.Tensor:
        """The tensor that the layer computes with, of one or two dimensions."""
        value: torch.Tensor = getattr(self.layer, self.attribute)
        return value

    @property
    def is_parametrized(self) -> bool:
        """Whether the layer computes it from other parameters."""
        return parametrize.is_parametrized(self.layer, self.attribute)


def weights_of(module: nn.Module, where: str | tuple[str, ...], owner: str) -> list[Weight]:
    """Return the weights of some roles.

    Parameters
    ----------
    module : nn.Module
        A Transformer.
    where : str or tuple of str
        Roles out of `ROLES`; "matrices" stands for the four of `MATRICES`.
    owner : str
        Who asks, for the message.

    Returns
    -------
    list of Weight
        In the order of the net.

    Raises
    ------
    ValueError
        If a role is unknown, or the net has no weight of it.
    """
    roles = (where,) if isinstance(where, str) else tuple(where)
    if not roles or not set(roles) <= set(ROLES):
        raise ValueError(f"where must hold roles out of {list(ROLES)}, got {where!r}.")
    found = []
    for role in dict.fromkeys(r for s in roles for r in (MATRICES if s == "matrices" else (s,))):
        pattern, attribute = _PATTERNS[role]
        weights = [
            Weight(f"{name}.{attribute}", layer, attribute)
            for name, layer in module.named_modules()
            if re.fullmatch(pattern, name) and hasattr(layer, attribute)
        ]
        if not weights:
            raise ValueError(
                f"{owner} needs weights of role {role!r}, of which a {type(module).__name__} has "
                f"none. A protocol that trains coordinates in place of weights, such as "
                f"'description_length', cannot use it; leave it out there."
            )
        found += weights
    return found


def effective_weights(module: nn.Module) -> list[torch.Tensor]:
    """Return all weights that the layers compute with, whatever stands in for them.

    Parameters
    ----------
    module : nn.Module
        With or without parametrisations.

    Returns
    -------
    list of torch.Tensor
        Without parametrisations those of ``module.parameters()``, in that order.
    """
    layers = dict(module.named_modules())
    if not any(parametrize.is_parametrized(layer) for layer in layers.values()):
        return list(module.parameters())
    weights = []
    for name, layer in layers.items():
        if "parametrizations" in name.split("."):
            continue
        weights += [p for p in layer.parameters(recurse=False)]
        if parametrize.is_parametrized(layer):
            weights += [getattr(layer, attribute) for attribute in layer.parametrizations]
    return weights


@torch.no_grad()
def effective_vector(module: nn.Module) -> torch.Tensor:
    """Return all weights that the layers compute with, one after the other.

    Parameters
    ----------
    module : nn.Module
        With or without parametrisations.

    Returns
    -------
    torch.Tensor of shape (n_weights,)
        A copy, in the order of `effective_weights`.
    """
    return torch.cat([weight.flatten() for weight in effective_weights(module)])


def bake(weight: Weight, value: torch.Tensor | None = None) -> None:
    """Put a plain parameter in the place of a parametrised weight.

    Parameters
    ----------
    weight : Weight
        Changed in place.
    value : torch.Tensor or None, default=None
        What it becomes; None takes what the layer computes with.
    """
    if value is None:
        value = weight.value.detach().clone()
    order = [name for name in ("weight", "bias") if getattr(weight.layer, name, None) is not None]
    with torch.enable_grad():
        # Without gradients, several parameters in one would become a buffer.
        parametrize.remove_parametrizations(weight.layer, weight.attribute)
    with torch.no_grad():
        weight.value.copy_(value)
    # The order of a net's parameters is part of what a vector of them means.
    for name in order:
        if name in weight.layer._parameters:
            weight.layer._parameters[name] = weight.layer._parameters.pop(name)
