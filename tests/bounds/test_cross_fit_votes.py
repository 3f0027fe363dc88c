"""The bound on a vote from shared errors."""

import math
import pickle

import numpy as np
import pytest

from skbound.bounds import CrossFitBound, TandemBound, binomial_tail_inverse, certificates
from skbound.bounds import _merging as merging
from skbound.evidence import Evidence, FoldSample, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

BOUND = TandemBound()


def make_evidence(wrong, unseen=None, predictor="vote", **settings):
    """Row ``i`` was not seen by member ``j`` where ``unseen[j, i]``, who errs on it or not."""
    wrong = np.asarray(wrong)
    unseen = np.ones(wrong.shape, bool) if unseen is None else unseen
    members, rows = np.nonzero(unseen)
    sample = Sample(rows, wrong[unseen], wrong[unseen])
    folds = FoldSample(sample, members, predictor)
    settings = {"protocol": "cross_fit", "n_fit": 300, "majority_share": 0.5} | settings
    return Evidence(certified=folds, **settings)


def wrong_by(rng, shape, common, own):
    """Errors of which some are shared by all members."""
    shared = rng.random(shape[1]) < common
    return shared | (rng.random(shape) < own)


def test_pairs_are_counted_on_common_rows():
    rng = np.random.default_rng(0)
    unseen, wrong = rng.random((4, 50)) < 0.5, rng.random((4, 50)) < 0.3
    sizes, both = make_evidence(wrong, unseen).certified.pairs()
    pairs = [(j, k) for j in range(4) for k in range(j + 1, 4)]
    assert sizes.tolist() == [(unseen[j] & unseen[k]).sum() for j, k in pairs]
    errors = [(unseen[j] & unseen[k] & wrong[j] & wrong[k]).sum() for j, k in pairs]
    assert both.tolist() == errors


@pytest.mark.parametrize(("n_members", "factor"), [(3, 3.0), (4, 6.0), (5, 10 / 3), (9, 3.6)])
def test_equal_pairs_in_closed_form(n_members, factor):
    wrong = np.tile(np.arange(200) < 10, (n_members, 1))
    n_pairs = n_members * (n_members - 1) // 2
    t = merging._constant(n_pairs)
    level = math.log(0.05 * t / -math.expm1(-n_pairs * t)) - t
    pair = binomial_tail_inverse(10, 200, log_delta=level)
    assert BOUND(make_evidence(wrong), 0.05).value == pytest.approx(factor * pair, rel=1e-7)


def test_rare_shared_errors_beat_the_first_order_bound():
    rng = np.random.default_rng(0)
    apart, together = (
        certificates(make_evidence(wrong_by(rng, (9, 1000), common, own)), 0.05)
        for common, own in ((0.0, 0.2), (0.2, 0.0))
    )
    assert apart["tandem"].value < apart["cross_fit"].value
    assert together["tandem"].value > together["cross_fit"].value


def test_terms_choice_and_pickles():
    wrong = wrong_by(np.random.default_rng(0), (5, 300), 0.05, 0.1)
    evidence = make_evidence(wrong)
    found = BOUND(evidence, 0.01)
    assert math.fsum(found.terms.values()) == found.value
    assert found.terms["empirical_loss"] == pytest.approx(wrong.mean())
    paid = BOUND(make_evidence(wrong, n_candidates=20), 0.2)
    assert paid.value == pytest.approx(found.value, rel=1e-12)
    assert pickle.loads(pickle.dumps(BOUND))(pickle.loads(pickle.dumps(evidence)), 0.01) == found


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize(("common", "own"), [(0.0, 0.3), (0.2, 0.05)])
def test_it_holds_for_the_vote(common, own, delta):
    n_runs, misses, rng, values = 1000, 0, np.random.default_rng(0), {}
    # Wrong where at least two of three members are.
    risk = common + (1.0 - common) * (own**3 + 3.0 * own**2 * (1.0 - own))
    for _ in range(n_runs):
        wrong = wrong_by(rng, (3, 24), common, own)
        evidence = make_evidence(wrong)
        errors = tuple(sorted(evidence.certified.pairs()[1]))
        if errors not in values:
            values[errors] = BOUND(evidence, delta).value
        misses += values[errors] < risk
    assert misses / n_runs <= delta + 3.0 * np.sqrt(delta * (1.0 - delta) / n_runs)


def test_worst_case_of_the_inequality():
    """Two of three members wrong at a time, by turns: the vote errs on all these rows."""
    wrong = np.zeros((3, 3000), bool)
    for j in range(3):
        wrong[j, :600] = np.arange(600) % 3 != j
    exact, value = 600 / 3000, BOUND(make_evidence(wrong), 0.5).value
    assert exact <= value <= 1.15 * exact


def test_members_must_share_rows():
    wrong = np.zeros((3, 90), bool)
    folds = np.arange(90) % 3 == np.arange(3)[:, None]
    for evidence in (
        make_evidence(wrong, folds),
        make_evidence(wrong[:2]),
        make_evidence(wrong, predictor="gibbs"),
    ):
        with pytest.raises(MissingEvidenceError, match="scheme='bags'"):
            BOUND(evidence, 0.05)
    with pytest.raises(MissingEvidenceError, match="protocol='cross_fit'"):
        BOUND(checks.make_evidence(np.zeros(100)), 0.05)
    with pytest.raises(ValueError, match="for TandemBound, got 'brier'"):
        TandemBound("brier")


def test_kinds():
    wrong = np.zeros((3, 90), bool)
    folds = np.arange(90) % 3 == np.arange(3)[:, None]
    assert make_evidence(wrong).kind == "out_of_bag_vote"
    assert make_evidence(wrong, folds).kind == "cross_fit_vote"
    assert make_evidence(wrong[:2]).kind == "cross_fit_vote"
    assert make_evidence(wrong, predictor="average").kind == "cross_fit_average"
    assert list(certificates(make_evidence(wrong), 0.05))[-2:] == ["tandem", "brier_cross_fit"]
    assert CrossFitBound()(make_evidence(wrong), 0.05).n_certified == 90
