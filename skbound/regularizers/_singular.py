"""The first singular vectors of a matrix."""

from __future__ import annotations

import torch
import torch.nn.functional as F

__all__ = ["first_singular_vectors"]


@torch.no_grad()
def first_singular_vectors(matrix):
    """Return the singular vectors that belong to the largest singular value.

    By the eigenvectors of the smaller of ``W W'`` and ``W' W``: the last bits of the vectors suffer
    from squaring, those of ``u' W v`` do not. Power iterations would be no faster at the widths
    of small nets, and stay behind where two singular values are close.

    Parameters
    ----------
    matrix : torch.Tensor of shape (n_out, n_in)
        W.

    Returns
    -------
    u : torch.Tensor of shape (n_out,)
        Left vector, of length 1.
    v : torch.Tensor of shape (n_in,)
        Right vector, of length 1; zero for a matrix of zeros.
    """
    wide = matrix.shape[0] <= matrix.shape[1]
    _, vectors = torch.linalg.eigh(matrix @ matrix.T if wide else matrix.T @ matrix)
    first = vectors[:, -1]
    if wide:
        return first, F.normalize(matrix.T @ first, dim=0)
    return F.normalize(matrix @ first, dim=0), first
