"""Bounds of a linear head on fixed features: constants, laws, coverage, mutants."""

import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from skbound.bounds import (
    BOUNDS,
    HOLDOUT_BOUNDS,
    BestOf,
    BinomialBound,
    CoveringBound,
    EntropyBound,
    MarginBound,
    MeanHeadBound,
    ProgressiveBound,
    StabilityBound,
    binomial_tail_inverse,
    dudley_integral,
    kl_inverse_upper,
    resolve_bound,
)
from skbound.bounds._covering import log_points
from skbound.bounds._stability import gradient_bound
from skbound.estimates import certified_error_estimate
from skbound.evidence import Evidence, LinearHeadSample, Sample
from skbound.exceptions import MissingEvidenceError
from skbound.protocols._logistic import fit_logistic
from tests.bounds import checks

SINGLE = CoveringBound(), MarginBound(), MeanHeadBound(), StabilityBound(), EntropyBound()
every_bound = pytest.mark.parametrize("bound", BOUNDS["linear_head"].values(), ids=repr)
DELTAS = (1e-6, 0.001, 0.05, 0.2, 0.5, 0.9)


def make_head(margins, *, losses=None, norms=None, **settings):
    margins = np.asarray(margins, dtype=float)
    n = len(margins)
    settings = {
        "domain_bound": 1.0,
        "head_norm": 1.0,
        "n_classes": 2,
        "n_features": 3,
        "regularization": 0.5,
        "gradient_norm": 0.0,
    } | settings
    return LinearHeadSample(
        sample=Sample(np.arange(n), margins <= 0.0 if losses is None else losses),
        margins=margins,
        feature_norms=np.full(n, settings["domain_bound"]) if norms is None else norms,
        **settings,
    )


def make_evidence(head, **settings):
    settings = {"protocol": "frozen_features", "n_fit": 300, "majority_share": 0.5} | settings
    return Evidence(certified=head, **settings)


