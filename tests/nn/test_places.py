"""Positions, masks and padding, on cases small enough to compute by hand."""

import math

import numpy as np
import pytest
import torch

from skbound._nn._places import (
    Places,
    alibi_slopes,
    rotated,
    rotation,
    sinusoidal_codes,
    visible,
)
from tests.nn.nets import net, of_ids, padded, rows


def test_sinusoidal_codes():
    codes = sinusoidal_codes(3, 4)
    expected = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    np.testing.assert_allclose(codes, expected, rtol=1e-14)
    assert sinusoidal_codes(3, 5).shape == (3, 5)


def test_a_rotation_by_hand():
    turned = rotated(torch.tensor([[1.0, 0.0], [1.0, 0.0]]).double(), rotation(2, 2))
    expected = [[1.0, 0.0], [math.cos(1.0), math.sin(1.0)]]
    np.testing.assert_allclose(turned, expected, rtol=1e-14)


@pytest.mark.parametrize("head_width", [2, 5, 8])
def test_rotated_logits_depend_on_the_distance_only(head_width):
    rng = np.random.default_rng(0)
    q, k = (torch.as_tensor(rng.normal(size=head_width)) for _ in range(2))
    turn = rotation(12, head_width)
    logits = rotated(q.expand(12, -1), turn) @ rotated(k.expand(12, -1), turn).T
    for distance in range(-11, 12):
        diagonal = logits.diagonal(distance)
        np.testing.assert_allclose(diagonal, diagonal[:1].expand_as(diagonal), rtol=1e-10)
    assert not np.isclose(logits[0, 0], logits[0, 1])
    np.testing.assert_allclose(rotated(q.expand(12, -1), turn).norm(dim=1), q.norm().expand(12))


def test_alibi_slopes_and_distances():
    slopes = [2.0**-1, 2.0**-2, 2.0**-3, 2.0**-4, 2.0**-5, 2.0**-6, 2.0**-7, 2.0**-8]
    assert alibi_slopes(8).tolist() == slopes
    places = Places(
        3, cls_first=True, n_heads=2, head_width=4, positions="alibi", span=None, causal=False
    )
    places.fill()
    distances = np.array([[0, 0, 0, 0], [0, 0, 1, 2], [0, 1, 0, 1], [0, 2, 1, 0]])
    np.testing.assert_allclose(places.bias[0, 0], -(2.0**-4) * distances)
    np.testing.assert_allclose(places.bias[0, 1], -(2.0**-8) * distances)


def test_who_sees_whom():
    seen = visible(4, span=1, causal=True, cls_first=True).int().tolist()
    assert seen == [
        [1, 1, 1, 1, 1],
        [0, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 0, 1, 1],
    ]
    assert visible(3, span=None, causal=False, cls_first=True).all()
    assert visible(3, span=0, causal=False, cls_first=False).int().tolist() == np.eye(3).tolist()


def tokens_after_all_blocks(module, x):
    tokens = module.embedding(x)
    for block in module.blocks:
        tokens = block(tokens, module.places(None))
    return tokens


def test_causal_attention_does_not_look_ahead():
    module = net(parts={"causal": True}, pooling="mean")
    x, changed = rows(), rows()
    changed[:, 3:] += 1.0
    before, after = (tokens_after_all_blocks(module, rows_) for rows_ in (x, changed))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


def test_the_cls_token_stands_behind_all_tokens_of_a_decoder():
    module = net(parts={"causal": True}, depth=1)
    for place in range(5):
        changed = rows()
        changed[:, place] += 1.0
        assert not torch.allclose(module(rows()), module(changed))


def test_tokens_outside_the_span_do_not_matter():
    module = net(parts={"span": 1}, pooling="mean", depth=1)
    changed = rows()
    changed[:, 4] += 1.0
    before, after = (tokens_after_all_blocks(module, rows_) for rows_ in (rows(), changed))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


def test_without_positions_order_does_not_matter():
    mixed = rows()[:, [1, 0, 3, 4, 2]]
    for pooling in ("cls", "mean"):
        module = net(parts={"positions": "none"}, pooling=pooling)
        np.testing.assert_allclose(*(module(x).detach() for x in (rows(), mixed)), rtol=1e-10)
        for positions in ("learned", "sinusoidal", "rotary", "alibi"):
            module = net(parts={"positions": positions}, pooling=pooling)
            assert not torch.isclose(module(rows()), module(mixed), rtol=1e-6).all()


def test_only_distances_are_known_to_alibi_so_it_cannot_tell_forward_from_backward():
    for parts, same in [({}, True), ({"causal": True}, False)]:
        module = net(parts={"positions": "alibi", **parts})
        out = module(rows()), module(rows().flip(1))
        assert torch.allclose(*out, rtol=1e-9) is same


def test_rotary_and_alibi_read_distances_only():
    """A row moved by two places within padding gives the same answer, but for learned codes."""
    early, late = torch.full((2, 16, 7, 3), torch.nan, dtype=torch.float64)
    early[:, :5], late[:, 2:] = rows(), rows()
    for positions, same in [("rotary", True), ("alibi", True), ("learned", False)]:
        module = net(padded(7), parts={"positions": positions}, pooling="mean")
        a, b = module(early), module(late)
        assert bool(torch.isclose(a, b, rtol=1e-9).all()) is same


POSITIONS = ["learned", "sinusoidal", "rotary", "alibi", "none"]


@pytest.mark.parametrize("attention", ["dot", "l2"])
@pytest.mark.parametrize("more", [{}, {"causal": True, "span": 2}], ids=["all", "decoder"])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_padding_does_not_matter(positions, pooling, more, attention):
    parts = {"positions": positions, "attention": attention, **more}
    short = net(padded(5), parts=parts, pooling=pooling)
    long = net(padded(9), parts=parts, pooling=pooling)
    state = short.state_dict()
    if positions == "learned":
        codes = long.state_dict()["embedding.position"]
        codes[:5] = state["embedding.position"]
        state["embedding.position"] = codes
    long.load_state_dict(state)
    x = rows()
    x[3, 2:], x[4] = torch.nan, torch.nan
    longer = torch.nn.functional.pad(x, (0, 0, 0, 4), value=torch.nan)
    out = short(x)
    assert out.isfinite().all()
    np.testing.assert_allclose(long(longer).detach(), out.detach(), rtol=1e-10, atol=1e-12)
    grads = torch.autograd.grad(out.sum(), list(short.parameters()), allow_unused=True)
    assert all(g is None or g.isfinite().all() for g in grads)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_padded_ids_equal_a_net_without_the_padding(pooling):
    plain, long = net(of_ids(3), pooling=pooling), net(of_ids(6), pooling=pooling)
    state = plain.state_dict()
    codes = long.state_dict()["embedding.position"]
    codes[:3] = state["embedding.position"]
    long.load_state_dict({**state, "embedding.position": codes})
    ids = torch.tensor([[2.0, 5.0, 3.0], [1.0, 6.0, 2.0]])
    out = long(torch.nn.functional.pad(ids, (0, 3)))
    np.testing.assert_allclose(out.detach(), plain(ids).detach(), rtol=1e-10)
