import math
from dataclasses import replace

import numpy as np
import pytest

from skbound.exceptions import MissingEvidenceError
from skbound.measures import (
    TransformerDataTerm,
    TransformerFormula,
    TransformerModelTerm,
    scaling,
    transformer_terms,
)
from tests.measures.transformers import record, transformer

SIZES = {"depth": 6, "width": 512, "n_heads": 8, "n_tokens": 128}


def test_what_the_document_prints_is_not_what_its_arithmetic_gives():
    found = scaling({"depth": range(1, 12, 2), "n_tokens": [64, 128, 256, 512]}, **SIZES)
    # With a weight bound of 1, depth changes nothing.
    np.testing.assert_allclose(found["depth"][:, 2], 69_632.0, rtol=1e-12)
    expected = [3.8561e4, 6.9632e4, 1.3397e5, 2.6419e5]
    np.testing.assert_allclose(found["n_tokens"][:, 2], expected, rtol=2e-5)
    # The table in the document grows with depth and falls with the length.
    assert (np.diff(found["n_tokens"][:, 2]) > 0).all()


def test_the_two_terms():
    terms = transformer_terms(**SIZES, weight_bound=1.5)
    model = 2 * math.sqrt(2) * 1.5**6 * 128 * 512 / math.sqrt(8)
    data = 4 * 1.5**5 * 512**1.5 / math.sqrt(128)
    assert math.exp(terms.log_model) == pytest.approx(model)
    assert math.exp(terms.log_data) == pytest.approx(data)
    assert float(terms.total) == pytest.approx(model + data)


def test_scaling_varies_one_quantity_at_a_time():
    found = scaling(
        {"weight_bound": [1.0, 2.0], "n_heads": [1, 4], "width": [4, 16]}, **SIZES, weight_bound=1.0
    )
    ratios = {name: values[1] / values[0] for name, values in found.items()}
    np.testing.assert_allclose(ratios["weight_bound"][:2], [2.0**6, 2.0**5])
    np.testing.assert_allclose(ratios["n_heads"][:2], [0.5, 1.0])
    np.testing.assert_allclose(ratios["width"][:2], [4.0, 8.0])


def test_overflow_is_infinite_and_the_logarithm_is_not():
    terms = transformer_terms(depth=5000, width=8, n_heads=2, n_tokens=4, weight_bound=10.0)
    assert np.isinf(terms.total)
    assert terms.log_total == pytest.approx(5000 * math.log(10), rel=1e-3)


@pytest.mark.parametrize("name", [*SIZES, "weight_bound"])
def test_numbers_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name} must be positive, got 0"):
        transformer_terms(**(SIZES | {name: 0}))


def test_unknown_quantities_raise():
    with pytest.raises(ValueError, match=r"got \['n_samples'\] too"):
        scaling({"n_samples": [10]}, **SIZES)


def test_measures_take_the_largest_spectral_norm():
    net = record(transformer())
    bound = max(layer.spectral_norm for layer in net.layers)
    terms = transformer_terms(depth=2, width=8, n_heads=2, n_tokens=6, weight_bound=bound)
    assert TransformerModelTerm().log_value(net) == pytest.approx(float(terms.log_model))
    assert TransformerDataTerm().log_value(net) == pytest.approx(float(terms.log_data))
    assert TransformerFormula().value(net) == pytest.approx(float(terms.total))
    # No number of rows occurs.
    assert TransformerFormula().value(replace(net, n_samples=10**6)) == pytest.approx(
        TransformerFormula().value(net)
    )


def test_other_nets_have_no_such_number():
    net = record(transformer(), n_heads=None)
    with pytest.raises(MissingEvidenceError, match="Pass them to Architecture"):
        TransformerFormula()(net)
