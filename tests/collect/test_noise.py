"""How much noise a net endures: a closed form, scales, seeds, chunks and rows."""

import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import Probe, noise_scale, relative_noise_scale
from skbound.collect._noise import _noisy_error
from skbound.exceptions import MissingEvidenceError
from tests.collect.chains import chain, probe_of, transformer


class Shift(nn.Module):
    """Two logits, of which one is x + b: noise on b alone."""

    def __init__(self, b):
        super().__init__()
        self.b = nn.Parameter(torch.tensor([float(b)], dtype=torch.float64))

    def forward(self, x):
        return torch.cat([torch.zeros_like(x), x + self.b], dim=1)


def shifted(b=0.0, n=500):
    """Rows evenly on [-1, 1], labelled by their sign plus b: noise s errs on min(1, |s z|) / 2."""
    X = ((np.arange(n) + 0.5) / n * 2.0 - 1.0)[:, None] - b
    return Probe(Shift(b), X, (X[:, 0] + b > 0).astype(np.intp), lambda X: X)


def draws(seed=0):
    return np.array([np.random.default_rng([seed, 1 + k]).standard_normal() for k in range(10)])


def test_closed_form():
    # The mean over the ten draws of min(1, sigma |z|) / 2 is 0.1, at a standard deviation sigma.
    sigma = 0.2 / np.abs(draws()).mean()
    assert sigma * np.abs(draws()).max() < 1.0
    assert noise_scale(shifted()) == pytest.approx(sigma, rel=0.03)


def test_relative_noise_is_in_proportion_to_size():
    sigma = 0.2 / np.abs(draws()).mean()
    assert relative_noise_scale(shifted(b=50.0)) == pytest.approx(sigma / 50.0, rel=0.03)


def test_the_result_is_a_crossing():
    torch.manual_seed(0)
    net = chain()
    X = np.random.default_rng(0).normal(size=(40, 4))
    with torch.no_grad():
        codes = net(torch.as_tensor(X)).argmax(1).numpy()
    probe = Probe(net, X, codes, lambda X: X)
    for relative, search in ((False, noise_scale), (True, relative_noise_scale)):
        sigma = search(probe)
        assert _noisy_error(probe, sigma, relative=relative) <= 0.1
        assert _noisy_error(probe, 1.023 * sigma, relative=relative) > 0.1


def labelled(module, n=40, shape=(4,)):
    X = np.random.default_rng(0).normal(size=(n, *shape))
    with torch.no_grad():
        first = next(module.parameters())
        codes = module.eval()(torch.as_tensor(X).to(first.dtype)).argmax(1).numpy()
    return X, codes


@pytest.mark.parametrize("search", [noise_scale, relative_noise_scale])
def test_same_answer(search, monkeypatch):
    net = transformer(dtype=torch.float32)
    X, codes = labelled(net)
    found = search(Probe(net, X, codes, lambda X: X))
    before = [p.clone() for p in net.parameters()]
    assert search(Probe(net, X, codes, lambda X: X)) == found
    assert search(Probe(net, X[::-1], codes[::-1], lambda X: X)) == found
    chunks = Probe.chunks
    monkeypatch.setattr(Probe, "chunks", lambda self: chunks(self, 7))
    assert search(Probe(net, X, codes, lambda X: X)) == found
    assert search(Probe(net, X, codes, lambda X: X, seed=1)) != found
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))


def test_no_scale_of_noise():
    net = chain()
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
    # All logits are equal: noise on nothing helps as often as it hurts.
    probe = probe_of(net, n=60)
    with pytest.raises(MissingEvidenceError, match=r"up to 1024 .*ignores its input"):
        noise_scale(Probe(net, probe.X, np.full(60, 2), lambda X: X))
    tiny = Shift(1e-12)
    ones = Probe(tiny, np.zeros((20, 1)), np.ones(20, np.intp), lambda X: X)
    with pytest.raises(MissingEvidenceError, match="Noise as small as"):
        noise_scale(ones)
