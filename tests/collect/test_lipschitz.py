import math

import numpy as np
import pytest
import torch
from torch import nn

from skbound._nn._attention import Attention
from skbound.collect import (
    attention_lipschitz,
    jacobian_norm,
    local_log_lipschitz,
    log_lipschitz_local_upper,
    log_lipschitz_upper,
)
from skbound.collect._lipschitz import GELU_CONSTANT, head_maps
from skbound.exceptions import MissingEvidenceError
from tests.collect.nets import chain, probe_of, record, rows, sequence_net, table_net


def attend(tokens, value, score, offset):
    """One head on (..., t, d) tokens."""
    weights = (tokens @ score @ tokens.mT + (tokens @ offset)[..., None, :]).softmax(-1)
    return weights @ tokens @ value.T


def head(seed, d=3):
    generator = torch.Generator().manual_seed(seed)

    def draw(*size):
        return torch.randn(size, generator=generator, dtype=torch.float64)

    return draw(d, d), 0.5 * draw(d, d), 0.5 * draw(d), draw(5, d)


def into_ball(tokens, radius):
    norms = tokens.norm(dim=-1, keepdim=True)
    return tokens * (radius / norms).clamp(max=1.0)


def derivative(tokens, change, maps):
    # torch.func.jvp warns of what it is built on.
    return torch.autograd.functional.jvp(
        lambda x: attend(x, *maps), tokens, change, create_graph=True
    )[1]


def stretch(tokens, change, maps):
    """Largest token norm of attention's derivative in a direction with tokens of length 1."""
    unit = change / change.norm(dim=-1, keepdim=True)
    return derivative(tokens, unit, maps).norm(dim=-1).max()


@pytest.mark.parametrize("seed", range(3))
def test_attention_never_stretches_more_even_when_pushed(seed):
    value, score, offset, tokens = head(seed)
    radius, maps = 1.5, (value, score, offset)
    limit = attention_lipschitz(
        float(torch.linalg.matrix_norm(value, 2)),
        float(torch.linalg.matrix_norm(score, 2)),
        radius=radius,
        query_offset=float(offset.norm()),
    )
    generator = torch.Generator().manual_seed(seed)
    tokens = into_ball(tokens, radius).requires_grad_()
    change = torch.randn(tokens.shape, generator=generator, dtype=torch.float64).requires_grad_()
    found = []
    for _ in range(334):
        found.append(stretch(tokens, change, maps))
        ups = torch.autograd.grad(found[-1], (tokens, change))
        with torch.no_grad():
            tokens = into_ball(tokens + 0.05 * ups[0], radius)
            change = change + 0.05 * ups[1]
        tokens.requires_grad_()
        change.requires_grad_()
    best = max(float(f.detach()) for f in found)
    assert float(found[0].detach()) < best <= limit
    # Worth something too: not more than a small multiple of what was reached.
    assert limit < 12.0 * best


def test_without_scores_attention_stretches_by_the_value_norm_exactly():
    value, score, offset, tokens = head(0)
    norm = float(torch.linalg.matrix_norm(value, 2))
    assert attention_lipschitz(norm, 0.0, radius=7.0) == norm
    # All tokens moved alike along the first right singular vector reach it.
    change = torch.linalg.svd(value)[2][0].expand_as(tokens)
    reached = stretch(tokens, change, (value, 0.0 * score, 0.0 * offset)).detach()
    assert float(reached) == pytest.approx(norm)


def test_scale_of_tokens_against_scores_does_not_matter():
    here = attention_lipschitz(2.0, 0.5, radius=3.0, query_offset=0.7)
    for c in (0.1, 4.0):
        there = attention_lipschitz(2.0, 0.5 / c**2, radius=3.0 * c, query_offset=0.7 / c)
        assert there == pytest.approx(here)


def test_unbounded_tokens_have_no_constant_and_the_jacobian_grows():
    assert attention_lipschitz(1.0, 0.1, radius=math.inf) == math.inf
    value, score, offset = torch.eye(2).double(), torch.eye(2).double(), torch.zeros(2).double()
    change = torch.tensor([[1.0, 0.0]] * 3, dtype=torch.float64)
    change[1:] = 0.0
    norms = []
    for scale in (1.0, 10.0, 100.0):
        # The first token sees equal scores and moves the weights of the others.
        tokens = torch.tensor([[0.0, 0.0], [scale, 0.0], [-scale, 0.0]], dtype=torch.float64)
        moved = derivative(tokens, change, (value, score, offset)).detach()
        norms.append(float(moved.norm(dim=-1).max()))
    assert norms[1] > 50.0 * norms[0]
    assert norms[2] > 50.0 * norms[1]


