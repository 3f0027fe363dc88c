"""Spectral norms of convolutions as maps of whole images, by Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from skbound.collect._layers import as_array
from skbound.collect._probe import Probe
from skbound.evidence import ConvolutionNorms
from skbound.exceptions import MissingEvidenceError

__all__ = ["convolution_singular_values", "convolutions"]

_KINDS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def convolution_singular_values(
    kernel: NDArray[np.float64], size: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the singular values of a convolution on a torus.

    A Fourier transform turns it into one small matrix per frequency.

    Parameters
    ----------
    kernel : ndarray of shape (n_outputs, n_inputs, ...)
        As torch stores it; one more dimension per dimension of the image.
    size : tuple of int
        Of the image, which wraps around; at least that of the kernel.

    Returns
    -------
    ndarray of shape (prod(size) * min(n_outputs, n_inputs),)
        Largest first.

    Raises
    ------
    ValueError
        If the image is smaller than the kernel.

    References
    ----------
    .. [1] H. Sedghi, V. Gupta and P. M. Long, "The singular values of convolutional layers", ICLR
       2019, Theorem 6.

    Examples
    --------
    >>> import numpy as np
    >>> convolution_singular_values(np.ones((1, 1, 2)), (2,))
    array([2., 0.])
    """
    if any(k > n for k, n in zip(kernel.shape[2:], size, strict=True)):
        raise ValueError(
            f"The image must be at least as large as the kernel, got {size} and {kernel.shape[2:]}."
        )
    axes = tuple(range(2, kernel.ndim))
    frequencies = np.moveaxis(np.fft.fftn(kernel, size, axes=axes), (0, 1), (-2, -1))
    return np.sort(np.linalg.svd(frequencies, compute_uv=False), axis=None)[::-1]


@torch.no_grad()
def convolutions(probe: Probe) -> tuple[ConvolutionNorms, ...]:
    """Return the spectral norms of all convolutions of a net, on images of the rows' size.

    Zero padding and strides are dealt with by an upper bound: such a map is a part of the one on a
    torus that is larger than the image by the kernel less one.

    Parameters
    ----------
    probe : Probe
        One row of it is read, to see the sizes of images.

    Returns
    -------
    tuple of ConvolutionNorms
        In the order of ``named_modules()``.

    Raises
    ------
    MissingEvidenceError
        If there are none; if one has groups, dilation or a padding that is neither circular
        nor zero; or if it changes the size of the image under circular padding.
    """
    found = {name: m for name, m in probe.module.named_modules() if isinstance(m, _KINDS)}
    if not found:
        raise MissingEvidenceError(
            "The net has no convolutions, so measures of their maps of images are those of its "
            "matrices. Use the measures without 'exact' in their names."
        )
    seen: dict[str, tuple[torch.Size, torch.Size]] = {}
    handles = [
        module.register_forward_hook(
            lambda module, inputs, output, name=name: seen.update(
                {name: (inputs[0].shape, output.shape)}
            )
        )
        for name, module in found.items()
    ]
    try:
        probe.module(next(probe.chunks(1))[0])
    finally:
        for handle in handles:
            handle.remove()
    before = {} if probe.initial is None else dict(probe.initial.named_modules())
    return tuple(
        _norms(name, module, before.get(name), *seen[name]) for name, module in found.items()
    )


def _norms(
    name: str, module: Any, before: Any, inputs: torch.Size, outputs: torch.Size
) -> ConvolutionNorms:
    image, kernel = tuple(inputs[2:]), as_array(module.weight)
    circular = module.padding_mode == "circular"
    if (
        module.groups != 1
        or set(module.dilation) != {1}
        or module.padding_mode not in ("circular", "zeros")
        or (circular and (image != tuple(outputs[2:]) or set(module.stride) != {1}))
    ):
        raise MissingEvidenceError(
            f"The norm of convolution {name} on images is known for one group, no dilation and "
            f"zero padding, or circular padding that keeps the size of the image; this one is "
            f"{module}. Use the measures without 'exact' in their names."
        )
    size = (
        image
        if circular
        else tuple(n + k - 1 for n, k in zip(image, kernel.shape[2:], strict=True))
    )
    change = None
    if before is not None:
        change = float(convolution_singular_values(kernel - as_array(before.weight), size)[0])
    return ConvolutionNorms(
        name=name,
        spectral_norm=float(convolution_singular_values(kernel, size)[0]),
        change_norm=change,
        exact=circular,
    )
