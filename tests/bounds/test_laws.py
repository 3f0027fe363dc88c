"""Laws that every bound obeys, whatever it is computed from."""

import itertools
import math
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from skbound.bounds import (
    HOLDOUT_BOUNDS,
    BestOf,
    BettingBound,
    BinomialBound,
    Bound,
    EmpiricalBernsteinBound,
    HoeffdingBound,
    HoldoutBound,
    KLBound,
    SplitKLBound,
    UnexpectedBernsteinBound,
    certificates,
    kl_inverse_upper,
    no_certificate,
    resolve_bound,
)
from skbound.evidence import Evidence, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

BRIER = [
    KLBound("brier"),
    HoeffdingBound("brier"),
    EmpiricalBernsteinBound("brier"),
    BettingBound("brier"),
    SplitKLBound("brier"),
    UnexpectedBernsteinBound("brier"),
    BestOf((KLBound("brier"), EmpiricalBernsteinBound("brier"), BettingBound("brier"))),
]
every_bound = pytest.mark.parametrize("bound", [*HOLDOUT_BOUNDS.values(), *BRIER], ids=repr)
DELTAS = (1e-6, 0.001, 0.01, 0.05, 0.2, 0.5, 0.9)


@every_bound
def test_value_is_a_float64_at_or_above_the_mean(bound):
    checks.assert_not_below_mean(bound)
    assert type(bound(checks.evidence_of(bound, [0.0, 1.0]), 0.05).value) is float


@every_bound
def test_value_falls_with_the_number_of_rows(bound):
    # Averaged over orders, on which betting depends.
    values = [
        [
            bound(checks.evidence_of(bound, checks.typical_losses(bound, n, seed)), 0.05).value
            for n in (50, 100, 200, 400, 800)
        ]
        for seed in range(20)
    ]
    assert (np.diff(np.mean(values, axis=0)) < 0.0).all()


@every_bound
def test_value_falls_with_delta(bound):
    evidence = checks.evidence_of(bound, checks.typical_losses(bound))
    values = [bound(evidence, delta).value for delta in DELTAS]
    assert (np.diff(values) <= 0.0).all()
    assert values[-1] < values[0]


@every_bound
@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_few_rows_give_a_valid_number(bound, n_samples):
    for losses in (np.zeros(n_samples), np.ones(n_samples)):
        value = bound(checks.evidence_of(bound, losses), 0.05).value
        assert math.isfinite(value)
        assert value >= losses.mean()


@every_bound
def test_order_of_the_rows_does_not_matter(bound):
    losses = checks.typical_losses(bound)
    evidence = checks.evidence_of(bound, losses)
    sample, order = evidence.certified, np.random.default_rng(1).permutation(losses.size)
    shuffled = Sample(
        sample.rows[order],
        sample.zero_one[order],
        None if sample.brier is None else sample.brier[order],
    )
    assert bound(replace(evidence, certified=shuffled), 0.05) == bound(evidence, 0.05)


@every_bound
def test_precision_of_the_losses_does_not_matter(bound):
    losses = (checks.typical_losses(bound) * 64).round() / 64
    single = bound(checks.evidence_of(bound, losses.astype(np.float32)), 0.05)
    assert single == bound(checks.evidence_of(bound, losses), 0.05)


@every_bound
def test_choosing_among_candidates_is_paid_for(bound):
    checks.assert_pays_for_candidates(bound)


@every_bound
@pytest.mark.parametrize("n_candidates", [1, 7])
def test_terms_sum_to_the_value(bound, n_candidates):
    losses = checks.typical_losses(bound)
    evidence = checks.evidence_of(bound, losses, n_candidates=n_candidates)
    certificate = bound(evidence, 0.05)
    assert math.fsum(certificate.terms.values()) == certificate.value == float(certificate)
    assert min(certificate.terms.values()) >= 0.0
    assert certificate.terms["empirical_loss"] == losses.mean()


