import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import Probe, perturbed_logits
from tests.measures.transformers import N_CLASSES, probe, transformer


def test_draws_are_from_a_ball_around_the_weights():
    module = nn.Linear(6, 1, bias=False)
    nn.init.constant_(module.weight, 2.0)
    rows = Probe(module, np.eye(6), np.zeros(6, np.intp), lambda x: x)
    weights = perturbed_logits(rows)[..., 0]
    apart = np.linalg.norm(weights - 2.0, axis=1)
    radius = 0.1 * np.sqrt(24.0)
    assert (apart <= radius * (1 + 1e-9)).all()
    # Uniform in the ball: the sixth power of the distance is uniform.
    assert (apart / radius).max() > 0.95
    assert np.mean((apart / radius) ** 6) == pytest.approx(0.5, abs=0.15)


def test_same_seed_same_nets():
    module = transformer()
    before = [p.clone() for p in module.parameters()]
    once, again = perturbed_logits(probe(module)), perturbed_logits(probe(module))
    assert once.shape == (64, 30, N_CLASSES)
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, perturbed_logits(probe(module, seed=1)))
    assert all(torch.equal(p, q) for p, q in zip(before, module.parameters(), strict=True))


def test_order_of_rows_does_not_matter():
    rows = probe(transformer())
    turned = Probe(rows.module, rows.X[::-1], rows.codes[::-1], rows.prepare)
    np.testing.assert_allclose(perturbed_logits(turned)[:, ::-1], perturbed_logits(rows))
