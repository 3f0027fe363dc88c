"""Balls of matrix norms to project on."""

from __future__ import annotations

import torch

from skbound.regularizers._projection import Projection

__all__ = ["EntryClip", "FrobeniusBall", "RowBall", "SpectralBall"]

# A little inside, so that rounding to single precision does not lead out again.
_INSIDE = 1.0 - 1e-7


class SpectralBall(Projection):
    """Cut the singular values of each matrix at `radius` after each step, exactly.

    ``W = U diag(s) V'`` becomes ``U diag(min(s, radius)) V'``, the nearest matrix in Frobenius norm
    of spectral norm at most `radius`. Smaller singular values stay, unlike with `SpectralNorm`.

    Parameters
    ----------
    radius : float or Schedule, default=2.0
        Largest singular value.
    where : str or tuple of str, default="matrices"
        "query_key", "value", "feed_forward", "head", "embedding", "bias", or "matrices" for the
        first four. A bias counts as a matrix of one row.

    Notes
    -----
    In double precision, by the eigenvectors of the smaller of ``W W'`` and ``W' W``; skipped where
    the Frobenius norm is small enough. The cost grows with the cube of ``width``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> from skbound.regularizers import Linear, SpectralBall
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     depth=1, width=16, max_epochs=5, random_state=0,
    ...     regularizers=(SpectralBall(radius=Linear(5.0, 1.0), where="value"),),
    ... ).fit(X, y)
    >>> import torch
    >>> weight = clf.net_.module_.blocks[0].attention.value.weight
    >>> bool(torch.linalg.matrix_norm(weight, 2) < 1 + 1e-5)
    True
    """

    def __init__(self, radius=2.0, where="matrices"):
        self.radius = radius
        self.where = where

    def project(self, weight, radius):
        """Cut the singular values; see :meth:`Projection.project`."""
        exact = weight.double()
        if exact.norm() <= radius:
            return weight
        wide = exact.shape[0] <= exact.shape[1]
        squares, vectors = torch.linalg.eigh(exact @ exact.T if wide else exact.T @ exact)
        beyond = squares > radius**2
        if not beyond.any():
            return weight
        vectors = vectors[:, beyond]
        shrink = 1.0 - _INSIDE * radius / squares[beyond].sqrt()
        if wide:
            exact = exact - (vectors * shrink) @ (vectors.T @ exact)
        else:
            exact = exact - (exact @ vectors * shrink) @ vectors.T
        return exact.to(weight.dtype)


class FrobeniusBall(Projection):
    """Scale each matrix down to Frobenius norm `radius` after each step, where it is larger.

    Parameters
    ----------
    radius : float or Schedule, default=4.0
        Largest root of the sum of squares.
    where : str or tuple of str, default="matrices"
        Roles as for `SpectralBall`.
    """

    def __init__(self, radius=4.0, where="matrices"):
        self.radius = radius
        self.where = where

    def project(self, weight, radius):
        """Scale the matrix; see :meth:`Projection.project`."""
        exact = weight.double()
        norm = exact.norm()
        return weight if norm <= radius else (exact * (_INSIDE * radius / norm)).to(weight.dtype)


class RowBall(Projection):
    """Scale each row, the weights into one unit, down to length `radius` after each step.

    Parameters
    ----------
    radius : float or Schedule, default=2.0
        Largest Euclidean length of a row.
    where : str or tuple of str, default="matrices"
        Roles as for `SpectralBall`.

    References
    ----------
    Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov 2014, section 5.1 ("max-norm").
    """

    def __init__(self, radius=2.0, where="matrices"):
        self.radius = radius
        self.where = where

    def project(self, weight, radius):
        """Scale the rows; see :meth:`Projection.project`."""
        exact = weight.double()
        norms = exact.norm(dim=1, keepdim=True)
        return torch.where(norms <= radius, exact, exact * (_INSIDE * radius / norms)).to(weight)


class EntryClip(Projection):
    """Clip each number of each matrix to [-radius, radius] after each step.

    Parameters
    ----------
    radius : float or Schedule, default=0.5
        Largest absolute value.
    where : str or tuple of str, default="matrices"
        Roles as for `SpectralBall`.

    Notes
    -----
    For an ``n_out x n_in`` matrix this only says that the spectral norm is at most
    ``radius * sqrt(n_out * n_in)``; `SpectralBall` limits it directly.
    """

    def __init__(self, radius=0.5, where="matrices"):
        self.radius = radius
        self.where = where

    def project(self, weight, radius):
        """Clip the numbers; see :meth:`Projection.project`."""
        # The largest number of this precision that is no more than the radius.
        largest = torch.tensor(radius, dtype=weight.dtype)
        if largest.double() > radius:
            largest = torch.nextafter(largest, torch.zeros_like(largest))
        return weight.clamp(-float(largest), float(largest))
