"""Images: one token per square patch, cut inside the net."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from skbound._inputs import check_weights
from skbound._sklearn_compat import Interval, fit_context
from skbound.tokenizers._scaling import Standardizer

__all__ = ["PatchTokenizer"]

# Images are scaled so many at a time: in float64 all of them would fill the memory.
_ROWS_AT_ONCE = 1024


class PatchTokenizer(Standardizer):
    """Standardise images; the Transformer makes one token of each square patch.

    A channel is standardised over all images and pixels together. Any range will do: bytes from 0
    to 255 and numbers from 0 to 1 give the same tokens.

    Parameters
    ----------
    patch_size : int, default=4
        Rows and columns of pixels per patch; divides those of the image.
    image_shape : tuple of 2 or 3 int, or None, default=None
        Rows, columns and, last, channels of an image. None takes rows of (n, rows, columns) as they
        are and flat rows of (n, pixels) for square images of one channel.
    limit : float, default=8.0
        Standardised values are squeezed smoothly into ``(-limit, limit)``.

    Attributes
    ----------
    image_shape_ : tuple of 3 int
        Rows, columns and channels of the images seen in fit.
    n_tokens_in_, n_features_in_ : int
        Patches per image and numbers per patch.
    unit_, mean_, std_ : ndarray of shape (n_channels,)
        Magnitude divided out first, then mean and standard deviation of what is left.

    See Also
    --------
    SequenceTokenizer : For rows that are sequences of tokens.
    skbound.regularizers.RandomShift : Trains on shifted images.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.tokenizers import PatchTokenizer
    >>> images = np.arange(2 * 8 * 8).reshape(2, 64)
    >>> PatchTokenizer(patch_size=4).fit_transform(images).shape
    (2, 4, 16)
    """

    ndim = (2, 3)

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "patch_size": [Interval(Integral, 1, None, closed="left")],
        "image_shape": [tuple, list, None],
        "limit": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, patch_size=4, image_shape=None, limit=8.0):
        self.patch_size = patch_size
        self.image_shape = image_shape
        self.limit = limit

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn each channel's mean and standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_pixels) or (n_samples, n_rows, n_columns)
            Finite numbers; flat images run row by row, with the channels of a pixel side by side.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        PatchTokenizer
            Itself.

        Raises
        ------
        ValueError
            If the images have another shape than `image_shape`, or `patch_size` does not divide it.
        """
        X = self._check(X)
        self.image_shape_ = self._shape_of(X.shape[1:])
        height, width, channels = self.image_shape_
        if height % self.patch_size or width % self.patch_size:
            raise ValueError(
                f"patch_size must divide the rows and columns of an image, got patch_size="
                f"{self.patch_size} and images of {height} x {width} pixels. Choose another size, "
                f"or pad the images."
            )
        self._row_shape = X.shape[1:]
        self.n_tokens_in_ = height * width // self.patch_size**2
        self.n_features_in_ = self.patch_size**2 * channels
        self._learn_channels(X, check_weights(sample_weight, X, type(self).__name__))
        return self

    def prepare(self, X):
        """Scale images that were validated before.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_pixels) or (n_samples, n_rows, n_columns)
            Finite numbers, of the shape seen in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_rows, n_columns, n_channels)
            Whole images in ``(-limit, limit)``: the net cuts them. float32 for float32, else
            float64.
        """
        images = X.reshape(len(X), *self.image_shape_)
        scaled = np.empty(images.shape, np.float32 if X.dtype == np.float32 else np.float64)
        for start in range(0, len(X), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            scaled[some] = super().prepare(images[some])
        return scaled

    def transform(self, X):
        """Scale images and cut them into patches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_pixels) or (n_samples, n_rows, n_columns)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_tokens, n_features)
            Patches from left to right, then from top to bottom, in ``(-limit, limit)``.

        Raises
        ------
        ValueError
            If the rows have another shape than in fit.
        """
        check_is_fitted(self)
        X = self._check(X)
        if X.shape[1:] != self._row_shape:
            raise ValueError(
                f"X has rows of shape {X.shape[1:]}, but PatchTokenizer is expecting "
                f"{self._row_shape} as in fit."
            )
        size = self.patch_size
        height, width, channels = self.image_shape_
        grid = (len(X), height // size, size, width // size, size, channels)
        patches = self.prepare(X).reshape(grid).transpose(0, 1, 3, 2, 4, 5)
        return patches.reshape(len(X), self.n_tokens_in_, self.n_features_in_)

    def embedding(self, width):
        """Build the torch module that turns prepared images into tokens.

        Parameters
        ----------
        width : int
            Length of a token vector.

        Returns
        -------
        torch.nn.Module
            Maps (n, n_rows, n_columns, n_channels) to (n, n_tokens, width).
        """
        from skbound._nn._embeddings import PatchEmbedding

        return PatchEmbedding(self.image_shape_, self.patch_size, width)

    def _check(self, X):
        X = check_array(X, allow_nd=True)
        if X.ndim not in self.ndim:
            raise ValueError(
                f"Expected images of shape (n_samples, n_pixels) or (n_samples, n_rows, "
                f"n_columns), got shape {X.shape}. Flatten images with channels and name their "
                f"shape: X.reshape(len(X), -1) with image_shape=(rows, columns, channels)."
            )
        return X

    def _shape_of(self, row_shape):
        """Return rows, columns and channels of images stored in rows of this shape."""
        n_numbers = int(np.prod(row_shape))
        if self.image_shape is None:
            if len(row_shape) == 2:
                return (*row_shape, 1)
            side = int(n_numbers**0.5)
            if side**2 != n_numbers:
                raise ValueError(
                    f"Flat images must be square unless their shape is given, got {n_numbers} "
                    f"numbers per row. Use PatchTokenizer(image_shape=(rows, columns)) or "
                    f"(rows, columns, channels)."
                )
            return (side, side, 1)
        shape = tuple(self.image_shape)
        whole = all(isinstance(size, Integral) and size > 0 for size in shape)
        if len(shape) not in (2, 3) or not whole:
            raise ValueError(
                f"image_shape must be (rows, columns) or (rows, columns, channels), got "
                f"{self.image_shape!r}."
            )
        if len(row_shape) == 2 and row_shape != shape[:2]:
            raise ValueError(f"Images of shape {row_shape} in X are not those of {shape}.")
        shape = (*shape, 1)[:3]
        if np.prod(shape) != n_numbers:
            raise ValueError(
                f"An image of shape {self.image_shape} has {np.prod(shape)} numbers, but rows of X "
                f"have {n_numbers}."
            )
        return tuple(int(size) for size in shape)

    def _learn_channels(self, X, weights):
        """Scale channels over all images and pixels, a few images at a time."""
        images = X.reshape(len(X), -1, self.image_shape_[2])
        parts = [slice(i, i + _ROWS_AT_ONCE) for i in range(0, len(X), _ROWS_AT_ONCE)]
        largest = [np.abs(images[some]).max(axis=(0, 1)) for some in parts]
        self.unit_ = np.max(largest, axis=0).astype(np.float64)
        self.unit_[self.unit_ == 0.0] = 1.0
        means, squares = np.empty((2, len(X), len(self.unit_)))
        for some in parts:
            scaled = images[some] / self.unit_
            means[some], squares[some] = scaled.mean(axis=1), scaled.var(axis=1)
        self.mean_ = np.average(means, axis=0, weights=weights)
        # The variance of all pixels: within images and between them.
        squares += (means - self.mean_) ** 2
        self.std_ = np.sqrt(np.average(squares, axis=0, weights=weights))
        self.std_[self.std_ < 1e-12] = 1.0

    def __sklearn_tags__(self):
        """Say that the input may be three-dimensional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
