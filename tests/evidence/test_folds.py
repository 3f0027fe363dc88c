"""The record of cross-fitting."""

import pickle

import numpy as np
import pytest

from skbound.bounds import certificates
from skbound.evidence import Evidence, FoldSample, Sample

SAMPLE = Sample(np.arange(6), [0, 1, 0, 1, 1, 0], [0.1, 0.9, 0.2, 0.8, 0.5, 0.0])
FOLDS = FoldSample(SAMPLE, [0, 0, 1, 1, 1, 2], "vote")


def test_sums():
    sizes, errors = FOLDS.sums("zero_one")
    assert (sizes.tolist(), errors.tolist()) == ([2, 3, 1], [1.0, 2.0, 0.0])
    np.testing.assert_allclose(FOLDS.sums("brier")[1], [1.0, 1.5, 0.0])
    assert (FOLDS.n_samples, FOLDS.n_predictors) == (6, 3)
    assert FOLDS.pairs()[0].tolist() == [0, 0, 0]


def test_a_row_that_several_predictors_did_not_see_counts_once():
    sample = Sample([4, 5, 5, 6], [0, 1, 1, 0])
    folds = FoldSample(sample, [0, 0, 1, 1], "vote")
    assert (folds.n_samples, folds.sample.n_samples) == (3, 4)
    assert [part.tolist() for part in folds.pairs()] == [[1], [1]]
    evidence = Evidence(protocol="cross_fit", n_fit=9, majority_share=0.5, certified=folds)
    assert (evidence.n_certified, evidence.n_predictors) == (3, 2)
    assert {c.n_certified for c in certificates(evidence).values()} == {3}


def test_pickles_are_equal_and_write_protected():
    copy = pickle.loads(pickle.dumps(FOLDS))
    assert np.array_equal(copy.members, FOLDS.members)
    assert np.array_equal(copy.sample.zero_one, SAMPLE.zero_one)
    assert copy.predictor == "vote"
    for folds in (FOLDS, copy):
        with pytest.raises(ValueError, match="read-only"):
            folds.members[0] = 1


@pytest.mark.parametrize(
    ("rows", "members", "predictor", "message"),
    [
        (range(3), [0, 1], "vote", "one predictor for each of the 3 entries"),
        ([], [], "vote", "at least one"),
        (range(3), [0, 2, 2], "vote", "without a gap"),
        (range(3), [1, 1, 2], "vote", "without a gap"),
        ([1, 1, 2], [0, 0, 1], "vote", "at most once on each row"),
        (range(3), [0, 1, 2], "mean", "predictor must be one of .* got 'mean'"),
    ],
)
def test_records_that_make_no_sense(rows, members, predictor, message):
    with pytest.raises(ValueError, match=message):
        FoldSample(Sample(rows, np.zeros(len(rows))), members, predictor)