def typical(n=5000, **settings):
    return make_head(np.tile([-0.2, 0.1, 0.6, 0.9, 1.2, 1.4, 1.3, 1.0], n // 8), **settings)


def trained(features, codes, n_classes, lam, domain_bound):
    """Record of a head that was trained here, and the head."""
    fit = fit_logistic(features, codes, n_classes, lam=lam, weights=np.ones(len(codes)))
    logits = features @ fit.weights.T
    rows = np.arange(len(codes))
    own = logits[rows, codes]
    wrong = logits.argmax(axis=1) != codes
    logits[rows, codes] = -np.inf
    record = make_head(
        own - logits.max(axis=1),
        losses=wrong,
        norms=np.linalg.norm(features, axis=1),
        domain_bound=domain_bound,
        head_norm=np.linalg.norm(fit.weights),
        n_classes=n_classes,
        n_features=features.shape[1],
        regularization=lam,
        gradient_norm=fit.gradient_norm,
    )
    return record, fit.weights


# Laws.


@every_bound
def test_value_is_above_the_error_and_falls_with_delta_and_rows(bound):
    evidence = make_evidence(typical())
    values = [bound(evidence, delta).value for delta in DELTAS]
    assert (np.diff(values) <= 0.0).all()
    assert min(values) >= 0.125
    more = [bound(make_evidence(typical(n)), 0.05).value for n in (80, 400, 4000, 40_000)]
    assert (np.diff(more) < 0.0).all() or bound.key == "mean_head"
    assert (np.diff(more) <= 0.0).all()
    assert all(type(v) is float and math.isfinite(v) for v in more)


@every_bound
def test_terms_sum_and_the_choice_is_paid_for(bound):
    chosen = bound(make_evidence(typical(), n_candidates=20), 0.2)
    alone = bound(make_evidence(typical()), 0.01)
    assert chosen.value == pytest.approx(alone.value, rel=1e-12)
    assert math.fsum(chosen.terms.values()) == chosen.value
    assert next(iter(chosen.terms)) == "empirical_loss"
    assert chosen.terms["empirical_loss"] == 0.125
    assert min(alone.terms.values()) >= 0.0
    assert "the linear head was trained and certified on 5000 other rows" in alone.statement()


@every_bound
def test_smaller_margins_are_never_better(bound):
    worse = typical()
    worse = replace(worse, margins=np.where(worse.margins > 0, 0.7, 1.0) * worse.margins)
    assert bound(make_evidence(worse)).value >= bound(make_evidence(typical())).value


@every_bound
def test_pickles_and_few_rows(bound):
    evidence = make_evidence(typical(80))
    copy, other = pickle.loads(pickle.dumps((bound, evidence)))
    assert copy(other, 0.05) == bound(evidence, 0.05)
    for margin in (-1.0, 1.0):
        assert math.isfinite(bound(make_evidence(make_head([margin])), 0.05).value)


@every_bound
def test_a_head_of_zeros_says_nothing(bound):
    head = make_head(np.zeros(200), losses=np.arange(200) % 2, head_norm=0.0)
    assert bound(make_evidence(head)).value >= 0.99


@pytest.mark.parametrize("bound", [CoveringBound(), MarginBound(), EntropyBound()], ids=repr)
def test_the_scale_of_the_head_does_not_matter(bound):
    head = typical()
    other = replace(head, margins=7.0 * head.margins, head_norm=7.0)
    value = bound(make_evidence(head)).value
    assert bound(make_evidence(other)).value == pytest.approx(value, rel=1e-9)


def test_more_classes_parameters_and_penalty():
    def value(bound, **settings):
        return bound(make_evidence(typical(**settings))).value

    for bound in (CoveringBound(), EntropyBound()):
        assert value(bound, n_features=9) > value(bound)
    for bound in (CoveringBound(), EntropyBound(), MarginBound(), StabilityBound()):
        assert value(bound, n_classes=4) > value(bound)
    assert value(StabilityBound(), regularization=2.0) < value(StabilityBound())
    assert value(StabilityBound(), gradient_norm=0.1) > value(StabilityBound())


def test_refusals_and_names():
    evidence = make_evidence(typical())
    for bound in (*HOLDOUT_BOUNDS.values(), ProgressiveBound()):
        with pytest.raises(MissingEvidenceError):
            bound(evidence)
    for bound in SINGLE:
        with pytest.raises(MissingEvidenceError, match="protocol='frozen_features'"):
            bound(checks.make_evidence(np.zeros(50)))
    assert resolve_bound("auto", evidence) == CoveringBound()
    assert certified_error_estimate(evidence).optimistic
    assert "the linear head was trained on" in certified_error_estimate(evidence).method


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norms": [1.5]}, "Clip the features to a ball"),
        ({"norms": [-0.1]}, "Clip the features to a ball"),
        ({"losses": [1.0]}, "positive margin is counted as wrong"),
        ({"margins": [-1.0], "losses": [0.0]}, "negative margin is counted as right"),
        ({"margins": [1.5]}, "exceeds"),
        ({"margins": [np.nan]}, "one finite number"),
        ({"norms": [1.0, 1.0]}, "one finite number"),
        ({"n_classes": 1}, "n_classes must be"),
        ({"n_features": 0}, "n_features must be"),
        ({"regularization": 0.0}, "regularization must be positive"),
        ({"domain_bound": math.inf}, "domain_bound must be positive"),
        ({"gradient_norm": -1.0}, "gradient_norm must be non-negative"),
        ({"head_norm": math.nan}, "head_norm must be non-negative"),
    ],
)
def test_records_that_contradict_themselves(change, message):
    with pytest.raises(ValueError, match=message):
        make_head(**({"margins": [1.0], "norms": [1.0]} | change))


# Constants.


@pytest.mark.parametrize(
    ("c", "n", "value", "digits"), [(1.0, 50_000, 0.28503, 5), (10.0, 1000, 2.645, 3)]
)
def test_dudley_of_an_inverse_square(c, n, value, digits):
    found = dudley_integral(lambda e: c / e**2, n)
    best = 3.0 * math.sqrt(c / n)
    exact = 12.0 * math.sqrt(c / n) * (1.0 + math.log(1.0 / best))
    assert round(found, digits) == value
    assert exact <= found <= exact * (1.0 + 1e-5)


