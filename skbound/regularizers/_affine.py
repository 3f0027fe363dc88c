"""Train on images that are turned, stretched and squeezed a little."""

from __future__ import annotations

import math
from numbers import Real

import torch
import torch.nn.functional as F

from skbound.regularizers._base import Regularizer
from skbound.regularizers._shift import check_images

__all__ = ["RandomAffine"]


class RandomAffine(Regularizer):
    """Turn each training image about its centre, and scale its height and its width.

    All three numbers are drawn anew each time that an image is trained on. Pixels are interpolated
    between the nearest four; those at the edge are repeated where nothing is left to show.

    Parameters
    ----------
    degrees : float, default=10.0
        Largest angle to either side, at most 180.
    scale : float, default=0.1
        Height and width are multiplied by numbers from ``1 / (1 + scale)`` to ``1 + scale``, whose
        logarithms are uniform; at most 1.

    See Also
    --------
    RandomShift : Moves images by whole pixels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skbound import TransformerClassifier
    >>> from skbound.regularizers import RandomAffine
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     tokenizer="patches", regularizers=[RandomAffine()], max_epochs=10, random_state=0
    ... )
    >>> clf.fit(X, y).generalization_bound_ < 0.2
    True
    """

    def __init__(self, degrees=10.0, scale=0.1):
        self.degrees = degrees
        self.scale = scale

    def check(self, shape):
        """Refuse rows that are no images, and numbers out of range.

        Parameters
        ----------
        shape : tuple of int
            Of the prepared training rows.

        Raises
        ------
        ValueError
            Saying what must hold.
        """
        check_images(self, shape)
        for name, largest in (("degrees", 180.0), ("scale", 1.0)):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0.0 <= value <= largest:
                raise ValueError(f"{name} must be a number from 0 to {largest:g}, got {value!r}.")

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        """Turn and scale the images of a batch.

        Parameters
        ----------
        X : torch.Tensor of shape (n, n_rows, n_columns, n_channels)
            Images.
        labels, weights : torch.Tensor of shape (n,)
            Handed on.
        n_classes : int
            Not used.
        generator : torch.Generator
            Draws angles and scales.

        Returns
        -------
        X, labels, weights : torch.Tensor
            Changed images of the same shape.
        """
        images = X.permute(0, 3, 1, 2)
        n, _, height, width = images.shape
        drawn = 2.0 * torch.rand((3, n), generator=generator, dtype=torch.float64) - 1.0
        sources = self._sources(drawn, height / width).to(X)
        grid = F.affine_grid(sources, list(images.shape), align_corners=False)
        changed = F.grid_sample(images, grid, padding_mode="border", align_corners=False)
        return changed.permute(0, 2, 3, 1), labels, weights

    def _sources(self, drawn, aspect):
        """Return, for each image, the matrix from a place in it to where its pixel is taken from.

        Places run from -1 to 1 in either direction, columns first, so that on an image that is not
        square a turn needs the ratio of its sides.
        """
        angle = drawn[0] * math.radians(self.degrees)
        stretch = torch.exp(drawn[1:] * math.log1p(self.scale))
        cos, sin = torch.cos(angle), torch.sin(angle)
        columns = torch.stack([cos, -sin * aspect, 0.0 * cos], dim=1) * stretch[0].view(-1, 1)
        rows = torch.stack([sin / aspect, cos, 0.0 * cos], dim=1) * stretch[1].view(-1, 1)
        return torch.stack([columns, rows], dim=1)
