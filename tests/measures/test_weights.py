import math

import numpy as np
import pytest
from scipy import stats

from skbound.evidence import Layer
from skbound.measures import weight_statistics
from tests.measures.transformers import record, transformer


def test_moments_and_quantiles_per_role():
    net = record(transformer())
    found = weight_statistics(net)
    assert list(found) == list(dict.fromkeys(layer.role for layer in net.layers))
    assert sum(s.n_weights for s in found.values()) == sum(x.weight.size for x in net.layers)
    entries = np.concatenate([x.weight.ravel() for x in net.layers if x.role == "query"])
    query = found["query"]
    assert query.n_weights == 2 * 64
    assert query.mean == pytest.approx(entries.mean())
    assert query.std == pytest.approx(entries.std())
    assert query.skewness == pytest.approx(stats.skew(entries))
    assert query.excess_kurtosis == pytest.approx(stats.kurtosis(entries))
    np.testing.assert_allclose(query.quantiles, np.quantile(entries, query.levels))
    assert (query.quantiles[0], query.quantiles[-1]) == (entries.min(), entries.max())


def test_entries_that_are_all_alike_have_no_shape():
    layer = Layer(name="a", role="a", weight=np.full((30, 7), 0.1))
    found = weight_statistics([layer], levels=[0.5])["a"]
    assert math.isnan(found.skewness)
    assert math.isnan(found.excess_kurtosis)
    assert found.quantiles.tolist() == [0.1]


def test_levels_are_shares():
    with pytest.raises(ValueError, match=r"levels must be in \[0, 1\]"):
        weight_statistics([], levels=[1.5])