def test_dudley_of_a_parametric_class():
    found = dudley_integral(lambda e: 100.0 * np.log(3.0 / e), 50_000)
    assert round(found, 2) == 0.76
    assert dudley_integral(lambda e: 0.0 * e, 100) < 1e-5


def test_rademacher_complexity_of_linear_heads_exactly():
    """All signs: the supremum over heads of norm 1 with rows of mean zero is a norm."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(5, 2))
    total = (features**2).sum()
    for n_classes, n_rows in ((2, 5), (3, 4)):
        x = features[:n_rows]
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n_rows * n_classes)))
        signs = signs.reshape(-1, n_rows, n_classes)
        sums = np.einsum("snk,nf->skf", signs, x)
        sums -= sums.mean(axis=1, keepdims=True)
        exact = np.linalg.norm(sums, axis=(1, 2)).mean()
        limit = math.sqrt((n_classes - 1) * (x**2).sum())
        assert 0.8 * limit <= exact <= limit
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))
    exact = math.sqrt(2.0) * np.linalg.norm(signs @ features, axis=1).mean()
    assert exact <= math.sqrt(2.0 * total)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_head_correlates_with_signs_beyond_the_complexity(n_classes):
    """Many heads of norm 1: the ramp loss of none follows random signs better than allowed."""
    rng = np.random.default_rng(1)
    n, width = 30, 0.5
    x = rng.normal(size=(n, 2))
    codes = rng.integers(n_classes, size=n)
    heads = rng.normal(size=(4000, n_classes, 2))
    heads -= heads.mean(axis=1, keepdims=True)
    heads /= np.linalg.norm(heads, axis=(1, 2), keepdims=True)
    logits = np.einsum("hkf,nf->hnk", heads, x)
    own = np.take_along_axis(logits, codes[None, :, None], axis=2)[..., 0].copy()
    logits[:, np.arange(n), codes] = -np.inf
    losses = np.clip(1.0 - (own - logits.max(axis=2)) / width, 0.0, 1.0)
    signs = rng.choice([-1.0, 1.0], size=(n, 500))
    found = (losses @ signs / n).max(axis=0).mean()
    factor = math.sqrt(2.0) if n_classes == 2 else 2.0 * math.sqrt(n_classes - 1.0)
    assert 0.05 < found <= factor * math.sqrt((x**2).sum() / n) / (width * math.sqrt(n))
    assert found <= dudley_integral(
        lambda e: (
            (n_classes - 1) * 2 * np.log1p(2.0 * math.sqrt(2.0 * (x**2).sum() / n) / (width * e))
        ),
        n,
        0.5,
    )


def test_margin_bound_by_hand():
    n, delta = 10_000, 0.05
    head = make_head(np.full(n, 0.7), norms=np.full(n, 0.5), n_classes=4)
    spread = kl_inverse_upper(0.25, math.log(10.0 / delta) / n)
    values = []
    for q in 2.0 ** (np.arange(17) / 2.0):
        ramp = max(0.0, 1.0 - 0.7 * q)
        values.append(ramp + 4.0 * math.sqrt(3.0) * q * math.sqrt(spread / n))
    expected = min(values) + math.sqrt(math.log(17.0 / (0.9 * delta)) / (2.0 * n))
    assert MarginBound()(make_evidence(head), delta).value == pytest.approx(expected, rel=1e-7)
    # Never worse than what the usual factor of 3 gives, with its grid paid for.
    usual = min(values) + 3.0 * math.sqrt(math.log(2.0 * 17.0 / delta) / (2.0 * n))
    assert expected < usual


def test_points_on_a_sphere():
    assert log_points(1, 0.3) == pytest.approx(math.log(2.0), rel=1e-9)
    assert log_points(2, 0.1) == pytest.approx(math.log(80.0), rel=1e-9)
    rng = np.random.default_rng(0)
    for dim, distance in ((2, 0.2), (3, 0.5), (4, 0.8)):
        points = rng.normal(size=(20_000, dim))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        packed = []
        while len(points):
            packed.append(points[0])
            points = points[np.linalg.norm(points - points[0], axis=1) > distance]
        assert 2 * dim <= len(packed) <= math.exp(log_points(dim, distance))


def assert_grids_are_paid(covering, margin, mean_head):
    """Without a row of small margin the values have closed forms."""
    n, delta = 400, 0.05
    head = make_head(np.full(n, math.sqrt(2.0)), norms=np.ones(n), n_features=1)
    points = (2.0 / 2**-1 + 1.0) - (2.0 / 2**-1 - 1.0)
    exact = -math.expm1(math.log(delta / 16.0 / points) / n)
    # Distances of 1/2 and less leave every row outside.
    assert covering(make_evidence(head), delta).value == pytest.approx(exact, rel=1e-9)
    exact = 2.0 * math.sqrt(2.0 / n) + math.sqrt(math.log(17.0 / 0.045) / (2.0 * n))
    assert margin(make_evidence(head), delta).value == pytest.approx(exact, rel=1e-7)
    head = make_head(np.full(10**6, 1.0))
    exact = -math.expm1(math.log(delta / 2.0) / 10**6)
    assert mean_head(make_evidence(head), delta).value == pytest.approx(exact, rel=1e-9)


class FreeCover(CoveringBound):
    """Mutant: the distance is chosen for nothing."""

    def terms(self, evidence, delta):
        return super().terms(evidence, 16.0 * delta)


class FreeMargins(MarginBound):
    """Mutant: the ratio of norm and margin is chosen for nothing."""

    def terms(self, evidence, delta):
        terms = super().terms(evidence, delta)
        n = evidence.n_certified
        return terms | {"confidence": math.sqrt(-math.log(0.9 * delta) / (2.0 * n))}


class FreeMean(MeanHeadBound):
    """Mutant: the count gets all of delta, though the distance has spent half of it."""

    def terms(self, evidence, delta):
        return super().terms(evidence, 2.0 * delta)


def test_mutants_that_do_not_pay():
    good = CoveringBound(), MarginBound(), MeanHeadBound()
    assert_grids_are_paid(*good)
    for place, mutant in enumerate((FreeCover(), FreeMargins(), FreeMean())):
        bounds = [*good[:place], mutant, *good[place + 1 :]]
        with pytest.raises(AssertionError):
            assert_grids_are_paid(*bounds)


# Stability.


def domain(n_points, n_classes, seed=0):
    """Points in the unit ball with a one attached, a law of theirs, and laws of their labels."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, 2))
    points /= np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))
    points = np.hstack([points, np.ones((n_points, 1))])
    return points, rng.dirichlet(np.ones(n_points)), rng.dirichlet(np.ones(n_classes), n_points)


