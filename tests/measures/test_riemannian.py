import math

import numpy as np
import pytest

from skbound.collect import chain_features
from skbound.exceptions import MissingEvidenceError
from skbound.measures import PointwiseRiemannianDimension, PRDProxy, riemannian_dimension
from tests.collect.nets import chain, probe_of, record, rows, table_probe

NEEDS = ("features", "chain_features", "downstream_norms")


def dimension(net, scale):
    """The definition, spelled out."""
    weights = [layer.weight for layer in net.layers]
    square = sum((w**2).sum() for w in weights)
    total = 0.0
    for place, (weight, found) in enumerate(zip(weights, net.chain_features, strict=True)):
        suffix = np.prod([np.linalg.norm(w, 2) ** 2 for w in weights[place + 1 :]])
        for value in found.eigenvalues:
            mu = len(weights) * suffix * value
            if mu >= scale**2 / square:
                total += weight.shape[0] * math.log(mu * square / scale**2)
    return total


def least(net):
    return min(
        eps + math.sqrt(dimension(net, eps) / net.n_samples)
        for eps in np.exp(np.linspace(-0.5 * math.log(net.n_samples), 12.0, 6000))
    )


def test_least_sum_is_that_of_the_definition():
    net = record(probe_of(chain(4, 6, 5, 3), *rows(20, 4)), *NEEDS, n_samples=5000)
    assert float(PointwiseRiemannianDimension(3000)(net)) == pytest.approx(least(net), rel=1e-3)


def test_one_layer_has_the_closed_form():
    eigenvalues, square, scale = np.array([3.0, 0.7, 1e-9]), 5.0, 0.8
    found = riemannian_dimension([eigenvalues], [0.0], [4], weight_square=square, scale=scale)
    terms = np.log(eigenvalues[:2] * square / scale**2)
    assert found == pytest.approx(4 * terms.sum())


def test_features_of_low_rank_count_no_more_than_their_rank():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 9))
    (found,) = chain_features(probe_of(chain(9, 3), X, rng.integers(3, size=30)))
    for scale in (1e-3, 1e-6):
        each = [
            riemannian_dimension([np.array([v])], [0.0], [1], weight_square=1.0, scale=scale)
            for v in found.eigenvalues
        ]
        assert np.count_nonzero(each) <= 2


def test_it_does_not_rise_with_the_scale():
    net = record(probe_of(chain(4, 6, 3), *rows(20, 4)), "chain_features")
    values = [
        riemannian_dimension(
            [f.eigenvalues for f in net.chain_features], [0.3, 0.0], [6, 3],
            weight_square=2.0, scale=float(eps),
        )
        for eps in np.geomspace(1e-4, 1e3, 50)
    ]  # fmt: skip
    assert (np.diff(values) <= 0.0).all()
    assert values[0] > 0.0
    assert values[-1] == 0.0


@pytest.mark.parametrize("rule", [PointwiseRiemannianDimension(), PRDProxy()])
def test_repeated_rows_change_nothing(rule):
    module, (X, codes) = chain(4, 6, 3), rows(20, 4)
    once = record(probe_of(module, X, codes), *NEEDS, n_samples=20)
    again = probe_of(module, np.repeat(X, 2, axis=0), np.repeat(codes, 2))
    twice = record(again, *NEEDS, n_samples=20)
    assert float(rule(twice)) == pytest.approx(float(rule(once)), rel=1e-9)


def test_measured_slopes_count_no_more_than_products_of_norms():
    net = record(probe_of(chain(4, 6, 6, 3), *rows(20, 4)), *NEEDS, n_samples=5000)
    exact, proxy = PointwiseRiemannianDimension()(net), PRDProxy()(net)
    assert 0.0 < float(proxy) <= float(exact) + 1e-3


def test_rescaling_changes_no_suffix_times_features_but_the_sum_of_squares():
    module = chain(4, 6, 3, bias=False)
    probe = probe_of(module, *rows(20, 4))
    rule = PointwiseRiemannianDimension()
    before = record(probe, *NEEDS, n_samples=5000)
    module[0].weight.data *= 4.0
    module[2].weight.data /= 4.0
    after = record(probe, *NEEDS, n_samples=5000)
    for net in (before, after):
        assert float(rule(net)) == pytest.approx(least(net), rel=1e-2)
    assert float(rule(before)) != pytest.approx(float(rule(after)), rel=1e-3)


def test_a_transformer_has_only_the_proxy():
    net = record(table_probe(n=8), *NEEDS, n_samples=1000)
    assert math.isfinite(float(PRDProxy()(net)))
    with pytest.raises(MissingEvidenceError, match="prd_proxy"):
        PointwiseRiemannianDimension()(net)


def test_features_that_are_zero_leave_the_smallest_scale():
    net = record(probe_of(chain(4, 3), np.zeros((5, 4)), np.zeros(5, int)), *NEEDS, n_samples=100)
    assert float(PointwiseRiemannianDimension()(net)) == pytest.approx(0.1)
