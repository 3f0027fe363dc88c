"""PAC-Bayes bounds: published numbers, laws, coverage by brute force, and mutants."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from skbound.bounds import (
    BOUNDS,
    BinomialBound,
    PACBayesCatoniBound,
    PACBayesFixedRatesBound,
    PACBayesKLBound,
    PACBayesLambdaBound,
    PACBayesMcAllesterBound,
    PACBayesQuadraticBound,
    ProgressiveBound,
    RenyiBound,
    catoni_upper,
    certificates,
    fixed_rates_upper,
    gaussian_divergence,
    kl_inverse_upper,
    lambda_upper,
    log_xi,
    mcallester_upper,
    monte_carlo_upper,
    quadratic_upper,
    resolve_bound,
)
from skbound.bounds._bound import increments
from skbound.evidence import DrawnSample, Evidence, GibbsSample, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

ALL = list(BOUNDS["pac_bayes_single_draw"].values())
ALL += [PACBayesCatoniBound(rate=1.0), PACBayesLambdaBound(parameter=1.0)]
FOR_MEANS = [bound for bound in ALL if not isinstance(bound, RenyiBound)]
every_bound = pytest.mark.parametrize("bound", ALL, ids=repr)
DELTAS = (1e-6, 0.001, 0.05, 0.2, 0.5, 0.9)
RUNS = 1000


def losses_of(k, n):
    return (np.arange(n) < k).astype(float)


def make_drawn(zero_one, log_ratios=3.0, guess=(5, 100), brier=None, **settings):
    """A record of nets with the losses in the rows of `zero_one`."""
    zero_one = np.atleast_2d(zero_one)
    n_draws, n = zero_one.shape
    ratios = np.broadcast_to(log_ratios, n_draws)
    guessed = losses_of(*guess)
    settings = {
        "predictor": "single_draw" if n_draws == 1 else "gibbs",
        "divergence": max(0.0, ratios.mean()),
        "n_options": 1,
    } | settings
    return DrawnSample(
        sample=Sample(np.arange(n), zero_one[0], None if brier is None else brier[0]),
        zero_one=zero_one,
        brier=brier,
        log_ratios=ratios,
        guess=Sample(np.arange(guess[1]), guessed, guessed),
        **settings,
    )


def evidence_of(record, **settings):
    settings = {"protocol": "pac_bayes", "n_fit": 500, "majority_share": 0.5} | settings
    return Evidence(certified=record, **settings)


def value(bound, k, n, delta=0.05, n_candidates=1, **settings):
    record = make_drawn(losses_of(k, n), **settings)
    return bound(evidence_of(record, n_candidates=n_candidates), delta).value


# Published numbers: kl bounds with ln(2 sqrt(n)) in place of ln xi(n), which is smaller.


def two_steps(mean, n_draws, a, n, kl_per_row, delta, delta_mc):
    mean = monte_carlo_upper(mean, n_draws, math.log(a / delta_mc))
    radius = kl_per_row + math.log(2.0 * math.sqrt(n) / delta) / n
    exact = kl_per_row + (log_xi(n) - math.log(delta)) / n
    assert kl_inverse_upper(mean, exact) < kl_inverse_upper(mean, radius)
    return mean, kl_inverse_upper(mean, radius)


@pytest.mark.parametrize(
    ("mean", "n_draws", "n", "kl_per_row", "expected"),
    [
        (0.30408205, 5000, 60000, 0.032215254720052, (0.325526, 0.450396)),
        (0.5612528934666707, 150000, 50000, 0.08466400390625, (0.565421, 0.754317)),
    ],
)
def test_garcia_perez_2025(mean, n_draws, n, kl_per_row, expected):
    found = two_steps(mean, n_draws, 2.0, n, kl_per_row, 0.01, 0.01)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("mean", "kl", "expected"),
    [
        (0.3379666667, 80.83292, 0.3837803684),
        (0.342, 86.555855, 0.3891077458),
        (0.3339333333, 81.00739, 0.3796732586),
        (0.3409, 80.542496, 0.3867304945),
    ],
)
def test_recursive_pac_bayes_informed_prior(mean, kl, expected):
    _, found = two_steps(mean, 30000, 1.0, 30000, kl / 30000, 0.025, 0.01)
    assert found == pytest.approx(expected, abs=1e-9)


def test_recursive_pac_bayes_uninformed_prior():
    _, found = two_steps(0.33650333, 60000, 1.0, 60000, 0.0303723, 0.025, 0.01)
    assert found == pytest.approx(0.464258, abs=1e-6)


def test_viallard_et_al():
    mean, n = monte_carlo_upper(0.8970909, 400, math.log(4 / 0.05)), 60000
    radius = (38.6353874 + math.log(2.0 * math.sqrt(n) / 0.025)) / n
    assert kl_inverse_upper(mean, radius) == pytest.approx(0.9456105, abs=1e-7)
    confidence = math.log(2.0 * math.sqrt(n))
    renyi = (77.2707748 + confidence + 3.0 * math.log(2.0 / 0.05)) / n
    assert kl_inverse_upper(0.8970909, renyi) == pytest.approx(0.91331, abs=1e-5)
    single = (38.6353874 + confidence + math.log(1.0 / 0.05)) / n
    assert kl_inverse_upper(0.8970909, single) == pytest.approx(0.90879, abs=2e-5)


def test_lotfi_et_al():
    q, kl, n, delta = 0.289307, 1724.0, 30000, 0.05
    older = q + math.sqrt((kl + math.log(n / delta)) / (2 * n - 1))
    assert older == pytest.approx(0.459470, abs=1e-6)
    assert mcallester_upper(q, (kl + log_xi(n) - math.log(delta)) / n) < older
    radius = (kl - math.log(delta)) / n
    best = min(catoni_upper(q, radius, rate) for rate in np.linspace(0.5, 1.5, 2001))
    assert best == pytest.approx(0.454866, abs=1e-6)
    assert best == pytest.approx(kl_inverse_upper(q, radius), abs=1e-6)


def test_gaussian_divergence():
    assert gaussian_divergence(0.3, 0.5, 0.0, 1.0) == pytest.approx(0.3631472, abs=1e-7)
    assert gaussian_divergence([0.1, 2.0], 0.3, [0.1, 2.0], 0.3) == 0.0
    rng = np.random.default_rng(0)
    m, s, m0, s0 = rng.normal(size=3), rng.uniform(0.5, 2, 3), rng.normal(size=3), np.ones(3)
    x = m + s * rng.normal(size=(200_000, 3))
    logs = (((x - m0) / s0) ** 2 - ((x - m) / s) ** 2) / 2 + np.log(s0 / s)
    error = logs.sum(axis=1).std() / math.sqrt(len(x))
    found = gaussian_divergence(m, s, m0, s0)
    assert abs(found - logs.sum(axis=1).mean()) < 4.0 * error


# Closed forms.


@pytest.mark.parametrize("mean", [0.0, 0.02, 0.3, 0.9])
@pytest.mark.parametrize("radius", [1e-4, 0.01, 0.3])
def test_forms_agree_and_none_is_below_the_relative_entropy(mean, radius):
    kl = kl_inverse_upper(mean, radius)
    for other in (quadratic_upper, mcallester_upper, lambda_upper):
        assert other(mean, radius) >= kl * (1.0 - 1e-12)
    parameters = np.linspace(0.001, 1.999, 20001)
    best = min(lambda_upper(mean, radius, a) for a in parameters)
    assert best == pytest.approx(quadratic_upper(mean, radius), rel=1e-6)
    assert lambda_upper(mean, radius) == pytest.approx(quadratic_upper(mean, radius), rel=1e-9)
    for rate in (0.1, 1.0, 5.0):
        single = catoni_upper(mean, radius, rate)
        assert single >= kl * (1.0 - 1e-12)
        several = fixed_rates_upper(mean, 50, 50 * radius, [rate], [1.0])
        assert several == pytest.approx(min(1.0, single), rel=1e-9)


def test_values_are_those_of_the_forms():
    k, n, delta, ratio, options = 12, 300, 0.05, 3.0, 4
    settings = {"log_ratios": ratio, "n_options": options, "delta": delta}
    nats = ratio + math.log(options / delta)
    radius, q = (nats + log_xi(n)) / n, k / n
    expected = {
        PACBayesKLBound(): kl_inverse_upper(q, radius),
        PACBayesQuadraticBound(): quadratic_upper(q, radius),
        PACBayesMcAllesterBound(): mcallester_upper(q, radius),
        PACBayesLambdaBound(parameter=1.0): lambda_upper(q, radius, 1.0),
        PACBayesCatoniBound(rate=1.5): catoni_upper(q, nats / n, 1.5),
        PACBayesCatoniBound(): min(
            catoni_upper(q, (nats + math.log(7)) / n, 2.0**j) for j in range(-3, 4)
        ),
        RenyiBound(): kl_inverse_upper(
            q, (2 * ratio + log_xi(n) + 3 * math.log(2 * options / delta)) / n
        ),
    }
    for bound, wanted in expected.items():
        assert value(bound, k, n, **settings) == pytest.approx(wanted, rel=1e-9)


def rates_of_guess(q, n):
    rates = []
    for nats in (3.0, 7.0, 20.0):
        u = kl_inverse_upper(q, nats / n)
        rates.append(math.log(u * (1 - q) / (q * (1 - u))))
    return rates


def assert_rates_come_from_the_guess(bound):
    for guess in ((5, 100), (40, 100)):
        rates = rates_of_guess((guess[0] + 1) / (guess[1] + 2), 300)
        for k, ratio in ((0, 0.0), (12, 3.0), (100, 30.0)):
            nats = ratio + math.log(20.0)
            expected = fixed_rates_upper(k / 300, 300, nats, rates, [0.4, 0.3, 0.3])
            found = value(bound, k, 300, guess=guess, log_ratios=ratio)
            assert found == pytest.approx(expected, rel=1e-9)


class RatesFromCertifiedRows(PACBayesFixedRatesBound):
    """Mutant: the rates are guessed from the rows that the bound is computed from."""

    def terms(self, evidence, delta):
        record = evidence.certified
        return super().terms(
            replace(evidence, certified=replace(record, guess=record.sample)), delta
        )


class BestRateAfterwards(PACBayesFixedRatesBound):
    """Mutant: the rate is chosen to make the bound as small as the certified rows allow."""

    def curve(self, n_samples, guess):
        return lambda mean, nats: kl_inverse_upper(mean, nats / n_samples)


def test_rates_come_from_the_guess_alone():
    assert_rates_come_from_the_guess(PACBayesFixedRatesBound())
    for mutant in (RatesFromCertifiedRows(), BestRateAfterwards()):
        with pytest.raises(AssertionError):
            assert_rates_come_from_the_guess(mutant)


@pytest.mark.parametrize("guess", [(0, 20), (1, 20), (20, 20), (500, 10_000)])
@pytest.mark.parametrize("ratio", [0.0, 3.0, 30.0])
def test_fixed_rates_beat_xi_where_the_guess_is_right_and_never_beat_chernoff(guess, ratio):
    for k in range(0, 301, 20):
        chernoff = kl_inverse_upper(k / 300, (ratio + math.log(20.0)) / 300)
        found = value(PACBayesFixedRatesBound(), k, 300, guess=guess, log_ratios=ratio)
        assert found >= chernoff * (1.0 - 1e-11)
        if abs(k / 300 - (guess[0] + 1) / (guess[1] + 2)) < 0.02:
            assert found < value(PACBayesKLBound(), k, 300, log_ratios=ratio)


# Laws.


@every_bound
def test_monotone_in_everything(bound):
    for k, n in ((0, 50), (3, 50), (40, 50)):
        values = [value(bound, k, n, delta) for delta in DELTAS]
        assert (np.diff(values) <= 0.0).all()
        assert min(values) >= k / n
        values = [value(bound, k, n, log_ratios=ratio) for ratio in (-5.0, 0.0, 0.1, 1.0, 20.0)]
        assert values[0] == values[1]
        assert (np.diff(values) >= 0.0).all()
        values = [value(bound, k, n, n_options=options) for options in (1, 2, 20)]
        assert (np.diff(values) > 0.0).all() or values[0] == 1.0
        values = [value(bound, k * m, n * m) for m in (1, 2, 10, 100)]
        assert (np.diff(values) <= 0.0).all()
    values = [value(bound, k, 60) for k in range(0, 61, 5)]
    assert (np.diff(values) >= 0.0).all()


@every_bound
def test_terms_sum_pickle_and_choice(bound):
    record = make_drawn(losses_of(12, 200), n_options=3)
    chosen = bound(evidence_of(record, n_candidates=20), 0.2)
    alone = bound(evidence_of(record), 0.01)
    assert chosen.value == pytest.approx(alone.value, rel=1e-12)
    names = ["empirical_loss", "confidence", "prior_choice", "divergence", "choice"]
    assert list(chosen.terms) == names
    assert math.fsum(chosen.terms.values()) == chosen.value
    assert min(chosen.terms.values()) > 0.0
    again = pickle.loads(pickle.dumps(bound))(pickle.loads(pickle.dumps(evidence_of(record))), 0.01)
    assert again == alone
    order = np.random.default_rng(0).permutation(200)
    shuffled = make_drawn(losses_of(12, 200)[order], n_options=3)
    assert bound(evidence_of(shuffled), 0.01).value == alone.value


def test_the_divergence_of_several_draws_is_their_mean_log_ratio():
    zero_one = np.array([losses_of(10, 200), losses_of(30, 200)])
    record = make_drawn(zero_one, log_ratios=np.array([9.0, -1.0]))
    for bound in FOR_MEANS:
        found = bound(evidence_of(record), 0.05).value
        assert found == pytest.approx(value(bound, 20, 200, log_ratios=4.0), rel=1e-12)
    with pytest.raises(MissingEvidenceError, match="about one net, but 2 were drawn"):
        RenyiBound()(evidence_of(record), 0.05)


def test_statement_of_each_predictor():
    losses = np.tile(losses_of(10, 200), (2, 1))
    texts = {
        p: PACBayesKLBound()(evidence_of(make_drawn(losses, predictor=p, brier=losses))).statement()
        for p in ("gibbs", "vote", "average")
    }
    assert "mean over the key of the hash that gives each row to one of 2 drawn" in texts["gibbs"]
    assert "predict(x) != y), is at most" in texts["vote"]
    assert "predict lets 2 drawn nets vote." in texts["vote"]
    assert "predict averages the probabilities of 2 drawn nets." in texts["average"]
    for text in texts.values():
        assert "trained on 500 rows, its prior on a part of them; 2 nets drawn from it" in text
    single = PACBayesKLBound()(evidence_of(make_drawn(losses[0]))).statement()
    assert "one net drawn from it was certified on the 200 rows that the prior has not" in single


def test_what_a_vote_and_an_average_cost():
    zero_one = np.tile(losses_of(10, 200), (4, 1))
    brier = 0.5 * zero_one
    evidence = {
        p: evidence_of(make_drawn(zero_one, brier=brier, predictor=p, guess=(10, 200)))
        for p in ("gibbs", "vote", "average")
    }
    for kind in (PACBayesKLBound, PACBayesFixedRatesBound):
        error, brier_score = (kind(loss)(evidence["gibbs"]).value for loss in ("zero_one", "brier"))
        vote, average = kind()(evidence["vote"]), kind()(evidence["average"])
        assert vote.value == pytest.approx(2.0 * error, rel=1e-12)
        assert average.value == pytest.approx(4.0 * brier_score, rel=1e-12)
        assert kind("brier")(evidence["vote"]).value == error
        assert kind("brier")(evidence["average"]).value == brier_score
        assert list(vote.terms)[:2] == ["empirical_loss", "vote"]
        assert list(average.terms)[:2] == ["empirical_loss", "average"]
        assert vote.terms["empirical_loss"] == average.terms["empirical_loss"] == 0.05


def test_a_loss_of_an_ensemble_is_at_most_so_many_times_that_of_its_nets():
    """The three inequalities behind the factors, on random nets and on the worst cases."""
    rng = np.random.default_rng(0)
    worst = np.zeros(4)
    for n_classes in (2, 3, 5):
        nets = rng.dirichlet(np.full(n_classes, 0.3), size=(20_000, 4))
        nets[0] = [[0.5, 0.5] + [0.0] * (n_classes - 2)] * 4
        nets[1, :2], nets[1, 2:] = np.eye(n_classes)[1], np.eye(n_classes)[0]
        one_hot = np.eye(n_classes)
        y = 1
        errors = (nets.argmax(axis=2) != y).mean(axis=1)
        briers = 0.5 * ((nets - one_hot[y]) ** 2).sum(axis=2).mean(axis=1)
        shares = one_hot[nets.argmax(axis=2)].mean(axis=1)
        average = nets.mean(axis=1)
        vote_errs, average_errs = shares.argmax(axis=1) != y, average.argmax(axis=1) != y
        vote_brier = 0.5 * ((shares - one_hot[y]) ** 2).sum(axis=1)
        average_brier = 0.5 * ((average - one_hot[y]) ** 2).sum(axis=1)
        for i, (of_ensemble, of_nets) in enumerate(
            [
                (vote_errs, errors),
                (average_errs, briers),
                (vote_brier, errors),
                (average_brier, briers),
            ]
        ):
            worst[i] = max(worst[i], (of_ensemble / np.maximum(of_nets, 1e-300)).max())
    assert (worst <= np.array([2.0, 4.0, 1.0, 1.0]) + 1e-12).all()
    assert worst[0] == 2.0
    assert worst[1] == 4.0


def test_the_vote_factor_is_needed():
    """Three nets that err on disjoint thirds, each with one of the others: the vote errs more."""
    wrong = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], float)
    assert (wrong.mean(axis=0) >= 0.5).mean() > wrong.mean()


def test_refusals():
    progressive = Evidence(
        protocol="holdout", n_fit=10, majority_share=0.5, certified=Sample(range(9), np.zeros(9))
    )
    for bound in ALL:
        with pytest.raises(MissingEvidenceError, match="Fit with protocol='pac_bayes'"):
            bound(progressive, 0.05)
    for bound in (BinomialBound(), ProgressiveBound()):
        with pytest.raises(MissingEvidenceError):
            bound(evidence_of(make_drawn(np.zeros(9))), 0.05)
    with pytest.raises(MissingEvidenceError, match="predict_proba"):
        PACBayesKLBound("brier")(evidence_of(make_drawn(np.zeros(9))), 0.05)
    with pytest.raises(ValueError, match="loss must be one of"):
        PACBayesKLBound("log")
    with pytest.raises(ValueError, match=r"must lie in \(0, 2\), got 2.0"):
        lambda_upper(0.1, 0.1, 2.0)
    with pytest.raises(ValueError, match=r"must be positive, got 0\.0"):
        catoni_upper(0.1, 0.1, 0.0)


def test_names():
    evidence = evidence_of(make_drawn(losses_of(3, 90), brier=losses_of(3, 90)[None]))
    found = certificates(evidence, 0.05)
    names = ["kl_fixed", "kl", "quadratic", "lambda", "mcallester", "catoni", "renyi"]
    assert list(found) == [*names, "brier_kl_fixed", "brier_kl"]
    assert found["brier_kl"].value == found["kl"].value
    assert resolve_bound("auto", evidence) == PACBayesFixedRatesBound()
    with pytest.raises(MissingEvidenceError, match="is used"):
        resolve_bound("binomial", evidence)


# Records.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"predictor": "mean"}, "predictor must be one of .* got 'mean'"),
        ({"n_options": 0}, "n_options must be an integer of at least 1"),
        ({"divergence": -1.0}, "divergence must be finite and not negative"),
        ({"log_ratios": np.nan, "divergence": 1.0}, "Log ratios must be finite"),
        ({"brier": np.full((1, 9), 1.5)}, "must lie in"),
        ({"brier": np.zeros((2, 9))}, "must have the shape"),
    ],
)
def test_records_refuse(settings, message):
    with pytest.raises(ValueError, match=message):
        make_drawn(np.zeros(9), **settings)
    with pytest.raises(ValueError, match="A single draw is one net, got 2"):
        make_drawn(np.zeros((2, 9)), predictor="single_draw")


def test_records_keep_their_write_protection():
    record = pickle.loads(pickle.dumps(make_drawn(np.zeros((2, 9)))))
    for array in (record.zero_one, record.log_ratios, record.sample.zero_one):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert (record.kind, record.n_draws, record.n_samples) == ("pac_bayes_gibbs", 2, 9)


def make_gibbs(**settings):
    guess = Sample(range(100), losses_of(10, 100))
    settings = {"zero_one": 0.1, "n_samples": 300, "n_draws": 1000, "divergence": 2.0} | settings
    return GibbsSample(guess=guess, **settings)


def test_the_monte_carlo_step_is_paid_from_delta():
    for bound in FOR_MEANS:
        terms = bound(evidence_of(make_gibbs()), 0.05).terms
        assert terms["monte_carlo"] > 0.0
        mean = monte_carlo_upper(0.1, 1000, math.log(100.0))
        assert terms["empirical_loss"] + terms["monte_carlo"] == pytest.approx(mean, rel=1e-12)
        exact = make_drawn(np.tile(losses_of(30, 300), (2, 1)), log_ratios=2.0, guess=(10, 100))
        assert math.fsum(terms.values()) > bound(evidence_of(exact), 0.05).value
    wide = PACBayesKLBound()(evidence_of(make_gibbs(inflation=1.2)), 0.05).value
    assert wide > math.fsum(PACBayesKLBound()(evidence_of(make_gibbs()), 0.05).terms.values())
    for bad in ({"zero_one": 1.1}, {"n_draws": 0}, {"inflation": 0.5}, {"divergence": math.inf}):
        with pytest.raises(ValueError, match="must"):
            make_gibbs(**bad)


# Coverage. 20 predictors of known risk, a uniform prior over them, and a posterior that may do
# its worst, knowing the risks.

RISKS = np.linspace(0.05, 0.45, 20)
N = 100


def allowed(delta, n_runs=RUNS):
    return delta + 3.0 * np.sqrt(delta * (1.0 - delta) / n_runs)


def independent_losses(rng, n_runs=RUNS):
    """Losses of all predictors, each with errors of its own, of shape (n_runs, N, 20)."""
    return (rng.random((n_runs, N, 20)) < RISKS).astype(float)


def gibbs_posterior(means):
    weights = np.exp(-30.0 * (means - means.min()))
    return weights / weights.sum()


def most_deceptive(means):
    gain = np.where(means < RISKS, N * (RISKS - means) ** 2 / (RISKS * (1.0 - RISKS)), -1.0)
    weights = np.exp(0.5 * (gain - gain.max()))
    return weights / weights.sum()


def point_mass(means):
    return np.eye(20)[np.argmax(RISKS - means)]


POSTERIORS = [gibbs_posterior, most_deceptive, point_mass]


def finite_miss_rate(bound, posterior, delta, n_draws, *, change=None, n_runs=RUNS):
    rng = np.random.default_rng(n_draws)
    misses = 0
    for losses in independent_losses(rng, n_runs):
        q = posterior(losses.mean(axis=0))
        nets = rng.choice(20, size=n_draws, p=q)
        record = make_drawn(losses[:, nets].T, np.log(20.0 * q[nets]), guess=(25, 100))
        if change:
            record = change(record)
        misses += bound(evidence_of(record), delta).value < RISKS[nets].mean()
    return misses / n_runs


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("n_draws", [1, 4])
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_finitely_many_predictors(posterior, n_draws, delta):
    bounds = [PACBayesFixedRatesBound(), PACBayesKLBound(), PACBayesCatoniBound()]
    for bound in bounds:
        rate = finite_miss_rate(bound, posterior, delta, n_draws, n_runs=250)
        assert rate <= allowed(delta, 250), bound
    if n_draws == 1:
        rate = finite_miss_rate(RenyiBound(), posterior, delta, 1, n_runs=250)
        assert rate <= allowed(delta, 250)


def test_a_prior_that_saw_the_certified_rows_is_noticed():
    """Mutant: the prior is the posterior, so that all densities agree."""

    def seen(record):
        return replace(record, log_ratios=np.zeros(record.n_draws), divergence=0.0)

    rate = finite_miss_rate(PACBayesFixedRatesBound(), point_mass, 0.2, 1, change=seen)
    assert rate > allowed(0.2)


def choice_miss_rate(n_options, delta=0.2):
    """20 priors, each certain of one predictor; the best-looking is chosen."""
    rng = np.random.default_rng(0)
    misses = 0
    for losses in independent_losses(rng):
        net = np.argmax(RISKS - losses.mean(axis=0))
        record = make_drawn(losses[:, net], 0.0, guess=(25, 100), n_options=n_options)
        misses += PACBayesFixedRatesBound()(evidence_of(record), delta).value < RISKS[net]
    return misses / RUNS


def test_an_unpaid_choice_among_priors_is_noticed():
    assert choice_miss_rate(20) <= allowed(0.2)
    assert choice_miss_rate(1) > allowed(0.2)


class WithoutDelta(PACBayesKLBound):
    """Mutant: what confidence costs is dropped."""

    def curve(self, n_samples, guess):
        return lambda mean, nats: kl_inverse_upper(mean, max(0.0, nats - math.log(5)) / n_samples)


class WithoutXi(PACBayesKLBound):
    """Mutant: Maurer's constant is dropped."""

    def curve(self, n_samples, guess):
        return lambda mean, nats: kl_inverse_upper(mean, nats / n_samples)


