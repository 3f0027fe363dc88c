"""Train on images that are moved by a few pixels."""

from __future__ import annotations

from numbers import Integral

import torch

from skbound.regularizers._base import Regularizer

__all__ = ["RandomShift", "check_images"]


def check_images(regularizer, shape):
    """Refuse rows that are no images.

    Parameters
    ----------
    regularizer : Regularizer
        For the message.
    shape : tuple of int
        Of the prepared training rows.

    Raises
    ------
    ValueError
        Naming the tokenizers that make images.
    """
    if len(shape) != 4:
        raise ValueError(
            f"{type(regularizer).__name__} changes images, but this tokenizer makes none. Use "
            f"tokenizer='patches' or PatchTokenizer(image_shape=...)."
        )


class RandomShift(Regularizer):
    """Move each training image by a random number of pixels, up or down and left or right.

    Both numbers are drawn anew each time that an image is trained on. Pixels at the edge are
    repeated where the image has moved away.

    Parameters
    ----------
    max_shift : int, default=2
        Largest number of pixels in each direction.

    See Also
    --------
    RandomAffine : Turns and scales images.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skbound import TransformerClassifier
    >>> from skbound.regularizers import RandomShift
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     tokenizer="patches", regularizers=[RandomShift(1)], max_epochs=10, random_state=0
    ... )
    >>> clf.fit(X, y).generalization_bound_ < 0.2
    True
    """

    def __init__(self, max_shift=2):
        self.max_shift = max_shift

    def check(self, shape):
        """Refuse rows that are no images, and shifts that are larger than they are.

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
        largest = min(shape[1:3]) - 1
        if not isinstance(self.max_shift, Integral) or not 0 <= self.max_shift <= largest:
            raise ValueError(
                f"max_shift must be an integer from 0 to {largest} for images of {shape[1]} x "
                f"{shape[2]} pixels, got {self.max_shift!r}."
            )

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        """Move the images of a batch.

        Parameters
        ----------
        X : torch.Tensor of shape (n, n_rows, n_columns, n_channels)
            Images.
        labels, weights : torch.Tensor of shape (n,)
            Handed on.
        n_classes : int
            Not used.
        generator : torch.Generator
            Draws the shifts.

        Returns
        -------
        X, labels, weights : torch.Tensor
            Moved images of the same shape.
        """
        most = int(self.max_shift)
        shifts = torch.randint(-most, most + 1, (2, len(X), 1), generator=generator)
        down, right = shifts.to(X.device)
        rows = _moved(X.shape[1], down).unsqueeze(2)
        columns = _moved(X.shape[2], right).unsqueeze(1)
        image = torch.arange(len(X), device=X.device).view(-1, 1, 1)
        return X[image, rows, columns], labels, weights


def _moved(size, shift):
    """Return from which position each of `size` pixels of a line is taken, for each shift."""
    return (torch.arange(size, device=shift.device) - shift).clamp_(0, size - 1)
