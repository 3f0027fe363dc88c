"""Attention by distance, against its formula and its theorem; parts that must not stretch."""

import math

import numpy as np
import pytest
import torch
from scipy.special import lambertw, softmax

from skbound._nn._activations import maxmin
from skbound._nn._attention import DistanceAttention
from skbound._nn._norms import Projection
from skbound.architectures import SparseTargetHead, position_codes
from tests.nn.nets import net


def distance_attention(width=6, n_heads=2, scale=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    attention = DistanceAttention(width=width, n_heads=n_heads).double()
    for parameter in attention.parameters():
        parameter.data.normal_(0.0, scale, generator=generator)
    return attention


def test_the_formula():
    """Kim, Papamakarios and Mnih 2021, section 3.2, one query and head after the other."""
    attention = distance_attention()
    x = np.random.default_rng(0).normal(size=(4, 6))
    w_query, w_value, w_output = (
        layer.weight.detach().numpy().T
        for layer in (attention.query, attention.value, attention.output)
    )
    b_value, b_output = (
        attention.value.bias.detach().numpy(),
        attention.output.bias.detach().numpy(),
    )
    heads = []
    for own in (slice(0, 3), slice(3, 6)):
        q = x @ w_query[:, own]
        logits = [[-((a - b) ** 2).sum() / math.sqrt(3) for b in q] for a in q]
        tied = w_query[:, own] @ w_query[:, own].T / math.sqrt(3)
        heads.append(softmax(logits, axis=1) @ x @ tied @ w_value[:, own] + b_value[own])
    expected = np.concatenate(heads, axis=1) @ w_output + b_output
    tokens = torch.as_tensor(x)[None]
    np.testing.assert_allclose(attention(tokens, tokens)[0].detach(), expected, rtol=1e-10)
    first = attention(tokens[:, :1], tokens)[0].detach()
    np.testing.assert_allclose(first, expected[:1], rtol=1e-10)


def lipschitz_upper(attention, n_tokens):
    """Theorem 3.2 for the Frobenius norm: phi^-1(T - 1) = W((T - 1) / e).

    The norm of a query map counts squared: once for the logits, once for the values. So it must:
    with c times the map and a c-th of the input, the Jacobian is c^2 times what it was.
    """
    by_head = [layer.weight.unflatten(0, (2, -1)) for layer in (attention.query, attention.value)]
    of_query, of_value = (torch.linalg.matrix_norm(w, ord=2).detach().numpy() for w in by_head)
    growth = 4.0 * float(lambertw((n_tokens - 1) / math.e).real) + 1.0
    heads = math.sqrt(((of_query**2 * of_value) ** 2).sum())
    output = float(torch.linalg.matrix_norm(attention.output.weight.detach(), ord=2))
    return math.sqrt(n_tokens / 3) * growth * heads * output


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0, 10.0, 100.0])
def test_its_jacobian_stays_below_the_theorem_at_any_input(scale, factor):
    attention, rng = distance_attention(), np.random.default_rng(1)
    attention.query.weight.data *= factor
    upper = lipschitz_upper(attention, 4)
    for _ in range(5):
        x = torch.as_tensor(scale * rng.normal(size=(1, 4, 6)))
        jacobian = torch.autograd.functional.jacobian(lambda t: attention(t, t), x)
        assert torch.linalg.matrix_norm(jacobian.reshape(24, 24), ord=2) <= upper


def test_dot_products_are_not_lipschitz():
    """With one token at zero the norm of the Jacobian grows with the square of the others."""
    module = net(parts={"norm": "none"}).blocks[0].attention
    for layer in (module.query, module.key):
        layer.bias.data.zero_()
    norms = []
    for scale in (1.0, 10.0, 100.0):
        x = torch.zeros(1, 3, 8, dtype=torch.float64)
        x[0, 1], x[0, 2] = scale, -scale
        jacobian = torch.autograd.functional.jacobian(lambda t: module(t, t), x)
        norms.append(float(torch.linalg.matrix_norm(jacobian.reshape(24, 24), ord=2)))
    assert norms[2] > 50.0 * norms[1] > 500.0 * norms[0]


def test_maxmin_by_hand():
    x = torch.tensor([[1.0, -2.0, 0.5, 3.0, 7.0]])
    assert maxmin(x).tolist() == [[1.0, 3.0, 0.5, -2.0, 7.0]]


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_maxmin_keeps_norms_and_stretches_nothing(size):
    x, y = torch.randn(2, 100, size, generator=torch.Generator().manual_seed(0)).double()
    torch.testing.assert_close(maxmin(x).norm(dim=1), x.norm(dim=1))
    assert ((maxmin(x) - maxmin(y)).norm(dim=1) <= (x - y).norm(dim=1) * (1 + 1e-12)).all()


def test_projection():
    norm = Projection(2)
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    expected = torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]).double()
    torch.testing.assert_close(norm(x), expected)
    norm(x).sum().backward()
    assert x.grad.isfinite().all()
    a, b = 2.0 * torch.randn(2, 1000, 2, generator=torch.Generator().manual_seed(0)).double()
    assert ((norm(a) - norm(b)).norm(dim=1) <= (a - b).norm(dim=1) * (1 + 1e-12)).all()


def test_the_head_built_by_hand_is_one_of_ours():
    """Written into an attention module, it weighs the tokens as it says."""
    head = SparseTargetHead(position_codes(5, 8), target=2, sharpness=6.0)
    module = net(n_heads=1).blocks[0].attention
    eye, zero = torch.eye(8).double(), torch.zeros(8, 8).double()
    weights = {"query": zero, "key": eye, "value": eye, "output": eye}
    with torch.no_grad():
        for name, weight in weights.items():
            getattr(module, name).weight.copy_(weight)
            getattr(module, name).bias.zero_()
        module.query.bias.copy_(torch.as_tensor(head.query * math.sqrt(8)))
        codes = torch.as_tensor(head.codes)[None]
        mixed = module(codes, codes)[0]
    expected = np.broadcast_to(head.attention @ head.codes, (5, 8))
    np.testing.assert_allclose(mixed, expected, rtol=1e-10)
    off = np.linalg.norm(mixed[0].numpy() - head.codes[2])
    assert off <= head.output_error_bound(1.0)
