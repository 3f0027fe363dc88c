"""Bounds for predictors trained on each other's rows: vectors, laws, dependence, mutants."""

import itertools
import math
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from skbound.bounds import (
    HOLDOUT_BOUNDS,
    BinomialBound,
    CrossFitBound,
    FoldKLBound,
    FoldMixtureBound,
    FoldUnionBound,
    ProgressiveBound,
    binomial_tail_inverse,
    certificates,
    kl_inverse_upper,
    log_xi,
    resolve_bound,
)
from skbound.bounds import _merging as merging
from skbound.evidence import Evidence, FoldSample, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

BOUND = CrossFitBound()
BOUNDS = [BOUND, FoldUnionBound(), FoldKLBound(), FoldMixtureBound()]
DELTAS = (1e-300, 1e-6, 0.001, 0.05, 0.2, 0.5, 0.9)
every_bound = pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.key)


def make_evidence(counts, sizes, predictor="gibbs", brier=None, **settings):
    """Fold ``j`` has ``counts[j]`` errors in ``sizes[j]`` rows."""
    losses = np.concatenate([np.arange(m) < k for k, m in zip(counts, sizes, strict=True)])
    sample = Sample(np.arange(len(losses)), losses, losses if brier is None else brier)
    folds = FoldSample(sample, np.repeat(np.arange(len(sizes)), sizes), predictor)
    settings = {"protocol": "cross_fit", "n_fit": 300, "majority_share": 0.5} | settings
    return Evidence(certified=folds, **settings)


@cache
def value(counts, sizes, delta=0.05, bound=BOUND, predictor="gibbs"):
    return bound(make_evidence(counts, sizes, predictor), delta).value


# Values.

RIGHT_RATE = (math.log(0.1597 * 0.9 / (0.1 * (1.0 - 0.1597))),)


@pytest.mark.parametrize(
    ("bound", "expected", "digits"),
    [
        (FoldKLBound(), 0.188, 3),
        (FoldMixtureBound(rates=RIGHT_RATE), 0.160, 3),
        (FoldUnionBound(), 0.1601, 4),
        (BOUND, 0.1535, 4),
    ],
    ids=lambda x: getattr(x, "key", None),
)
def test_values_at_one_tenth_of_1000_rows_in_five_folds(bound, expected, digits):
    assert round(value((20,) * 5, (200,) * 5, 0.05, bound), digits) == expected


def test_equal_folds_in_closed_form():
    log_delta = math.log(0.05)
    kl = kl_inverse_upper(0.1, (log_xi(200) - log_delta) / 200)
    assert value((20,) * 5, (200,) * 5, 0.05, FoldKLBound()) == pytest.approx(kl, rel=1e-12)
    chernoff = kl_inverse_upper(0.1, -log_delta / 200)
    right = value((20,) * 5, (200,) * 5, 0.05, FoldMixtureBound(rates=RIGHT_RATE))
    assert right == pytest.approx(chernoff, rel=1e-5)
    t = merging._constant(5)
    log_level = log_delta + math.log(t) - t - math.log(-math.expm1(-5 * t))
    merged = binomial_tail_inverse(20, 200, log_delta=log_level)
    assert value((20,) * 5, (200,) * 5) == pytest.approx(merged, rel=1e-8)
    # Between the full level and that of the union bound, and never below delta / e.
    assert log_delta - 1.0 < log_level < log_delta - math.log(2.0)


@pytest.mark.parametrize(
    ("counts", "sizes"), [((3, 9), (50, 60)), ((0, 0), (20, 20)), ((7,), (99,))]
)
def test_one_or_two_predictors_have_exact_tails_at_equal_shares(counts, sizes):
    share = math.log(0.05 / len(counts))
    exact = [
        binomial_tail_inverse(k, m, log_delta=share) for k, m in zip(counts, sizes, strict=True)
    ]
    assert value(counts, sizes) == pytest.approx(np.mean(exact), rel=1e-12)