def draw(rng, weights, laws, n):
    rows = rng.choice(len(weights), size=n, p=weights)
    codes = (rng.random(n)[:, None] > np.cumsum(laws[rows], axis=1)[:, :-1]).sum(axis=1)
    return rows, codes


@pytest.mark.parametrize(("n_classes", "lam"), [(2, 0.05), (2, 1.0), (4, 0.3)])
def test_replacing_a_row_moves_the_head_by_no_more_than_allowed(n_classes, lam):
    rng = np.random.default_rng(2)
    points, weights, laws = domain(12, n_classes)
    n = 20
    rows, codes = draw(rng, weights, laws, n)
    record, head = trained(points[rows], codes, n_classes, lam, math.sqrt(2.0))
    gradient = gradient_bound(record)
    assert np.linalg.norm(head) <= gradient / lam * (1.0 + 1e-6)
    logits = points @ head.T
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for k in range(n_classes):
        errors = shares - np.eye(n_classes)[k]
        own = np.linalg.norm(errors, axis=1) * np.linalg.norm(points, axis=1)
        assert own.max() <= gradient
    moved = []
    for place, code in itertools.product(range(12), range(n_classes)):
        others, other_codes = rows.copy(), codes.copy()
        others[0], other_codes[0] = place, code
        _, other = trained(points[others], other_codes, n_classes, lam, math.sqrt(2.0))
        moved.append(np.linalg.norm(other - head))
    assert 0.0 < max(moved) <= 2.0 * gradient / (lam * n)
    assert max(moved) > 0.1 * gradient / (lam * n)