@every_bound
def test_certificate_says_what_it_is_about(bound):
    evidence = checks.evidence_of(bound, checks.typical_losses(bound), assumptions=("i.i.d. rows",))
    certificate = bound(evidence, 0.05)
    assert (certificate.name, certificate.loss, certificate.delta) == (bound.key, bound.loss, 0.05)
    assert (certificate.n_fit, certificate.n_certified, certificate.baseline) == (400, 200, 0.5)
    assert certificate.assumptions == ("i.i.d. rows",)
    assert "certified on 200 other rows" in certificate.statement()
    assert f"by the {bound.method}." in certificate.statement()


@every_bound
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_delta_outside_its_range_is_refused(bound, delta):
    evidence = checks.evidence_of(bound, checks.typical_losses(bound))
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got"):
        bound(evidence, delta)


@every_bound
def test_missing_rows_are_named_with_their_remedy(bound):
    evidence = Evidence(protocol="none", n_fit=99, majority_share=0.5, reason="protocol is None")
    with pytest.raises(MissingEvidenceError, match=r"protocol is None.*protocol='holdout'"):
        bound(evidence, 0.05)


@pytest.mark.parametrize("bound", BRIER, ids=repr)
def test_missing_probabilities_are_named_with_their_remedy(bound):
    with pytest.raises(MissingEvidenceError, match=r"Use a classifier with predict_proba"):
        bound(checks.make_evidence(np.zeros(200)), 0.05)


@every_bound
def test_bounds_and_certificates_survive_a_pickle(bound):
    evidence = checks.evidence_of(bound, checks.typical_losses(bound))
    copy, evidence_copy = pickle.loads(pickle.dumps((bound, evidence)))
    assert copy == bound
    assert hash(copy) == hash(bound)
    certificate = copy(evidence_copy, 0.05)
    assert pickle.loads(pickle.dumps(certificate)) == bound(evidence, 0.05)


# Relations between bounds, and closed forms.


def test_binomial_is_at_most_kl_and_kl_at_most_hoeffding():
    for bound in (BinomialBound(), KLBound(), HoeffdingBound(), EmpiricalBernsteinBound()):
        checks.assert_not_below_binomial(bound)
    for k, delta in itertools.product(range(0, 201, 10), DELTAS):
        smaller = checks.value_at_count(KLBound(), k, 200, delta)
        assert smaller <= checks.value_at_count(HoeffdingBound(), k, 200, delta) * (1.0 + 1e-11)


@pytest.mark.parametrize("n_samples", [1, 30, 500])
@pytest.mark.parametrize("delta", DELTAS)
def test_closed_forms_without_errors(n_samples, delta):
    exact = 1.0 - delta ** (1.0 / n_samples)
    evidence = checks.make_evidence(np.zeros(n_samples))
    assert BinomialBound()(evidence, delta).value == pytest.approx(exact, rel=1e-9)
    assert KLBound()(evidence, delta).value == pytest.approx(exact, rel=1e-9)
    width = math.sqrt(math.log(1.0 / delta) / (2.0 * n_samples))
    assert HoeffdingBound()(evidence, delta).value == pytest.approx(width, rel=1e-9)


def test_kl_of_zero_one_losses_is_kl_of_the_same_brier_losses():
    errors = checks.typical_losses(BinomialBound())
    evidence = checks.make_evidence(errors, errors)
    assert KLBound("brier")(evidence).value == KLBound()(evidence).value
    expected = kl_inverse_upper(0.12, math.log(20.0) / 200)
    assert KLBound()(evidence).value == pytest.approx(expected, rel=1e-11)


def test_empirical_bernstein_by_hand():
    checks.assert_constant_losses_give_the_bernstein_width(EmpiricalBernsteinBound())
    evidence = checks.make_evidence([0.0] * 4, [0.1, 0.2, 0.2, 0.3])
    expected = 0.2 + math.sqrt(2.0 * 0.02 / 3.0 * math.log(40.0) / 4.0)
    expected += 7.0 * math.log(40.0) / 9.0
    value = EmpiricalBernsteinBound("brier")(evidence).value
    assert value == pytest.approx(expected, rel=1e-11)


def test_betting_by_hand():
    # One row of loss 0.2: below mu = .68 the stake is the capped one, 3/4 / (1 - mu), with which
    # the capital 1/4 + 3/4 (1 - 0.2) / (1 - mu) reaches 1/delta = 2 at 1 - mu = 0.6 / 1.75.
    value = BettingBound("brier").upper(np.array([0.2]), 0.5)
    assert value == pytest.approx(1.0 - 0.6 / 1.75, rel=1e-11)


