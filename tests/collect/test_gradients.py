import numpy as np
import pytest
import torch
import torch.nn.functional as F

from skbound.collect import Probe, gradient_norms, logit_gradients, loss_gradients
from tests.collect.nets import chain, probe_of, rows, sequence_net, table_net, table_probe


def one_by_one(probe, k=None):
    """Gradients of the rows' losses, or of one logit, by ordinary backward passes."""
    module = probe.module.double()
    found = []
    for x, label in zip(probe.X, probe.codes, strict=True):
        module.zero_grad()
        logits = module(torch.as_tensor(x[None]))
        out = F.cross_entropy(logits, torch.as_tensor([label])) if k is None else logits[0, k]
        out.backward()
        found.append(torch.cat([p.grad.flatten() for p in module.parameters()]).numpy().copy())
    return np.array(found)


def nets():
    X, codes = rows(5, 3, 2, n_classes=2)
    return [
        table_probe(),
        table_probe(pooling="mean", width=6),
        probe_of(sequence_net(), X, codes),
        probe_of(chain(4, 5, 3), *rows(6, 4)),
    ]


@pytest.mark.parametrize("probe", nets())
def test_gradients_are_those_of_single_backward_passes(probe):
    fast = torch.cat(list(loss_gradients(probe, n_rows=4))).numpy()
    logits = torch.cat(list(logit_gradients(probe, n_rows=4))).numpy()
    norms = gradient_norms(probe)
    slow = one_by_one(probe)
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    np.testing.assert_allclose(logits[:, 1], one_by_one(probe, 1), atol=1e-12)
    np.testing.assert_allclose(norms.per_row, np.linalg.norm(slow, axis=1))
    assert norms.of_mean == pytest.approx(np.linalg.norm(slow.mean(axis=0)))
    assert norms.mean_square == pytest.approx((slow**2).sum(axis=1).mean())


def test_linear_net_has_the_gradient_of_the_formula():
    X, codes = rows(5, 4)
    probe = probe_of(chain(4, 3), X, codes)
    with torch.no_grad():
        residual = probe.module(torch.as_tensor(X)).softmax(1).numpy() - np.eye(3)[codes]
    # The gradient is residual times (x, 1).
    expected = np.linalg.norm(residual, axis=1) * np.sqrt((X**2).sum(axis=1) + 1.0)
    np.testing.assert_allclose(gradient_norms(probe).per_row, expected)


@pytest.mark.parametrize("probe", nets())
def test_chunks_and_order_of_rows_do_not_matter(probe):
    whole = torch.cat(list(loss_gradients(probe)))
    for n_rows in (1, 2, 5):
        part = torch.cat(list(loss_gradients(probe, n_rows=n_rows)))
        torch.testing.assert_close(part, whole, rtol=1e-9, atol=1e-13)
    turned = Probe(probe.module, probe.X[::-1], probe.codes[::-1], probe.prepare)
    forth, back = gradient_norms(probe), gradient_norms(turned)
    np.testing.assert_allclose(forth.per_row, back.per_row[::-1], rtol=1e-9)
    assert forth.of_mean == pytest.approx(back.of_mean, rel=1e-9)


def test_repeated_rows_change_no_norm():
    # A monitor that sums squares of batch gradients and divides by rows fails this.
    probe = table_probe()
    twice = probe_of(probe.module, np.repeat(probe.X, 2, axis=0), np.repeat(probe.codes, 2))
    once, again = gradient_norms(probe), gradient_norms(twice)
    assert again.mean_square == pytest.approx(once.mean_square, rel=1e-9)
    assert again.of_mean == pytest.approx(once.of_mean, rel=1e-9)


def test_frozen_parameters_are_left_out():
    module = table_net()
    n = sum(p.numel() for p in module.parameters())
    frozen = module.embedding.weight
    frozen.requires_grad_(False)
    (gradients,) = loss_gradients(probe_of(module, *rows(3, 4)))
    assert gradients.shape == (3, n - frozen.numel())


def test_the_net_stays_as_it_was():
    probe = table_probe()
    before = {name: value.clone() for name, value in probe.module.state_dict().items()}
    gradient_norms(probe)
    for name, value in probe.module.state_dict().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, before[name])
    assert all(p.grad is None for p in probe.module.parameters())
