import math

import numpy as np
import pytest

from skbound.measures import (
    FeatureEntropyRank,
    FeatureParticipationRank,
    FeatureStableRank,
    JacobianEntropyRank,
    JacobianParticipationRank,
    JacobianStableRank,
    effective_ranks,
    feature_ranks,
)
from tests.collect.nets import chain, probe_of, record, rows
from tests.collect.test_gradients import one_by_one

KINDS = ("entropy", "participation", "stable", "nuclear")


def all_of(eigenvalues):
    return [getattr(effective_ranks(np.asarray(eigenvalues, float)), kind) for kind in KINDS]


def test_published_vectors():
    np.testing.assert_allclose(all_of([4, 1]), [1.889882, 1.470588, 1.25, 1.8], atol=1e-6)
    np.testing.assert_allclose(all_of(np.ones(7)), 7.0)
    np.testing.assert_allclose(all_of([3, 0, 0]), 1.0)
    assert np.isnan(all_of([0, 0])).all()


def test_scale_order_and_zeros_do_not_matter():
    values = np.array([5.0, 2.0, 0.3])
    np.testing.assert_allclose(all_of([0.3e200, 0.0, 5e200, 2e200]), all_of(values))
    assert (np.array(all_of(values)) <= 3.0).all()
    assert (np.array(all_of(values)) >= 1.0).all()


@pytest.mark.parametrize("bad", [[-1.0, 2.0], [math.nan, 1.0], [math.inf]])
def test_what_is_no_spectrum_is_refused(bad):
    with pytest.raises(ValueError, match="finite and not negative"):
        effective_ranks(np.array(bad))


def test_features_of_rank_one_count_as_one():
    # A ratio of standard deviations calls such features 6-dimensional.
    _, codes = rows(9, 1)
    X = np.outer(np.arange(1.0, 10.0), [1.0, -2.0, 3.0, 0.5])
    net = record(probe_of(chain(4, 3), X, codes), "features")
    (ranks,) = feature_ranks(net).values()
    assert (ranks.entropy, ranks.participation) == pytest.approx((1.0, 1.0), abs=1e-6)
    for rule in (FeatureEntropyRank(), FeatureParticipationRank(), FeatureStableRank()):
        assert float(rule(net)) == pytest.approx(1.0, abs=1e-6)


def test_rescaling_layers_leaves_ranks_of_features_alone():
    module = chain(4, 5, 3)
    probe = probe_of(module, *rows(9, 4))
    before = feature_ranks(record(probe, "features"))
    module[0].weight.data *= 3.0
    module[0].bias.data *= 3.0
    module[2].weight.data /= 3.0
    after = feature_ranks(record(probe, "features"))
    assert list(before) == ["0", "2"]
    for name in before:
        assert after[name].participation == pytest.approx(before[name].participation)


def test_ranks_of_the_jacobian_are_those_of_the_matrix():
    probe = probe_of(chain(4, 5, 3), *rows(4, 4))
    jacobian = np.stack([one_by_one(probe, k) for k in range(3)], axis=1).reshape(12, -1)
    expected = effective_ranks(np.linalg.svd(jacobian, compute_uv=False) ** 2)
    net = record(probe, "tangent_kernel")
    # Zero eigenvalues come with roots of rounding, which entropy of singular values sees.
    assert float(JacobianEntropyRank()(net)) == pytest.approx(expected.entropy, rel=1e-5)
    assert float(JacobianParticipationRank()(net)) == pytest.approx(expected.participation)
    assert float(JacobianStableRank()(net)) == pytest.approx(expected.stable)