def test_betting_is_tighter_than_the_others_on_typical_brier_losses():
    losses = checks.typical_losses(BettingBound("brier"), 400)
    evidence = checks.make_evidence(losses >= 0.5, losses)
    betting, *others = (
        bound(evidence).value
        for bound in (BettingBound("brier"), KLBound("brier"), EmpiricalBernsteinBound("brier"))
    )
    assert betting < 0.95 * min(others)


def test_betting_is_fast_enough_for_ten_thousand_rows():
    losses = np.random.default_rng(0).beta(0.5, 5.0, size=10_000)
    calls = 0

    class Counted(np.ndarray):
        def cumsum(self, *args, **kwargs):
            nonlocal calls
            calls += 1
            return super().cumsum(*args, **kwargs)

    BettingBound("brier").upper(losses.view(Counted), 0.05)
    # A pass over the rows takes about a tenth of a millisecond.
    assert 0 < calls < 80


def test_best_of_is_the_smallest_at_its_share():
    evidence = checks.make_evidence(checks.typical_losses(BinomialBound()))
    single = KLBound(), HoeffdingBound()
    best = BestOf(single)(evidence, 0.05)
    checks.assert_shares_delta(BestOf(single))
    assert best.value >= min(b(evidence, 0.05).value for b in single)
    assert list(best.terms) == ["empirical_loss", "confidence", "sharing"]
    nested = BestOf((BestOf(single), BestOf(single)))(evidence, 0.1)
    assert nested.value == pytest.approx(best.value, rel=1e-12)
    assert math.fsum(nested.terms.values()) == nested.value
    assert BestOf((KLBound(),))(evidence, 0.05).value == KLBound()(evidence, 0.05).value


def test_best_of_with_weights_shares_by_them():
    evidence = checks.make_evidence(checks.typical_losses(BinomialBound()))
    single, weights = (KLBound(), HoeffdingBound(), BinomialBound()), (0.7, 0.2, 0.1)
    best = BestOf(single, weights)
    values = [b(evidence, 0.05 * w).value for b, w in zip(single, weights, strict=True)]
    assert best(evidence, 0.05).value == pytest.approx(min(values), rel=1e-12)
    assert best(evidence, 0.05).value > min(b(evidence, 0.05).value for b in single)
    checks.assert_pays_for_candidates(best)
    assert pickle.loads(pickle.dumps(best)) == best
    assert hash(best) != hash(BestOf(single))
    for even in (None, (0.5, 0.5)):
        alike = BestOf(single[:2], even)(evidence, 0.05)
        assert alike.value == BestOf(single[:2])(evidence, 0.05).value
    # Less than 1 in total gives some of delta away.
    assert BestOf(single[:1], (0.5,))(evidence).value == pytest.approx(
        KLBound()(evidence, 0.025).value
    )
    thirds = BestOf(single, (1 / 3 + 1e-10,) * 3)
    assert thirds(evidence, 0.05).value >= BestOf(single)(evidence, 0.05).value


@dataclass(frozen=True)
class Untouchable(Bound):
    key = method = "untouchable"

    def terms(self, evidence, delta):
        raise AssertionError("evaluated")


def test_a_bound_of_weight_zero_is_not_evaluated():
    evidence = checks.make_evidence(checks.typical_losses(KLBound()))
    best = BestOf((Untouchable(), KLBound()), weights=(0.0, 1.0))
    assert best(evidence, 0.05).value == KLBound()(evidence, 0.05).value
    with pytest.raises(AssertionError, match="evaluated"):
        BestOf((Untouchable(), KLBound()))(evidence)


