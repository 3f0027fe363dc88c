import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import chain_features, downstream_norms, features
from skbound.exceptions import MissingEvidenceError
from tests.collect.nets import chain, probe_of, rows, sequence_net, table_net, table_probe


def test_moments_are_those_of_the_inputs():
    X, codes = rows(7, 4)
    probe = probe_of(chain(4, 5, 3), X, codes)
    hidden = torch.relu(probe.module[0](torch.as_tensor(X))).detach().numpy()
    for found, inputs in zip(features(probe), (X, hidden), strict=True):
        expected = np.linalg.eigvalsh(inputs.T @ inputs / 7)[::-1]
        np.testing.assert_allclose(found.eigenvalues, np.maximum(expected, 0.0), atol=1e-12)


def test_tokens_of_a_row_are_summed():
    X, codes = rows(5, 3, 2, n_classes=2)
    found = {f.name: f for f in features(probe_of(sequence_net(), X, codes))}
    flat = X.reshape(-1, 2)
    np.testing.assert_allclose(
        found["embedding.project"].eigenvalues, np.linalg.eigvalsh(flat.T @ flat / 5)[::-1]
    )
    assert len(found) == 1 + 6 + 1


@pytest.mark.parametrize("n_rows", [1, 4, 100])
def test_chunks_do_not_matter(n_rows):
    probe = table_probe(n=9)
    for whole, part in zip(features(probe), features(probe, n_rows=n_rows), strict=True):
        np.testing.assert_allclose(part.eigenvalues, whole.eigenvalues, rtol=1e-9, atol=1e-12)


def test_hooks_are_removed():
    probe = table_probe()
    features(probe)
    downstream_norms(probe)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in probe.module.modules())


def test_what_follows_a_layer_in_a_linear_chain_is_its_product():
    probe = probe_of(chain(4, 5, 6, 3, activation=nn.Identity), *rows(4, 4))
    first, second, last = (m.weight.detach().numpy() for m in probe.module[::2])
    assert first.shape == (5, 4)
    norms = [np.linalg.norm(last @ second, 2), np.linalg.norm(last, 2), 1.0]
    np.testing.assert_allclose(downstream_norms(probe), norms)


def test_what_follows_a_layer_is_at_most_the_product_of_norms():
    probe = probe_of(chain(4, 6, 6, 3), *rows(30, 4))
    _, second, last = (np.linalg.norm(m.weight.detach().numpy(), 2) for m in probe.module[::2])
    assert (downstream_norms(probe) <= np.array([second * last, last, 1.0]) + 1e-12).all()


def test_transformer_layers_have_one_norm_each():
    probe = table_probe(pooling="mean")
    norms = downstream_norms(probe)
    assert len(norms) == len(features(probe))
    assert (norms > 0.0).all()
    # Nothing follows the head.
    assert norms[-1] == pytest.approx(1.0)


def test_other_nets_are_refused():
    probe = table_probe()
    with pytest.raises(MissingEvidenceError, match="prd_proxy"):
        chain_features(probe)
    image = nn.Sequential(nn.Conv2d(1, 2, 2), nn.Flatten(), nn.Linear(8, 3))
    with pytest.raises(MissingEvidenceError, match="are others"):
        features(probe_of(image, *rows(3, 1, 3, 3)))

    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x):
            return self.used(x)

    with pytest.raises(MissingEvidenceError, match=r"\['idle'\] were not"):
        features(probe_of(Idle(), *rows(3, 4)))


def test_a_layer_that_is_used_in_another_way_is_refused():
    class Folded(nn.Linear):
        def forward(self, x):
            return super().forward(x.flatten(1))

    with pytest.raises(MissingEvidenceError, match="reads vectors of length 2"):
        features(probe_of(nn.Sequential(Folded(6, 3)), *rows(3, 3, 2)))


def test_frozen_layers_are_measured_too():
    module = table_net()
    module.requires_grad_(False)
    assert (downstream_norms(probe_of(module, *rows(4, 4))) > 0.0).all()