def assert_pays_xi(bound):
    """With one predictor alone two-sided deviations would break it; here by its closed form."""
    expected = kl_inverse_upper(0.04, (3.0 + math.log(20.0) + log_xi(300)) / 300)
    assert value(bound, 12, 300) == pytest.approx(expected, rel=1e-9)


def test_missing_constants_are_noticed():
    rate = finite_miss_rate(WithoutDelta(), most_deceptive, 0.2, 1)
    assert rate > finite_miss_rate(PACBayesKLBound(), most_deceptive, 0.2, 1)
    assert_pays_xi(PACBayesKLBound())
    for mutant in (WithoutXi(), WithoutDelta()):
        with pytest.raises(AssertionError):
            assert_pays_xi(mutant)


# The same for a continuous posterior: thresholds on a line, labels flipped with probability 0.2.

FLIP, SIGMA = 0.2, 0.05


def threshold_risk(w):
    return FLIP + (1.0 - 2.0 * FLIP) * np.abs(np.clip(w, 0.0, 1.0) - 0.5)


def threshold_miss_rate(bound, delta, noise_of, *, n=100, n_runs=500):
    rng = np.random.default_rng(1)
    grid = np.linspace(0.0, 1.0, 41)
    misses, values = 0, []
    for _ in range(n_runs):
        x = rng.random(n)
        y = (x > 0.5) ^ (rng.random(n) < FLIP)
        losses = (x > grid[:, None]) != y
        center = grid[losses.mean(axis=1).argmin()]
        noise = noise_of(rng)
        w, shift = center + SIGMA * noise, (center - 0.4) / SIGMA
        record = make_drawn(
            (x > w[:, None]) != y,
            shift**2 / 2 + shift * noise,
            guess=(30, 100),
            divergence=shift**2 / 2,
        )
        values.append(bound(evidence_of(record), delta).value)
        misses += values[-1] < threshold_risk(w).mean()
    return misses / n_runs, float(np.mean(values))


