import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import Probe, collect
from skbound.evidence import Architecture
from skbound.measures import (
    OffsetRademacher,
    linear_offset_complexity,
    measure,
    offset_complexity_of_ball,
)


def features(n_rows=40, n_features=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def test_independent_features():
    phi = features()
    assert linear_offset_complexity(phi @ phi.T, 0.3) == pytest.approx(5 / (4 * 0.3 * 40))
    # A scale of the features changes nothing, nor does a feature twice.
    wide = np.hstack([1e3 * phi, phi])
    assert linear_offset_complexity(wide @ wide.T, 0.3) == pytest.approx(5 / (4 * 0.3 * 40))


def test_no_features():
    assert linear_offset_complexity(np.zeros((4, 4)), 0.3) == 0.0
    assert offset_complexity_of_ball(np.zeros((4, 4)), 0.3, 1.0) == 0.0


def test_with_penalty_it_is_the_mean_of_the_maxima():
    phi, c, r = features(12, 3), 0.7, 2.0
    inverse = np.linalg.inv(c * phi.T @ phi + r * np.eye(3))
    codes = np.arange(2**12)[:, None] >> np.arange(12) & 1
    pulls = (2.0 * codes - 1.0) @ phi
    exact = 0.25 * np.einsum("bi,ij,bj->b", pulls, inverse, pulls).mean() / 12
    assert linear_offset_complexity(phi @ phi.T, c, penalty=r) == pytest.approx(exact)


def test_a_large_ball_is_no_restriction_and_a_point_is_nothing():
    phi = features()
    gram = phi @ phi.T
    free = linear_offset_complexity(gram, 0.3)
    assert offset_complexity_of_ball(gram, 0.3, 1e6, n_draws=4000) == pytest.approx(free, rel=0.05)
    assert offset_complexity_of_ball(gram, 0.3, 0.0) == 0.0
    sizes = [offset_complexity_of_ball(gram, 0.3, r) for r in (0.01, 0.1, 1.0, 10.0)]
    assert sizes == sorted(sizes)


def test_a_small_ball_leaves_the_plain_complexity():
    phi, radius = features(), 1e-6
    signs = np.random.default_rng([3, 0]).choice([-1.0, 1.0], (200, 40))
    plain = radius * np.linalg.norm(signs @ phi, axis=1).mean() / 40
    found = offset_complexity_of_ball(phi @ phi.T, 0.3, radius, seed=3)
    assert found == pytest.approx(plain, rel=1e-4)


def test_the_maximum_over_a_ball_by_trying():
    phi, c, radius = features(10, 2), 0.4, 0.3
    angle, length = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(0, radius, 101))
    tried = np.stack([length * np.cos(angle), length * np.sin(angle)], -1).reshape(-1, 2)
    values = tried @ phi.T
    signs = np.random.default_rng([0, 0]).choice([-1.0, 1.0], (50, 10))
    best = ((signs @ values.T) - c * (values**2).sum(axis=1)).max(axis=1)
    found = offset_complexity_of_ball(phi @ phi.T, c, radius, n_draws=50)
    assert found == pytest.approx(best.mean() / 10, rel=1e-3)
    assert found >= best.mean() / 10


def linear_record(moved):
    module = nn.Linear(4, 3, bias=False).double()
    start = nn.Linear(4, 3, bias=False).double()
    with torch.no_grad():
        start.weight.copy_(module.weight + moved / math.sqrt(12))
    X = features(20, 4)
    probe = Probe(module, X, np.zeros(20, np.intp), lambda rows: rows)
    return collect(
        module,
        Architecture(n_parameters=12, n_classes=3),
        n_samples=20,
        initial=start,
        probe=probe,
        needs=["tangent_kernel"],
    )


def test_of_a_linear_net():
    far = OffsetRademacher(offset=0.3).value(linear_record(1e6))
    # Every direction of the range is pulled by signs whose mean square is 1.
    assert far == pytest.approx(12 / (4 * 0.3 * 20), rel=0.1)
    assert OffsetRademacher().value(linear_record(0.0)) == 0.0


def test_without_the_start_there_is_no_radius():
    net = linear_record(1.0)
    unknown = replace(net, layers=tuple(replace(layer, initial=None) for layer in net.layers))
    found = measure(unknown, [OffsetRademacher()])
    assert "was not recorded" in found.not_computed["offset_rademacher"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linear_offset_complexity(np.eye(2), 0.0), "offset must be positive, got 0"),
        (lambda: linear_offset_complexity(np.eye(2), 1.0, penalty=-1.0), "penalty must not"),
        (lambda: linear_offset_complexity(np.ones((2, 3)), 1.0), "gram must be a square"),
        (lambda: linear_offset_complexity(-np.eye(2), 1.0), "gram must be positive semidefinite"),
        (lambda: offset_complexity_of_ball(np.eye(2), 1.0, -1.0), "radius must not be negative"),
        (lambda: offset_complexity_of_ball(np.eye(2), 1.0, 1.0, n_draws=0), "n_draws must be"),
    ],
)
def test_numbers_out_of_range_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
