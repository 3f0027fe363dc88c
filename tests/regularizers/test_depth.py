"""Blocks are left out per row, at their rates, and are all there afterwards."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from skbound import TransformerClassifier
from skbound._nn._dropout import SeededDropout
from skbound.regularizers import Linear, StochasticDepth

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=2, width=8, n_heads=2, max_epochs=2, random_state=0
)


def prepared(net, rate, seed=0):
    depth = StochasticDepth(rate)
    depth.prepare(net, None)
    for number, dropout in enumerate(m for m in net.modules() if isinstance(m, SeededDropout)):
        dropout.generator = torch.Generator().manual_seed(seed + number)
    return depth


def test_each_row_skips_each_block_at_its_rate(net):
    """The first block's output is its input, or input plus twice what it adds at a rate of half."""
    row = torch.randn(1, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rows = row.repeat(4000, 1)
    tokens = net.embedding(rows)
    added = net.blocks[0](tokens) - tokens
    last = net.blocks[1](tokens, first_only=True) - tokens[:, :1]
    prepared(net.train(), 0.5)
    for found, full, rate in (
        (net.blocks[0](tokens) - tokens, added, 0.25),
        (net.blocks[1](tokens, first_only=True) - tokens[:, :1], last, 0.5),
    ):
        skipped = (found == 0).flatten(1).all(1)
        assert abs(skipped.double().mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / 4000)
        assert torch.allclose(found[~skipped], full[~skipped] / (1 - rate), atol=1e-9)


def test_evaluation_uses_all_blocks_and_nothing_is_left(net):
    rows = torch.randn(8, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    before, names = net.eval()(rows), [name for name, _ in net.named_modules()]
    depth = prepared(net, 0.5)
    assert torch.equal(net.eval()(rows), before) or torch.allclose(net(rows), before, atol=1e-12)
    assert not torch.allclose(net.train()(rows), before)
    depth.finish(net)
    assert [name for name, _ in net.named_modules()] == names
    assert torch.equal(net.train()(rows), before)


def test_rates_follow_a_schedule(net):
    depth = prepared(net, Linear(0.0, 0.8))
    rates = []
    for progress in (0.0, 0.5, 1.0):
        depth.progress = progress
        depth.before_gradient(net)
        rates.append([block.drop_rows.p for block in net.blocks])
    assert np.allclose(rates, [[0, 0], [0.2, 0.4], [0.4, 0.8]])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_seeded_also_in_several_threads(n_threads):
    model = clone(SMALL).set_params(regularizers=[StochasticDepth(0.5)], n_threads=n_threads)
    torch.rand(3)
    first, again = clone(model).fit(X, Y), clone(model).fit(X, Y)
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    assert not np.array_equal(
        first.predict_proba(X),
        clone(SMALL).set_params(n_threads=n_threads).fit(X, Y).predict_proba(X),
    )


@pytest.mark.parametrize("wrong", [-0.1, 1.0, "0.1", Linear(0.0, 1.0)])
def test_bad_rates_are_refused(wrong):
    with pytest.raises(ValueError, match="rate must be a number"):
        clone(SMALL).set_params(regularizers=[StochasticDepth(wrong)]).fit(X, Y)


def test_coordinates_in_place_of_weights_have_no_blocks():
    model = clone(SMALL).set_params(
        regularizers=[StochasticDepth()], protocol="description_length", max_epochs=1
    )
    with pytest.raises(ValueError, match="StochasticDepth drops blocks"):
        model.fit(X, Y)