def test_gelu_is_as_steep_as_stated():
    x = torch.linspace(-6.0, 6.0, 200_001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(nn.functional.gelu(x).sum(), x)
    assert float(slope.abs().max()) <= GELU_CONSTANT
    assert float(slope.abs().max()) == pytest.approx(GELU_CONSTANT, abs=1e-8)
    assert pytest.approx(1.129, abs=1e-4) == GELU_CONSTANT


def test_layer_norm_reaches_its_constant_where_nothing_varies():
    norm = nn.LayerNorm(5).double()
    norm.weight.data = torch.tensor([0.5, -2.0, 1.0, 0.1, 1.5], dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(norm, torch.full((5,), 3.0, dtype=torch.float64))
    reached = float(torch.linalg.matrix_norm(jacobian, 2))
    assert math.exp(log_lipschitz_upper(norm)) == pytest.approx(reached)
    plain = nn.LayerNorm(5)
    assert math.exp(log_lipschitz_upper(plain)) == pytest.approx(316.2278, rel=1e-6)


def test_heads_are_those_of_the_module():
    attention, norm = Attention(width=6, n_heads=2).double(), nn.LayerNorm(6).double()
    generator = torch.Generator().manual_seed(0)
    for module in (attention, norm):
        for p in module.parameters():
            p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64)
    x = torch.randn(1, 4, 6, generator=generator, dtype=torch.float64)
    z = nn.functional.layer_norm(x, (6,))
    out = sum(attend(z, *maps) for maps in head_maps(attention, norm))
    difference = attention(norm(x), norm(x)) - out
    # They differ by what the biases of keys, values and outputs add: the same for all tokens.
    torch.testing.assert_close(difference, difference[:, :1].expand_as(difference))


def ascend(module, x, n_steps):
    """Push a row towards a larger norm of its Jacobian; return the largest seen."""
    best, x = 0.0, torch.as_tensor(x[None])
    for _ in range(n_steps):
        x = x.detach().requires_grad_()
        logits = module(x)[0]
        rows = [torch.autograd.grad(one, x, create_graph=True)[0].flatten() for one in logits]
        norm = torch.linalg.matrix_norm(torch.stack(rows), 2)
        best = max(best, float(norm.detach()))
        (up,) = torch.autograd.grad(norm, x)
        x = x + 0.05 * up / up.norm().clamp(min=1e-12)
    return best


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (table_net(depth=1, n_features=3, width=4), (3,)),
        (table_net(depth=2, pooling="mean", width=4), (4,)),
        (sequence_net(), (3, 2)),
        (chain(4, 6, 3, activation=nn.GELU), (4,)),
    ],
)
def test_no_row_exceeds_its_bounds_even_when_pushed(module, shape):
    X, codes = rows(40, *shape, n_classes=2)
    X *= np.geomspace(0.01, 30.0, 40).reshape(-1, *[1] * len(shape))
    probe = probe_of(module, X, codes)
    double = probe_of(module.double(), X, codes).module
    upper = math.exp(log_lipschitz_upper(double))
    with torch.no_grad():
        output, local = local_log_lipschitz(double, torch.as_tensor(X))
        torch.testing.assert_close(output, double(torch.as_tensor(X)))
    each = [jacobian_norm(probe_of(double, x[None], codes[:1])) for x in X]
    assert (each <= np.exp(local.numpy()) * (1.0 + 1e-9)).all()
    assert (local.numpy() <= log_lipschitz_upper(double) + 1e-9).all()
    assert jacobian_norm(probe) == pytest.approx(max(each), rel=1e-5)
    assert log_lipschitz_local_upper(probe) == pytest.approx(float(local.max()), rel=1e-5)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert ascend(double, X[5], 250) <= upper


def test_finite_distances_obey_the_bound():
    module = table_net(depth=1, n_features=3).double()
    upper = math.exp(log_lipschitz_upper(module))
    X, _ = rows(400, 3)
    with torch.no_grad():
        logits = module(torch.as_tensor(X)).numpy()
    gaps = np.linalg.norm(logits[:200] - logits[200:], axis=1)
    assert (gaps <= upper * np.linalg.norm(X[:200] - X[200:], axis=1)).all()


def test_linear_chain_is_exact_and_rescaling_changes_nothing():
    module = chain(4, 6, 3)
    probe = probe_of(module, *rows(5, 4))
    product = np.prod([np.linalg.norm(m.weight.detach().numpy(), 2) for m in module[::2]])
    assert math.exp(log_lipschitz_upper(module)) == pytest.approx(product)
    before = jacobian_norm(probe)
    module[0].weight.data *= 8.0
    module[0].bias.data *= 8.0
    module[2].weight.data /= 8.0
    assert math.exp(log_lipschitz_upper(module)) == pytest.approx(product)
    assert jacobian_norm(probe) == pytest.approx(before)


def test_queries_against_keys_change_nothing():
    module = table_net()
    before = log_lipschitz_upper(module)
    with torch.no_grad():
        for part in (
            module.blocks[0].attention.query.weight,
            module.blocks[0].attention.query.bias,
        ):
            part.mul_(4.0)
        module.blocks[0].attention.key.weight.div_(4.0)
    assert log_lipschitz_upper(module) == pytest.approx(before, rel=1e-6)


def test_another_kind_of_transformer_is_refused():
    module = table_net()
    module.blocks[1].norm_attention = nn.Identity()
    with pytest.raises(MissingEvidenceError, match="Identity"):
        log_lipschitz_upper(module)
    with pytest.raises(MissingEvidenceError, match="Identity"):
        local_log_lipschitz(module, torch.zeros(1, 4))
    module = table_net()
    module.blocks[0].attention.gate = nn.Linear(8, 8)
    with pytest.raises(MissingEvidenceError, match="Attention"):
        log_lipschitz_upper(module)


def test_unknown_parts_are_named_and_the_jacobian_is_measured_all_the_same():
    module = nn.Sequential(nn.Linear(4, 4), nn.Bilinear(1, 1, 1))
    with pytest.raises(MissingEvidenceError, match="Bilinear"):
        log_lipschitz_upper(module)
    with pytest.raises(MissingEvidenceError, match="approximate"):
        log_lipschitz_upper(nn.GELU(approximate="tanh"))
    own = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    needs = ("log_lipschitz_upper", "log_lipschitz_local_upper", "jacobian_norm")
    net = record(probe_of(own, *rows(4, 4)), *needs)
    assert net.log_lipschitz_upper is None
    assert set(net.reasons) == set(needs[:2])
    assert net.jacobian_norm > 0.0