def test_constructors_refuse_what_cannot_hold():
    with pytest.raises(ValueError, match=r"one of \('zero_one',\) for BinomialBound, got 'brier'"):
        BinomialBound("brier")
    with pytest.raises(ValueError, match=r"loss must be one of .* got 'log'"):
        KLBound("log")
    for weights in ((0.5,), (0.5, 0.6), (1.1, -0.1), (0.0, 0.0), (math.nan, 0.5), (math.inf, 0.0)):
        with pytest.raises(ValueError, match="weights must"):
            BestOf((KLBound(), HoeffdingBound()), weights)
    with pytest.raises(ValueError, match="at least one bound"):
        BestOf(())
    with pytest.raises(ValueError, match="same loss, got"):
        BestOf((KLBound(), KLBound("brier")))
    with pytest.raises(ValueError, match="same loss, got"):
        BestOf((KLBound(), BestOf((KLBound("brier"),))))


def test_certificates_are_each_alone_at_delta():
    losses = checks.typical_losses(KLBound("brier"))
    found = certificates(checks.make_evidence(losses >= 0.5, losses), 0.05)
    brier = ["brier_kl", "brier_hoeffding", "brier_empirical_bernstein", "brier_betting"]
    brier += ["brier_split_kl", "brier_unexpected_bernstein"]
    assert list(found) == [*HOLDOUT_BOUNDS, *brier]
    assert {c.delta for c in found.values()} == {0.05}
    assert {key for key, c in found.items() if c.loss == "brier"} == set(brier)
    without = certificates(checks.make_evidence(np.zeros(100)), 0.05)
    assert list(without) == list(HOLDOUT_BOUNDS)
    assert all(bound.key == key for key, bound in HOLDOUT_BOUNDS.items())


def test_no_certificate_is_the_trivial_bound_with_its_reason():
    evidence = Evidence(protocol="none", n_fit=99, majority_share=0.75, reason="too few rows.")
    certificate = no_certificate(evidence, 0.05)
    assert certificate.value == math.fsum(certificate.terms.values()) == 1.0
    assert certificate.vacuous
    assert "too few rows." in certificate.statement()


def test_vacuous_certificates_are_kept_unclipped_and_say_so():
    evidence = checks.make_evidence(np.ones(20), np.ones(20))
    for bound in (HoeffdingBound(), HoeffdingBound("brier")):
        certificate = bound(evidence, 0.05)
        assert certificate.value > 1.0
        assert certificate.vacuous
        assert "is at most 1.0000" in certificate.statement()
        assert "This is vacuous" in certificate.statement()


@dataclass(frozen=True)
class ChebyshevBound(HoldoutBound):
    """A bound as a user would write it."""

    key = "chebyshev"
    method = "one-sided Chebyshev bound with the largest possible variance"

    def upper(self, losses, delta):
        return losses.mean() + math.sqrt((1.0 / delta - 1.0) / (4.0 * losses.size))


@dataclass(frozen=True)
class QuantileBound(Bound):
    """A bound without the base class for held-out losses, with terms of its own."""

    key = "quantile"
    method = "posterior quantile"

    def terms(self, evidence, delta):
        k, n = evidence.certified.n_errors, evidence.certified.n_samples
        upper = float(stats.beta.isf(delta, k + 1.0, n - k)) if k < n else 1.0
        return {"posterior_mean": (k + 0.5) / (n + 1.0), "rest": upper - (k + 0.5) / (n + 1.0)}


@pytest.mark.parametrize("bound", [ChebyshevBound(), ChebyshevBound("brier"), QuantileBound()])
def test_a_bound_of_a_user_needs_no_registration(bound):
    checks.assert_pays_for_candidates(bound)
    evidence = checks.make_evidence(np.zeros(100), np.zeros(100))
    shared = BestOf((bound, KLBound(bound.loss)))(evidence, 0.05)
    assert shared.value == pytest.approx(
        min(bound(evidence, 0.025).value, KLBound()(evidence, 0.025).value)
    )
    assert pickle.loads(pickle.dumps(bound)) == bound


def test_evidence_of_a_kind_of_its_own_asks_for_a_bound_of_its_own():
    class Mine(Sample):
        kind = "mine"

    evidence = replace(checks.make_evidence(np.zeros(9)), certified=Mine([0], [0]))
    with pytest.raises(MissingEvidenceError, match=r"Mine, which protocol .* Give a Bound object"):
        resolve_bound("auto", evidence)
    assert certificates(evidence, 0.05) == {}
