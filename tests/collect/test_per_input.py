import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from skbound.collect import log_lipschitz_upper, per_input
from tests.collect.nets import chain, probe_of, rows, table_probe


def test_linear_net_has_the_distances_of_the_formula():
    X, codes = rows(8, 4)
    module = chain(4, 3)
    found = per_input(probe_of(module, X, codes))
    weight = module[0].weight.detach().numpy()
    logits = X @ weight.T + module[0].bias.detach().numpy()
    expected = []
    for row in logits:
        c = row.argmax()
        others = [k for k in range(3) if k != c]
        expected.append(
            min((row[c] - row[k]) / np.linalg.norm(weight[c] - weight[k]) for k in others)
        )
    np.testing.assert_allclose(found.distance_estimate, expected)
    np.testing.assert_allclose(found.distance_upper, expected, rtol=1e-9)
    np.testing.assert_allclose(found.jacobian_norm, np.linalg.norm(weight, 2))
    assert (found.jacobian_rank == 3).all()


def test_numbers_are_those_of_single_passes():
    probe = table_probe()
    found = per_input(probe)
    double = probe.module.double()
    for i, (x, label) in enumerate(zip(probe.X, probe.codes, strict=True)):
        x = torch.as_tensor(x[None]).requires_grad_()
        logits = double(x)
        (gradient,) = torch.autograd.grad(F.cross_entropy(logits, torch.tensor([label])), x)
        assert found.loss_gradient_norm[i] == pytest.approx(float(gradient.norm()))
        row = logits.detach().numpy()[0]
        assert found.margin[i] == pytest.approx(row[label] - np.delete(row, label).max())


def test_a_changed_prediction_lies_at_the_upper_distance():
    X, codes = rows(20, 2, n_classes=2)
    module = chain(2, 8, 2)
    found = per_input(probe_of(module, X, codes))
    steps = np.linspace(-6.0, 6.0, 601)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    with torch.no_grad():
        there, here = (module(torch.as_tensor(part)) for part in (grid, X))
    gaps = (here[:, 0] - here[:, 1]).abs().numpy()
    safe = gaps / (np.sqrt(2.0) * np.exp(log_lipschitz_upper(module)))
    assert np.isfinite(found.distance_upper).sum() > 10
    for i, x in enumerate(X):
        others = grid[(there.argmax(1) != here.argmax(1)[i]).numpy()]
        true = np.linalg.norm(others - x, axis=1).min()
        assert safe[i] <= true
        # The grid has steps of 0.02.
        assert true <= found.distance_upper[i] + 0.03


def test_rank_of_the_jacobian_is_that_of_the_narrowest_layer():
    probe = probe_of(chain(5, 1, 4, activation=nn.Tanh), *rows(6, 5, n_classes=4))
    assert (per_input(probe).jacobian_rank == 1).all()


def test_a_constant_net_has_no_boundary():
    module = chain(3, 2)
    module[0].weight.data.zero_()
    found = per_input(probe_of(module, *rows(4, 3, n_classes=2)))
    assert np.isinf(found.distance_estimate).all()
    assert np.isinf(found.distance_upper).all()
    assert (found.jacobian_rank == 0).all()


def test_table_has_one_row_per_row():
    frame = per_input(table_probe()).to_frame()
    assert frame.shape == (6, 6)
    assert frame.columns[0] == "margin"