@pytest.mark.parametrize("n_predictors", [3, 4, 5, 20, 1000])
def test_constants_spend_delta_and_no_more(n_predictors):
    """The function of a p-value whose mean is compared with 1 has the integral `delta`."""
    t, delta = merging._constant(n_predictors), 0.05
    x = t / -math.expm1(-n_predictors * t)

    def f(p):
        return min(n_predictors, max(0.0, math.log(x * delta / p) / t))

    ends = [0.0, x * delta * math.exp(-n_predictors * t), x * delta]
    total = sum(integrate.quad(f, *pair, limit=200)[0] for pair in itertools.pairwise(ends))
    assert total == pytest.approx(delta, rel=1e-6)
    # No neighbouring constant would be better where all folds look alike.
    level = [s * math.exp(-s) / -math.expm1(-n_predictors * s) for s in (0.98 * t, t, 1.02 * t)]
    assert max(level) <= level[1] * (1.0 + 1e-4)


@pytest.mark.parametrize(
    ("counts", "sizes"), [((1, 9, 20), (30, 40, 50)), ((0, 0, 12, 4), (25, 60, 30, 30))]
)
def test_unequal_folds_against_a_general_optimiser(counts, sizes):
    t = merging._constant(len(counts))
    start = math.log(0.05 * t / -math.expm1(-len(counts) * t))
    rates = np.array(counts) / sizes

    def slack(means):
        costs = start - stats.binom.logcdf(counts, sizes, means)
        return t - np.maximum(0.0, costs).mean()

    rng, best = np.random.default_rng(0), 0.0
    for _ in range(10):
        found = optimize.minimize(
            lambda means: -means.mean(),
            np.clip(rates + 0.1 * rng.random(len(counts)), 0.0, 0.99),
            constraints={"type": "ineq", "fun": slack},
            bounds=[(1e-3, 0.999)] * len(counts),
        )
        if slack(found.x) > -1e-9:
            best = max(best, found.x.mean())
    assert best <= value(counts, sizes) <= best + 1e-5


def test_losses_between_0_and_1_lie_between_the_exact_tail_and_chernoff_with_one_more_nat():
    exact = value((20,) * 5, (200,) * 5)
    chernoff = kl_inverse_upper(0.1, (1.0 - math.log(0.05)) / 200)
    found = CrossFitBound("brier")(make_evidence((20,) * 5, (200,) * 5), 0.05).value
    assert exact < found < chernoff
    rng = np.random.default_rng(0)
    for p, m, s in zip(rng.uniform(0.01, 0.9, 50), [7, 40] * 25, rng.random(50), strict=True):
        total = np.array([s * p * m])
        costs, slopes = merging.bounded_tails(np.array([m]), total)(np.array([p]))
        assert costs[0] >= merging.chernoff_tails(np.array([m]), total)(np.array([p]))[0][0]
        # Errors are such losses: the bound on the tail must hold for them.
        assert math.exp(-costs[0]) >= stats.binom.cdf(math.floor(total[0]), m, p) - 1e-12
        step = merging.bounded_tails(np.array([m]), total)(np.array([p + 1e-7]))[0]
        assert (step - costs) / 1e-7 == pytest.approx(slopes, rel=1e-3, abs=1e-3)


# Laws.


@every_bound
@pytest.mark.parametrize("sizes", [(1, 1, 1), (20, 21, 21), (30, 50, 40, 60, 20)], ids=str)
def test_never_below_the_mean_loss_and_falling_with_delta(bound, sizes):
    for share in (0.0, 0.1, 0.5, 1.0):
        counts = tuple(round(share * m) for m in sizes)
        values = [value(counts, sizes, delta, bound) for delta in DELTAS]
        assert all(math.isfinite(v) for v in values)
        assert (np.diff(values) <= 1e-9).all()
        assert min(values) >= np.mean([k / m for k, m in zip(counts, sizes, strict=True)]) - 1e-12
        assert max(values) <= 1.0 + 1e-12