def one(rng):
    return rng.standard_normal(1)


def opposite_pairs(rng):
    noise = rng.standard_normal(2)
    return np.concatenate([noise, -noise])


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("noise_of", [one, opposite_pairs])
def test_thresholds_on_a_line(noise_of, delta):
    means = {}
    for bound in (PACBayesFixedRatesBound(), PACBayesKLBound()):
        rate, means[bound.key] = threshold_miss_rate(bound, delta, noise_of)
        assert rate <= allowed(delta, 500)
    assert means["kl_fixed"] < means["kl"]
    if noise_of is one:
        _, renyi = threshold_miss_rate(RenyiBound(), delta, noise_of)
        assert renyi > means["kl"]


# Monte Carlo.


def monte_carlo_miss_rate(upper, delta, n_runs=4000):
    """Unequal minibatches with different mean losses, one 0-1 loss mean per draw."""
    rng = np.random.default_rng(0)
    sizes = np.array([32, 32, 32, 24])
    shares, means, passes = sizes / sizes.sum(), np.array([0.02, 0.5, 0.1, 0.3]), 5
    inflation = len(sizes) * shares.max()
    drawn = (rng.random((n_runs, passes, len(sizes))) < means).astype(float)
    found = (drawn * shares).sum(axis=2).mean(axis=1)
    exact = float(shares @ means)
    return float(np.mean([upper(q, passes * len(sizes), delta, inflation) < exact for q in found]))


def paid(mean, n_draws, delta, inflation):
    return monte_carlo_upper(mean, n_draws, -math.log(delta), inflation)


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
def test_monte_carlo_step_holds(delta):
    assert monte_carlo_miss_rate(paid, delta) <= allowed(delta, 4000)


def test_an_unpaid_monte_carlo_mean_is_noticed():
    assert monte_carlo_miss_rate(lambda mean, *_: mean, 0.2) > allowed(0.2, 4000)


def test_increments_are_never_negative():
    found = increments(empirical_loss=0.1, confidence=0.2, prior_choice=0.1, divergence=0.3)
    assert list(found) == ["empirical_loss", "confidence", "prior_choice", "divergence"]
    assert list(found.values()) == pytest.approx([0.1, 0.1, 0.0, 0.1])


def test_a_holdout_at_the_same_count_is_at_most_as_large():
    for k in (0, 5, 40):
        exact = checks.value_at_count(BinomialBound(), k, 100, 0.05)
        for bound in ALL:
            assert value(bound, k, 100, log_ratios=0.0) >= exact
