import copy
import pickle

import numpy as np
import pytest

from skbound.estimates import certified_error_estimate
from skbound.evidence import Evidence, ProgressiveSample, Sample


def make_evidence(**settings):
    settings = {"protocol": "holdout", "n_fit": 80, "majority_share": 0.6} | settings
    return Evidence(**settings)


def test_sample_counts_its_errors():
    sample = Sample([3, 1, 4, 7], [0, 1, 0, 0], [0.1, 0.9, 0.2, 0.0])
    assert (sample.n_samples, sample.n_errors, sample.error) == (4, 1, 0.25)
    assert sample.rows.dtype == np.intp
    assert sample.zero_one.dtype == sample.brier.dtype == np.float64


def test_sample_owns_its_arrays_and_does_not_let_them_change():
    losses = np.zeros(3)
    sample = Sample(range(3), losses, losses)
    losses[0] = 1.0
    assert sample.n_errors == 0
    for again in (sample, pickle.loads(pickle.dumps(sample)), copy.deepcopy(sample)):
        for values in (again.rows, again.zero_one, again.brier):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1
    with pytest.raises(AttributeError):
        sample.brier = None


@pytest.mark.parametrize("bad", [0.5, -1.0, np.nan, np.inf])
def test_sample_refuses_other_zero_one_losses(bad):
    with pytest.raises(ValueError, match="zero_one losses must be 0 or 1"):
        Sample([0, 1], [0.0, bad])


@pytest.mark.parametrize("bad", [1.1, -1e-9, np.nan, np.inf])
def test_sample_refuses_brier_losses_outside_their_range(bad):
    with pytest.raises(ValueError, match=r"brier losses must lie in \[0, 1\]"):
        Sample([0, 1], [0, 1], [0.5, bad])


@pytest.mark.parametrize("losses", [([0, 1, 1],), ([0, 1], [0.1]), ([[0, 1]],)])
def test_sample_refuses_losses_of_other_rows(losses):
    with pytest.raises(ValueError, match="of equal length"):
        Sample([0, 1], *losses)


def test_evidence_counts_certified_rows_and_shows_no_arrays():
    evidence = make_evidence(certified=Sample(range(20), np.zeros(20)))
    assert evidence.n_certified == 20
    assert repr(evidence).startswith("Evidence(protocol='holdout', n_fit=80,")
    assert repr(evidence).endswith("n_certified=20)")
    assert make_evidence().n_certified == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_candidates": 0}, "n_candidates must be an integer of at least 1, got 0"),
        ({"majority_share": 1.5}, r"majority_share must lie in \[0, 1\], got 1.5"),
        ({"majority_share": float("nan")}, "majority_share must lie"),
        ({"certified": Sample([], [])}, "at least one row; use None"),
    ],
)
def test_evidence_refuses(settings, message):
    with pytest.raises(ValueError, match=message):
        make_evidence(**settings)


def test_evidence_survives_a_pickle():
    evidence = make_evidence(certified=Sample([5, 2], [1, 0]), assumptions=("i.i.d. rows",))
    again = pickle.loads(pickle.dumps(evidence))
    assert repr(again) == repr(evidence)
    np.testing.assert_array_equal(again.certified.rows, [5, 2])


def test_error_estimate_is_the_share_with_its_standard_error():
    estimate = certified_error_estimate(make_evidence(certified=Sample(range(4), [1, 0, 0, 0])))
    assert float(estimate) == 0.25
    assert estimate.standard_error == pytest.approx((0.25 * 0.75 / 4) ** 0.5)
    assert not estimate.optimistic
    chosen = make_evidence(certified=Sample([0], [0]), n_candidates=2)
    assert certified_error_estimate(chosen).optimistic
    assert np.isnan(float(certified_error_estimate(make_evidence())))


def make_blocks(blocks=(0, 0, 1)):
    return ProgressiveSample(Sample([4, 2, 7], [1, 0, 0]), blocks, Sample([1, 3], [0, 1]))


def test_progressive_losses_are_evaluated_but_not_those_of_one_predictor():
    evidence = make_evidence(certified=make_blocks())
    assert evidence.kind == "progressive"
    assert evidence.evaluated is evidence.certified.sample
    assert (evidence.n_certified, evidence.n_predictors) == (3, 2)
    assert repr(evidence).endswith("n_certified=3)")
    again = pickle.loads(pickle.dumps(evidence)).certified
    np.testing.assert_array_equal(again.blocks, [0, 0, 1])
    with pytest.raises(ValueError, match="read-only"):
        again.blocks[0] = 1


@pytest.mark.parametrize("blocks", [(0, 1), (0, 0, 2), (1, 1, 1), (-1, 0, 1), ()])
def test_blocks_are_numbered_and_one_per_row(blocks):
    with pytest.raises(ValueError, match=r"blocks must (name one|be numbered)"):
        make_blocks(blocks)
