"""Norms of a convolution as a map of whole images."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConvolutionNorms"]


@dataclass(frozen=True, kw_only=True)
class ConvolutionNorms:
    """Spectral norms of one convolution.

    Parameters
    ----------
    name : str
        Of the layer, as in :class:`~skbound.evidence.Layer`.
    spectral_norm : float
        Largest singular value of the map from images to images.
    change_norm : float or None
        That of trained minus initial; None where the latter was not recorded.
    exact : bool
        Whether the norms are exact, as they are with circular padding. With zero padding or strides
        they are upper bounds: those of the same kernel on a torus that is larger than the image.
    """

    name: str
    spectral_norm: float
    change_norm: float | None
    exact: bool