def test_heads_stay_around_their_mean():
    rng = np.random.default_rng(3)
    points, weights, laws = domain(12, 2)
    n, lam = 50, 0.2
    drawn = [draw(rng, weights, laws, n) for _ in range(200)]
    fits = [trained(points[rows], codes, 2, lam, math.sqrt(2.0)) for rows, codes in drawn]
    heads = np.array([head for _, head in fits])
    away = np.linalg.norm(heads - heads.mean(axis=0), axis=(1, 2))
    for delta in (0.2, 0.5):
        spread = math.sqrt(2.0) + math.sqrt(2.0 * math.log(2.0 / delta))
        allowed = gradient_bound(fits[0][0]) / (lam * math.sqrt(n)) * spread
        assert np.mean(away > allowed) <= delta / 2.0


def test_a_head_off_the_minimiser_gets_the_trivial_bound():
    head = make_head(np.full(10**5, 1.0))
    spread = math.sqrt(2.0) + math.sqrt(2.0 * math.log(2.0 / 0.05))
    limit = 0.01 * gradient_bound(head) * spread / math.sqrt(10**5)
    assert MeanHeadBound()(make_evidence(replace(head, gradient_norm=0.99 * limit))).value < 1e-3
    assert MeanHeadBound()(make_evidence(replace(head, gradient_norm=1.01 * limit))).value == 1.0


def test_mean_head_counts_rows_of_small_margin():
    n = 20_000
    near = np.r_[np.full(100, -0.1), np.full(300, 1e-3), np.full(n - 400, 1.2)]
    value = MeanHeadBound()(make_evidence(make_head(near)), 0.05).value
    assert value == binomial_tail_inverse(400, n, log_delta=math.log(0.025))


# Coverage.


@pytest.mark.parametrize("lam", [1e-4, 0.5])
def test_certificates_of_trained_heads_hold(lam):
    rng = np.random.default_rng(4)
    points, weights, laws = domain(8, 2, seed=1)
    n_runs, misses = 300, dict.fromkeys(itertools.product(SINGLE, (0.2, 0.5)), 0)
    for run in range(n_runs):
        rows, codes = draw(rng, weights, laws, 80)
        record, head = trained(points[rows], codes, 2, lam, math.sqrt(2.0))
        chosen = (points @ head.T).argmax(axis=1)
        risk = 1.0 - weights @ laws[np.arange(8), chosen]
        evidence = make_evidence(record)
        for bound, delta in misses:
            if bound.key != "entropy" or run == 0:
                misses[bound, delta] += bound(evidence, delta).value < risk
    for (bound, delta), count in misses.items():
        allowed = delta + 3.0 * math.sqrt(delta * (1.0 - delta) / n_runs)
        assert count / n_runs <= allowed, bound


class BinomialOfTheRowsTrainedOn(BinomialBound):
    """Mutant: as if the head had not seen the rows."""

    def terms(self, evidence, delta):
        return super().terms(replace(evidence, certified=evidence.certified.sample), delta)


def test_labels_that_cannot_be_learnt():
    """Every head has risk 1/2, and the trained one looks better than that on its own rows."""
    rng = np.random.default_rng(5)
    n_runs, delta = 200, 0.2
    mutant, misses = BinomialOfTheRowsTrainedOn(), 0
    for _ in range(n_runs):
        x = rng.normal(size=(60, 5))
        x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
        x = np.hstack([x, np.ones((60, 1))])
        record, _ = trained(x, rng.integers(2, size=60), 2, 1e-3, math.sqrt(2.0))
        evidence = make_evidence(record)
        misses += mutant(evidence, delta).value < 0.5
        for bound in SINGLE[:4]:
            assert bound(evidence, delta).value >= 0.5
    assert misses / n_runs > delta + 0.2


def test_plenty_of_rows_give_bounds_that_say_something():
    n = 50_000
    margins = np.r_[np.full(n // 50, -0.3), np.full(n - n // 50, 1.1)]
    evidence = make_evidence(make_head(margins, n_features=65))
    for bound, largest in zip(SINGLE[:4], (0.05, 0.06, 0.025, 0.2), strict=True):
        assert bound(evidence, 0.05).value < largest
    shared = BestOf(SINGLE[:3])(evidence, 0.05).value
    assert shared == min(bound(evidence, 0.05 / 3).value for bound in SINGLE[:3])