@every_bound
def test_falling_with_rows_rising_with_errors(bound):
    by_rows = [value((m // 10,) * 3, (m,) * 3, 0.05, bound) for m in (20, 50, 100, 400)]
    assert (np.diff(by_rows) < 0.0).all()
    by_errors = [value((k, 5, 5), (40, 40, 40), 0.05, bound) for k in range(0, 41, 8)]
    assert (np.diff(by_errors) > 0.0).all()


@every_bound
def test_order_of_predictors_and_pickles_do_not_change_the_value(bound):
    evidence = make_evidence((2, 5, 9), (50, 60, 70))
    expected = bound(evidence, 0.05)
    assert pickle.loads(pickle.dumps(bound))(pickle.loads(pickle.dumps(evidence)), 0.05) == expected
    turned = value((9, 2, 5), (70, 50, 60), 0.05, bound)
    assert turned == pytest.approx(expected.value, rel=1e-8)


@every_bound
@pytest.mark.parametrize("predictor", ["gibbs", "vote", "average"])
def test_terms_sum_to_the_value_and_the_choice_is_paid_for(bound, predictor):
    chosen = bound(make_evidence((6, 8, 7), (70, 70, 70), predictor, n_candidates=20), 0.2)
    alone = bound(make_evidence((6, 8, 7), (70, 70, 70), predictor), 0.01)
    assert chosen.value == pytest.approx(alone.value, rel=1e-12)
    assert math.fsum(chosen.terms.values()) == chosen.value
    assert min(chosen.terms.values()) > 0.0
    assert chosen.terms["empirical_loss"] == pytest.approx(0.1)


def test_the_merged_tails_beat_the_other_bounds():
    for k, m, n_folds in itertools.product((0, 4, 20), (40, 200), (3, 5, 10)):
        ours = value((k,) * n_folds, (m,) * n_folds)
        for bound in BOUNDS[1:]:
            assert ours < value((k,) * n_folds, (m,) * n_folds, 0.05, bound)
        # A hold-out as large as one fold has the whole delta for itself.
        assert ours > binomial_tail_inverse(k, m, log_delta=math.log(0.05))


# Votes and averages.


@pytest.mark.parametrize(
    ("n", "factor"), [(1, 1.0), (2, 2.0), (3, 1.5), (4, 2.0), (5, 5 / 3), (9, 1.8)]
)
def test_a_vote_costs_a_factor(n, factor):
    counts, sizes = (4,) * n, (60,) * n
    single, vote = value(counts, sizes), value(counts, sizes, predictor="vote")
    assert vote == pytest.approx(factor * single, rel=1e-12)
    brier = certificates(make_evidence(counts, sizes, "vote"), 0.05)["brier_cross_fit"]
    assert brier.value == pytest.approx(single, rel=1e-12)


@pytest.mark.parametrize("n_members", [1, 2, 3, 4, 5])
def test_no_pattern_of_votes_is_wrong_with_fewer_wrong_members(n_members):
    """Over all votes for three classes of which the last, which loses all ties, is right."""
    fewest = n_members
    for votes in itertools.product(range(3), repeat=n_members):
        if np.bincount(votes, minlength=3).argmax() != 2:
            fewest = min(fewest, sum(vote != 2 for vote in votes))
    assert value((0,) * n_members, (50,) * n_members, predictor="vote") == pytest.approx(
        n_members / fewest * value((0,) * n_members, (50,) * n_members), rel=1e-12
    )


def test_a_wrong_average_has_half_a_brier_score_of_a_quarter():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 10):
        p = rng.dirichlet(np.full(n_classes, 0.5), size=20_000)
        p = np.vstack([p, np.eye(n_classes)[:1] / 2 + np.eye(n_classes)[1:2] / 2])
        wrong = p.argmax(axis=1) != 1
        brier = 0.5 * ((p - np.eye(n_classes)[1]) ** 2).sum(axis=1)
        assert (wrong <= 4.0 * brier).all()
    assert 4.0 * brier[-1] == 1.0


def test_average_is_four_times_the_brier_bound():
    brier = np.tile(np.linspace(0.0, 0.2, 50), 3)
    evidence = make_evidence((2, 3, 4), (50, 50, 50), "average", brier)
    smooth = CrossFitBound("brier")(evidence, 0.05)
    error = BOUND(evidence, 0.05)
    assert error.value == pytest.approx(4.0 * smooth.value, rel=1e-12)
    assert error.terms["empirical_loss"] == pytest.approx(0.06)
    no_brier = Sample(np.arange(150), np.zeros(150))
    folds = FoldSample(no_brier, np.arange(150) // 50, "average")
    with pytest.raises(MissingEvidenceError, match="predict_proba"):
        BOUND(replace(evidence, certified=folds), 0.05)


# Dependence. Each fold alone is binomial; the folds are coupled.

RUNS, P, M = 4000, 0.3, 20


def independent(rng, n_folds):
    return rng.random((RUNS, n_folds))


def all_alike(rng, n_folds):
    return np.repeat(rng.random((RUNS, 1)), n_folds, axis=1)


def lucky_together(share):
    """With probability `share` every fold is lucky, but by turns: their sum hardly varies."""

    def draw(rng, n_folds):
        u = share + (1.0 - share) * rng.random((RUNS, n_folds))
        steps = rng.permuted(np.tile(np.arange(n_folds), (RUNS, 1)), axis=1)
        lucky = rng.random((RUNS, 1)) < share
        return np.where(lucky, share * (steps + rng.random((RUNS, n_folds))) / n_folds, u)

    return draw


def one_lucky(rng, n_folds):
    """Never are two folds lucky at once."""
    u = rng.random((RUNS, 1))
    return (u + np.arange(n_folds) / n_folds) % 1.0


COUPLINGS = [independent, all_alike, lucky_together(0.3), lucky_together(0.55), one_lucky]


def miss_rate(upper, coupling, n_folds, delta, rates=P, m=M):
    """How often a function of the sorted counts lies below the mean risk."""
    rng = np.random.default_rng(n_folds)
    rates = np.broadcast_to(rates, n_folds)
    counts = stats.binom.ppf(coupling(rng, n_folds), m, rates).astype(int)
    tables, times = np.unique(np.sort(counts, axis=1), axis=0, return_counts=True)
    misses = 0
    for row, n_times in zip(tables.tolist(), times, strict=True):
        # No bound is below the mean loss.
        if np.mean(row) / m < rates.mean():
            misses += n_times * (upper(tuple(row), (m,) * n_folds, delta) < rates.mean())
    return misses / RUNS


def allowed(delta):
    return delta + 3.0 * np.sqrt(delta * (1.0 - delta) / RUNS)


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_it_holds_however_the_folds_depend_on_each_other(coupling, delta):
    for rates in (P, (0.05, 0.1, 0.5)):
        assert miss_rate(value, coupling, 3, delta, rates) <= allowed(delta)


def mean_of_full_levels(counts, sizes, delta):
    """Mutant: the mean of the folds' own limits, each at the whole delta."""
    pairs = zip(counts, sizes, strict=True)
    return np.mean([binomial_tail_inverse(k, m, log_delta=math.log(delta)) for k, m in pairs])


def all_rows_as_one_sample(counts, sizes, delta):
    """Mutant: n rows in place of n / K."""
    return binomial_tail_inverse(sum(counts), sum(sizes), log_delta=math.log(delta))


def all_rows_with_xi(counts, sizes, delta):
    """Mutant: n rows in place of n / K, in the published form."""
    n = sum(sizes)
    return kl_inverse_upper(sum(counts) / n, (log_xi(n) - math.log(delta)) / n)


@pytest.mark.parametrize(
    ("mutant", "coupling", "n_folds"),
    [
        (mean_of_full_levels, lucky_together(0.35), 5),
        (all_rows_as_one_sample, all_alike, 3),
        (all_rows_with_xi, all_alike, 40),
    ],
)
def test_mutants_fail_where_folds_depend_on_each_other(mutant, coupling, n_folds):
    assert miss_rate(mutant, coupling, n_folds, 0.2, m=300) > allowed(0.2) + 0.02


def test_nets_that_are_better_where_the_other_folds_were_unlucky():
    """The risks themselves depend on the other folds: predictors that rest once one was lucky."""
    rng, delta, n_folds, misses = np.random.default_rng(1), 0.2, 3, 0
    tail = stats.binom.ppf(delta, M, P)
    for _ in range(2000):
        counts, risks, lucky = [], [], False
        for _ in range(n_folds):
            risk = 0.0 if lucky else P
            counts.append(int(rng.binomial(M, risk)))
            risks.append(risk)
            lucky = lucky or counts[-1] <= tail
        misses += value(tuple(sorted(counts)), (M,) * n_folds, delta) < np.mean(risks)
    assert misses / 2000 <= delta + 3.0 * np.sqrt(delta * (1.0 - delta) / 2000)


def best_rate_afterwards(counts, sizes, delta):
    """Mutant: Chernoff's constant chosen after the losses were seen, nothing paid for it."""
    return kl_inverse_upper(sum(counts) / sum(sizes), -math.log(delta) / sizes[0])


def assert_mixture_is_fixed(upper):
    """With one constant the log of the bound's slack is linear in the sum of losses."""
    a, c = 0.5, -math.expm1(-0.5)
    for k in (0, 3, 9):
        exact = -math.expm1(-(a * k - math.log(0.05)) / 60) / c
        assert upper((k,) * 3, (60,) * 3, 0.05) == pytest.approx(exact, rel=1e-6)


def test_a_constant_that_has_seen_the_losses():
    fixed = FoldMixtureBound(rates=(0.5,))
    assert_mixture_is_fixed(lambda *args: value(*args, fixed))
    with pytest.raises(AssertionError):
        assert_mixture_is_fixed(best_rate_afterwards)


# Who may use them.

BRIER = [type(b)("brier") for key, b in HOLDOUT_BOUNDS.items() if key not in ("binomial", "best")]


@pytest.mark.parametrize("bound", [*HOLDOUT_BOUNDS.values(), *BRIER, ProgressiveBound()], ids=repr)
def test_other_bounds_refuse(bound):
    for predictor in ("gibbs", "vote", "average"):
        with pytest.raises(MissingEvidenceError, match=r"[Uu]se bound='auto'"):
            bound(make_evidence((1, 2, 3), (50, 50, 50), predictor), 0.05)


@every_bound
def test_they_refuse_a_holdout_and_unknown_losses(bound):
    with pytest.raises(MissingEvidenceError, match="Fit with protocol='cross_fit'"):
        bound(checks.make_evidence(np.zeros(100)), 0.05)
    with pytest.raises(ValueError, match=r"loss must be one of .* got 'log'"):
        type(bound)("log")


def test_rates_must_be_positive():
    for rates in ((), (0.0,), (math.inf,), (-1.0, 1.0)):
        with pytest.raises(ValueError, match="rates must be positive"):
            FoldMixtureBound(rates=rates)


@pytest.mark.parametrize("predictor", ["gibbs", "vote", "average"])
def test_names(predictor):
    evidence = make_evidence((1, 2, 3), (50, 50, 50), predictor)
    assert resolve_bound("auto", evidence) == resolve_bound("cross_fit", evidence) == BOUND
    assert resolve_bound("auto") == BinomialBound()
    found = certificates(evidence, 0.05)
    assert list(found) == [*(bound.key for bound in BOUNDS), "brier_cross_fit"]
    for name, other in (("binomial", evidence), ("cross_fit", None), ("tandem", evidence)):
        with pytest.raises(MissingEvidenceError, match="Use bound='auto' or one of"):
            resolve_bound(name, other)


def test_statements():
    text = BOUND(make_evidence((4,) * 3, (50,) * 3), 0.05).statement()
    assert "in the mean over the key of the hash that gives each row to one of 3 predictors" in text
    assert "on rows that it had not seen, 150 rows in all" in text
    text = BOUND(make_evidence((4,) * 3, (50,) * 3, "vote"), 0.05).statement()
    assert "key" not in text
    assert "predict lets 3 predictors vote." in text
    assert "Each of 3 predictors was trained on a part of the rows" in text
