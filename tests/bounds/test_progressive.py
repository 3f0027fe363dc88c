"""The bound for predictors that depend on earlier rows: laws, coverage, adversaries."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from skbound.bounds import (
    HOLDOUT_BOUNDS,
    BestOf,
    BettingBound,
    BinomialBound,
    ProgressiveBound,
    ProgressiveExactBound,
    certificates,
    kl_inverse_upper,
    resolve_bound,
)
from skbound.bounds._holdout import _interleaved
from skbound.evidence import Evidence, ProgressiveSample, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

BOUND = ProgressiveBound()
DELTAS = (1e-6, 0.001, 0.05, 0.2, 0.5, 0.9)


def losses_of(k, n):
    return (np.arange(n) < k).astype(float)


def make_evidence(zero_one, guess=(5, 100), n_blocks=2, brier=None, **settings):
    n = len(zero_one)
    guessed = losses_of(*guess)
    sample = Sample(np.arange(n), zero_one, brier)
    blocks = ProgressiveSample(
        sample,
        np.arange(n) * n_blocks // n,
        Sample(np.arange(guess[1]), guessed, None if brier is None else guessed),
    )
    settings = {"protocol": "progressive", "n_fit": 300, "majority_share": 0.5} | settings
    return Evidence(certified=blocks, **settings)


def value(k, n, delta, guess=(5, 100), bound=BOUND, **settings):
    return bound(make_evidence(losses_of(k, n), guess, **settings), delta).value


@pytest.mark.parametrize(
    ("guess", "expected", "digits"),
    [((1019, 10198), 0.136, 3), ((305, 10198), 0.141, 3), ((19, 9998), 0.20, 2)],
)
def test_value_at_one_tenth_of_500_rows(guess, expected, digits):
    assert round(value(50, 500, 0.05, guess), digits) == expected


def test_a_right_guess_loses_next_to_nothing_against_chernoff():
    chernoff = kl_inverse_upper(0.1, math.log(20.0) / 500)
    assert value(50, 500, 0.05, (1019, 10198)) == pytest.approx(chernoff, rel=1e-4)


@pytest.mark.parametrize("guess", [(0, 1), (0, 10_000), (5, 100), (100, 100)])
@pytest.mark.parametrize("n", [1, 20, 300])
def test_never_below_chernoff_and_falling_with_delta(guess, n):
    for k in range(0, n + 1, max(1, n // 10)):
        values = [value(k, n, delta, guess) for delta in DELTAS]
        assert all(math.isfinite(v) for v in values)
        assert (np.diff(values) <= 0.0).all()
        for delta, v in zip(DELTAS, values, strict=True):
            # No constant is better than the best one for the losses seen.
            assert v >= kl_inverse_upper(k / n, -math.log(delta) / n) * (1.0 - 1e-11)


def test_terms_sum_to_the_value_and_the_choice_is_paid_for():
    chosen = BOUND(make_evidence(losses_of(12, 200), n_candidates=20), 0.2)
    alone = BOUND(make_evidence(losses_of(12, 200)), 0.01)
    assert chosen.value == pytest.approx(alone.value, rel=1e-12)
    assert list(chosen.terms) == ["empirical_loss", "confidence", "choice"]
    assert math.fsum(chosen.terms.values()) == chosen.value
    assert min(chosen.terms.values()) > 0.0
    assert chosen.terms["empirical_loss"] == 0.06


def test_statement_says_that_several_predictors_were_trained_in_turn():
    text = BOUND(make_evidence(losses_of(12, 200)), 0.05).statement()
    assert "in the mean over the key of the hash that gives each row to one of 2 predictors" in text
    assert "certified on 200 rows, each evaluated by one that had seen earlier rows only" in text
    assert "other rows" not in text


def test_order_blocks_and_pickles_do_not_change_the_value():
    evidence = make_evidence(losses_of(12, 200))
    expected = BOUND(evidence, 0.05)
    assert pickle.loads(pickle.dumps(BOUND))(pickle.loads(pickle.dumps(evidence)), 0.05) == expected
    assert value(12, 200, 0.05, n_blocks=5) == expected.value
    shuffled = np.random.default_rng(0).permutation(losses_of(12, 200))
    assert BOUND(make_evidence(shuffled), 0.05).value == expected.value


def test_brier_losses_that_are_errors_give_the_same_value():
    evidence = make_evidence(losses_of(12, 200), brier=losses_of(12, 200))
    found = certificates(evidence, 0.05)
    assert list(found) == [
        "progressive_exact",
        "progressive_mixture",
        "progressive",
        "brier_progressive_mixture",
        "brier_progressive",
    ]
    mixtures = found["progressive_mixture"], found["brier_progressive_mixture"]
    assert mixtures[0].value == mixtures[1].value
    assert found["brier_progressive"].value == found["progressive"].value
    assert found["brier_progressive"].loss == "brier"
    with pytest.raises(MissingEvidenceError, match="Use a classifier with predict_proba"):
        ProgressiveBound("brier")(make_evidence(losses_of(12, 200)), 0.05)


BRIER = [type(b)("brier") for key, b in HOLDOUT_BOUNDS.items() if key not in ("binomial", "best")]


@pytest.mark.parametrize("bound", [*HOLDOUT_BOUNDS.values(), *BRIER], ids=repr)
def test_bounds_of_a_holdout_refuse(bound):
    evidence = make_evidence(losses_of(12, 200), brier=losses_of(12, 200))
    with pytest.raises(MissingEvidenceError, match=r"of one fixed .* bound='auto'"):
        bound(evidence, 0.05)
    with pytest.raises(MissingEvidenceError, match="one fixed"):
        BestOf((ProgressiveBound(bound.loss), bound))(evidence, 0.05)


def test_it_refuses_a_holdout_and_unknown_losses():
    with pytest.raises(MissingEvidenceError, match="Fit with protocol='progressive'"):
        BOUND(checks.make_evidence(np.zeros(100)), 0.05)
    with pytest.raises(ValueError, match=r"loss must be one of .* got 'log'"):
        ProgressiveBound("log")


def test_without_a_guess_the_bounds_that_need_none_remain():
    evidence = make_evidence(losses_of(12, 200), brier=losses_of(12, 200))
    evidence = replace(evidence, certified=replace(evidence.certified, guess=None))
    names = ["progressive_exact", "progressive_mixture", "brier_progressive_mixture"]
    assert list(certificates(evidence, 0.05)) == names
    with pytest.raises(MissingEvidenceError, match=r"Fit with protocol=Progressive\(guess=True\)"):
        BOUND(evidence, 0.05)


def test_auto_is_the_bound_of_the_protocol():
    progressive, holdout = make_evidence(np.zeros(9)), checks.make_evidence(np.zeros(9))
    assert resolve_bound("auto", progressive) == ProgressiveExactBound()
    assert resolve_bound("progressive", progressive) == BOUND
    assert resolve_bound("auto", holdout) == resolve_bound("auto") == BinomialBound()
    for name, evidence in (("kl", progressive), ("progressive", holdout)):
        with pytest.raises(MissingEvidenceError, match="Use bound='auto' or one of"):
            resolve_bound(name, evidence)


# Coverage. The guesses come from 60 rows with the risk of the first predictor.

RUNS = 1000


def guesses(rng, rate):
    return [(int(k), 60) for k in rng.binomial(60, rate, size=RUNS)]


def miss_rate(sums, risks, guess, n, delta, bound=BOUND):
    misses = 0
    for k, risk, g in zip(sums, risks, guess, strict=True):
        misses += value(int(k), n, delta, g, bound) < risk
    return misses / RUNS


def allowed(delta):
    return delta + 3.0 * np.sqrt(delta * (1.0 - delta) / RUNS)


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.02, 0.3), (0.3, 0.02), (0.4, 0.3, 0.2)], ids=str)
def test_it_holds_on_drifting_risks(rates, delta):
    rng = np.random.default_rng(len(rates))
    per_block = 240 // len(rates)
    sums = rng.binomial(per_block, rates, size=(RUNS, len(rates))).sum(axis=1)
    rate = miss_rate(sums, [np.mean(rates)] * RUNS, guesses(rng, rates[0]), 240, delta)
    assert rate <= allowed(delta)


def ever_below_the_risk_so_far(values, risk, n):
    """How often a rule wins that errs at a fixed rate until the bound is broken, then never.

    ``values[k]`` is the bound at ``k`` errors in `n` rows: once broken it stays so, because
    neither the errors nor the risk so far change any more.
    """
    errors = np.random.default_rng(0).random((4000, n)) < risk
    risks_so_far = risk * np.arange(1, n + 1) / n
    return float((values[errors.cumsum(axis=1)] < risks_so_far).any(axis=1).mean())


@pytest.mark.parametrize("guess", [(30, 60), (6, 60), (55, 60)])
def test_a_rule_that_stops_erring_once_it_is_lucky(guess):
    n, risk, delta = 200, 0.5, 0.2
    binomial = [checks.value_at_count(BinomialBound(), k, n, delta) for k in range(n + 1)]
    ours = [value(k, n, delta, guess) for k in range(n + 1)]
    allowed = delta + 3.0 * np.sqrt(delta * (1.0 - delta) / 4000)
    assert ever_below_the_risk_so_far(np.array(binomial), risk, n) > delta + 0.08
    assert ever_below_the_risk_so_far(np.array(ours), risk, n) <= allowed


def test_betting_fails_on_drifting_risks():
    """Risks of .02, then .30: as if the loss had one mean, met in the order of training."""
    rng = np.random.default_rng(0)
    rates, n, delta = np.repeat([0.02, 0.3], 250), 500, 0.05
    betting = progressive = 0
    for guess in guesses(rng, 0.02)[:400]:
        losses = (rng.random(n) < rates).astype(float)
        in_turn = np.empty(n)
        in_turn[_interleaved(n)] = losses
        betting += BettingBound().upper(in_turn, delta) < rates.mean()
        progressive += value(int(losses.sum()), n, delta, guess) < rates.mean()
    assert betting / 400 > 0.15
    assert progressive / 400 <= delta + 3.0 * np.sqrt(delta * (1.0 - delta) / 400)


class BestConstantAfterwards(ProgressiveBound):
    """Mutant: the constant is chosen to make the bound as small as the evaluated rows allow."""

    def terms(self, evidence, delta):
        sample = evidence.certified.sample
        upper = kl_inverse_upper(sample.error, -math.log(delta) / sample.n_samples)
        return {"empirical_loss": sample.error, "confidence": upper - sample.error}


class ConstantFromEvaluatedRows(ProgressiveBound):
    """Mutant: the evaluated rows stand in for the guess."""

    def terms(self, evidence, delta):
        blocks = evidence.certified
        return super().terms(
            replace(evidence, certified=replace(blocks, guess=blocks.sample)), delta
        )


def assert_constant_ignores_evaluated_losses(bound):
    """The value without errors tells the constant, which must then give all other values."""
    nats = math.log(20.0)
    c = -math.expm1(-nats / 200) / value(0, 200, 0.05, bound=bound)
    for k in (5, 20, 60):
        expected = -math.expm1((k * math.log1p(-c) - nats) / 200) / c
        assert value(k, 200, 0.05, bound=bound) == pytest.approx(expected, rel=1e-9)


def test_constants_that_have_seen_the_evaluated_rows():
    assert_constant_ignores_evaluated_losses(BOUND)
    for mutant in (BestConstantAfterwards(), ConstantFromEvaluatedRows()):
        with pytest.raises(AssertionError):
            assert_constant_ignores_evaluated_losses(mutant)
