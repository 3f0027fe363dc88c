"""A row's answer does not depend on how the matrices of the head were stored when they came."""

import torch

from skbound._nn._head import ClippedLinear


def test_matrices_are_stored_row_by_row():
    generator = torch.Generator().manual_seed(0)
    for n_directions, width in [(9, 16), (8, 16), (3, 5)]:
        directions = torch.randn(width, n_directions, generator=generator).double().T
        weight = torch.randn(n_directions, 4, generator=generator).double().T
        head = ClippedLinear(torch.zeros(width).double(), directions, weight, torch.zeros(4))
        assert head.directions.is_contiguous()
        assert head.weight.is_contiguous()
        assert torch.equal(head.directions[:, :width], directions)
