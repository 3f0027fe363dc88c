"""Spectral norms of convolutions against the matrix of the whole map."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import convolution_singular_values, convolutions
from skbound.exceptions import MissingEvidenceError
from tests.collect.chains import chain, probe_of


def matrix_of(conv, shape):
    conv = copy.deepcopy(conv)
    conv.bias = None
    units = torch.eye(int(np.prod(shape)), dtype=torch.float64).reshape(-1, *shape)
    with torch.no_grad():
        return conv(units).flatten(1).T.numpy()


def net_of(conv, n_outputs):
    return nn.Sequential(conv, nn.ReLU(), nn.Flatten(), nn.Linear(n_outputs, 2)).double()


def convolution(*args, **kwargs):
    torch.manual_seed(0)
    return nn.Conv2d(*args, **kwargs).double()


@pytest.mark.parametrize("size", [(5, 5), (4, 7), (3, 3)])
def test_circular_padding_is_exact(size):
    conv = convolution(2, 3, 3, padding=1, padding_mode="circular")
    values = np.linalg.svd(matrix_of(conv, (2, *size)), compute_uv=False)
    found = convolution_singular_values(conv.weight.detach().numpy(), size)
    np.testing.assert_allclose(found[: len(values)], values, atol=1e-9)
    net = net_of(conv, 3 * size[0] * size[1])
    (norms,) = convolutions(probe_of(net, shape=(2, *size), n_classes=2))
    assert norms.spectral_norm == pytest.approx(values[0], rel=1e-9)
    assert (norms.name, norms.exact, norms.change_norm) == ("0", True, None)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 1, 2])
def test_zero_padding_and_strides_are_bounded(padding, stride):
    conv = convolution(2, 3, 3, padding=padding, stride=stride)
    matrix = matrix_of(conv, (2, 6, 6))
    net = net_of(conv, len(matrix))
    (norms,) = convolutions(probe_of(net, shape=(2, 6, 6), n_classes=2))
    true = np.linalg.norm(matrix, 2)
    assert true <= norms.spectral_norm * (1 + 1e-9)
    assert not norms.exact
    if stride == 1:
        assert norms.spectral_norm < 1.3 * true


def test_the_change_and_other_dimensions():
    conv = nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular").double()
    net = net_of(conv, 15)
    initial = copy.deepcopy(net)
    with torch.no_grad():
        net[0].weight.mul_(3.0)
    (norms,) = convolutions(probe_of(net, shape=(2, 5), n_classes=2, initial=initial))
    assert norms.change_norm == pytest.approx(2.0 / 3.0 * norms.spectral_norm)


def test_what_is_not_covered_is_refused():
    with pytest.raises(MissingEvidenceError, match="no convolutions"):
        convolutions(probe_of(chain()))
    for kwargs in (
        {"groups": 2},
        {"dilation": 2},
        {"padding": 1, "padding_mode": "reflect"},
        {"padding": 2, "padding_mode": "circular"},
    ):
        conv = convolution(2, 2, 3, **kwargs)
        net = net_of(conv, len(matrix_of(conv, (2, 6, 6))))
        with pytest.raises(MissingEvidenceError, match="convolution 0"):
            convolutions(probe_of(net, shape=(2, 6, 6), n_classes=2))
    with pytest.raises(ValueError, match="as large as the kernel"):
        convolution_singular_values(np.ones((1, 1, 3, 3)), (2, 5))
