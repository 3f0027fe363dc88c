"""PAC-Bayes: the prior never sees the certified rows, and the drawn nets are what predicts."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound._random_state import draw_seed
from skbound.bounds import PACBayesFixedRatesBound, PACBayesKLBound, certificates
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.evidence import Sample
from skbound.exceptions import MissingEvidenceError, SkboundWarning
from skbound.protocols import FittedModel, PACBayes, resolve_protocol
from skbound.protocols._gaussians import Gaussian, draws
from skbound.tokenizers import resolve_tokenizer
from tests.honesty import allowed_misses, many_classes

PREDICTORS = ("single_draw", "gibbs", "vote", "average")
TINY = TransformerClassifier(
    depth=1,
    width=8,
    n_heads=2,
    max_epochs=3,
    lr=0.01,
    protocol=PACBayes(n_draws=4, sigmas=(0.01, 0.05)),
    random_state=0,
)
MODELS = {p: clone(TINY).set_params(protocol__predictor=p) for p in PREDICTORS} | {
    "early stopping": clone(TINY).set_params(early_stopping=True, max_epochs=6),
    "class weights": clone(TINY).set_params(class_weight="balanced"),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def certified_rows(model):
    return model.evidence_.certified.sample.rows


@dataclass
class Spy:
    """What the protocol asked its learner to train, and what came out."""

    rows: list
    starts: list
    pulls: list
    weights: list


@pytest.fixture
def spy(monkeypatch):
    seen = Spy([], [], [], [])
    fit = TransformerLearner.fit

    def noting(self, rows, *, start=None, pull=0.0, **settings):
        found = fit(self, rows, start=start, pull=pull, **settings)
        seen.rows.append(rows)
        seen.starts.append(start)
        seen.pulls.append(pull)
        seen.weights.append(self.parameters(found))
        return found

    monkeypatch.setattr(TransformerLearner, "fit", noting)
    return seen


def test_what_is_trained_on_what(spy):
    X, y = many_classes(n_samples=240, n_classes=5)
    fitted = clone(TINY).fit(X, y)
    early, prior, *posteriors = spy.rows
    assert (len(early), len(prior)) == (96, 120)
    assert set(early) < set(prior)
    assert not set(certified_rows(fitted)) & set(prior)
    assert set(fitted.evidence_.certified.guess.rows) == set(prior) - set(early)
    assert len(certified_rows(fitted)) == 120
    assert [len(rows) for rows in posteriors] == [240, 240]
    assert spy.starts[:2] == [None, None]
    assert spy.starts[2] is spy.starts[3]
    assert spy.pulls == [0.0, 0.0, 1 / (0.01**2 * 240), 1 / (0.05**2 * 240)]
    assert fitted.n_samples_fit_ == 240
    assert fitted.n_samples_certified_ == 120


def check_prior_ignores_certified_rows(model, X, y, weights):
    """Other rows to certify leave alone the prior, its scaling and the guess."""
    model = clone(model).set_params(max_epochs=2)
    first = clone(model).fit(X, y)
    rows, before = certified_rows(first), weights[:2]
    weights.clear()
    rng = np.random.default_rng(1)
    X_other, y_other = X.copy(), y.copy()
    X_other[rows], y_other[rows] = 50.0 * rng.normal(size=X[rows].shape), y[0]
    assert np.array_equal(np.unique(np.delete(y, rows)), np.unique(y))
    second = clone(model).fit(X_other, y_other)
    assert np.array_equal(certified_rows(second), rows)
    for one, other in zip(before, weights[:2], strict=True):
        assert np.array_equal(one, other)
    guesses = [fitted.evidence_.certified.guess for fitted in (first, second)]
    assert np.array_equal(guesses[0].brier, guesses[1].brier)
    prepared = [fitted.tokenizer_.prepare(X) for fitted in (first, second)]
    assert np.array_equal(*prepared)
    weights.clear()


@every_model
def test_the_prior_ignores_certified_rows(model, spy):
    check_prior_ignores_certified_rows(
        model, *many_classes(n_samples=240, n_classes=5), spy.weights
    )


class PriorOnAllRows(PACBayes):
    """Mutant: the prior is trained on the certified rows too."""

    def _posterior(self, learner, parts, seed):
        return super()._posterior(learner, _Everything(parts), seed)


class _Everything:
    def __init__(self, parts):
        self.prior = self.all = parts.all
        self.certified = parts.certified


def test_a_prior_on_all_rows_is_noticed(spy):
    X, y = many_classes(n_samples=240, n_classes=5)
    mutant = clone(TINY).set_params(protocol=PriorOnAllRows())
    with pytest.raises(AssertionError):
        check_prior_ignores_certified_rows(mutant, X, y, spy.weights)


@every_model
def test_the_split_ignores_labels(model):
    X, y = many_classes(n_samples=240, n_classes=5)
    rows = [certified_rows(clone(model).fit(X, labels)) for labels in (y, np.roll(y, 7), y[::-1])]
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])


def parts_of(model):
    return (model,) if model._several is None else model._several.parts


def logits_of(part, X):
    return part._logits(X) if part is not None and hasattr(part, "_logits") else part.logits(X)


def brier_of(proba, y, classes):
    return 0.5 * ((proba - (y[:, None] == classes)) ** 2).sum(axis=1)


def check_certificate_is_about_predict(model, X, y):
    """The recorded losses are those of the nets that predict, and predict uses these nets."""
    model = clone(model).fit(X, y)
    record, rows = model.evidence_.certified, certified_rows(model)
    parts = parts_of(model)
    assert len(parts) == record.n_draws == model.certificate_.n_predictors
    answers = np.array([logits_of(part, X) for part in parts])
    for part, zero_one in zip(answers, record.zero_one, strict=True):
        wrong = model.classes_[part[rows].argmax(axis=1)] != y[rows]
        assert np.array_equal(wrong, zero_one)
    predicted, proba = model.predict(X), model.predict_proba(X)
    assert np.array_equal(predicted, model.classes_[proba.argmax(axis=1)])
    assert np.array_equal(record.sample.zero_one, (predicted != y)[rows])
    np.testing.assert_allclose(record.sample.brier, brier_of(proba, y, model.classes_)[rows])
    votes = answers.argmax(axis=2)
    probabilities = np.exp(answers - np.logaddexp.reduce(answers, axis=2)[..., None])
    if record.predictor == "vote":
        shares = np.array([(votes == c).mean(axis=0) for c in range(len(model.classes_))]).T
        np.testing.assert_allclose(proba, shares, atol=1e-9)
    elif record.predictor == "average":
        np.testing.assert_allclose(proba, probabilities.mean(axis=0), atol=1e-9)
    elif record.predictor == "gibbs":
        chosen = model._several.choice(X)
        assert set(chosen) == set(range(len(parts)))
        np.testing.assert_allclose(proba, probabilities[chosen, np.arange(len(X))])
    else:
        np.testing.assert_allclose(proba, probabilities[0])


@every_model
def test_the_certificate_is_about_predict(model):
    check_certificate_is_about_predict(model, *many_classes(n_samples=240, n_classes=5))


class CenterPredicts(PACBayes):
    """Mutant: drawn nets are certified, but the net at the posterior's centre predicts."""

    def _predictor(self, learner, fits, seed):
        mean = np.mean([learner.parameters(fit) for fit in fits], axis=0)
        return learner.with_parameters(fits[0], mean + 0.3).model


def test_another_net_that_predicts_is_noticed():
    X, y = many_classes(n_samples=240, n_classes=5)
    for predictor in ("single_draw", "vote"):
        mutant = clone(TINY).set_params(protocol=CenterPredicts(predictor=predictor))
        with pytest.raises(AssertionError):
            check_certificate_is_about_predict(mutant, X, y)


# The draw itself.


def weights_of(part):
    net = part.net_ if hasattr(part, "net_") else part.net
    return np.concatenate([p.detach().numpy().ravel() for p in net.module_.parameters()])


def check_draws(model, X, y, weights):
    """The nets are the first draws of their generator, and their densities are right."""
    weights.clear()
    fitted = clone(model).fit(X, y)
    record, protocol = fitted.evidence_.certified, fitted.protocol
    prior, posteriors = weights[1], weights[2:]
    seed = resolve_seed(fitted)
    n_draws = record.n_draws
    noise = draws(prior.size, n_draws, np.random.default_rng([seed, 2]))
    drawn = np.array([weights_of(part) for part in parts_of(fitted)], dtype=np.float64)
    options = [
        (sigma, prior + share * (center - prior))
        for sigma, center in zip(protocol.sigmas, posteriors, strict=True)
        for share in (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)
    ]
    distances = [np.abs(drawn - (c + s * np.array(noise))).max() for s, c in options]
    sigma, center = options[int(np.argmin(distances))]
    assert min(distances) < 1e-6
    # From the rounded weights, by the definition of the densities.
    ratios = ((drawn - prior) ** 2 - (drawn - center) ** 2).sum(axis=1) / (2 * sigma**2)
    np.testing.assert_allclose(record.log_ratios, ratios, atol=1e-3)
    divergence = ((center - prior) ** 2).sum() / (2 * sigma**2)
    assert record.divergence == pytest.approx(divergence, rel=1e-9, abs=1e-12)
    assert record.n_options == len(protocol.sigmas)
    if n_draws > 1:
        np.testing.assert_allclose(record.log_ratios.mean(), divergence, rtol=1e-9, atol=1e-9)
    return record


def resolve_seed(fitted):
    own = fitted.protocol.random_state
    return draw_seed(fitted.random_state if own is None else own)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_draws_and_densities(predictor, spy, monkeypatch):
    X, y = many_classes(n_samples=240, n_classes=5)
    model = clone(TINY).set_params(protocol__predictor=predictor, protocol__sigmas=(0.05, 0.1))
    check_draws(model, X, y, spy.weights)
    check_draws(model.set_params(protocol__random_state=7), X, y, spy.weights)
    # Whatever the choice would be: a posterior away from the prior.
    monkeypatch.setattr("skbound.protocols._gaussians._SHARES", (1.0,))
    assert check_draws(model, X, y, spy.weights).divergence > 0.01


class BestOfManyDraws(PACBayes):
    """Mutant: the draw with the fewest errors on the certified rows is kept."""

    def _drawn(self, learner, parts, posterior, guess, seed):
        found = []
        for more in range(8):
            found.append(super()._drawn(learner, parts, posterior, guess, seed + more))
        return min(found, key=lambda pair: pair[1].certified.zero_one.mean())


class UnpaidSigmas(PACBayes):
    """Mutant: the choice of the standard deviation is not counted."""

    def _drawn(self, *args):
        fit, evidence = super()._drawn(*args)
        return fit, replace(evidence, certified=replace(evidence.certified, n_options=1))


def test_redrawing_and_unpaid_choices_are_noticed(spy):
    X, y = many_classes(n_samples=240, n_classes=5)
    for mutant in (BestOfManyDraws(sigmas=(0.3,)), UnpaidSigmas(sigmas=(0.05, 0.3))):
        with pytest.raises(AssertionError):
            check_draws(clone(TINY).set_params(protocol=mutant), X, y, spy.weights)


def test_pairs_of_draws():
    noise = draws(50, 5, np.random.default_rng(0))
    assert np.array_equal(noise[0], -noise[1])
    assert np.array_equal(noise[2], -noise[3])
    assert len(noise) == 5
    assert len({abs(e[0]) for e in noise}) == 3


def test_log_ratios_average_to_the_divergence():
    rng = np.random.default_rng(0)
    posterior = Gaussian(None, rng.normal(size=40), rng.normal(size=40), 2.0)
    ratios = [posterior.log_ratio(rng.standard_normal(40)) for _ in range(20_000)]
    spread = np.sqrt(2.0 * posterior.divergence)
    assert np.std(ratios) == pytest.approx(spread, rel=0.05)
    assert abs(np.mean(ratios) - posterior.divergence) < 4.0 * spread / np.sqrt(20_000)


# Coverage of the whole protocol, with thresholds on a line in place of nets.


class Thresholds:
    """Labels of points in [0, 1] by a threshold; flipped with probability 0.2."""

    assumptions = ()

    def __init__(self, n_samples, seed):
        rng = np.random.default_rng(seed)
        self.n_samples = n_samples
        self.x = rng.random(n_samples)
        self.y = (self.x > 0.5) ^ (rng.random(n_samples) < 0.2)

    def fit(self, rows, *, seed=None, start=None, effort=1.0, pull=0.0):
        grid = np.linspace(0.0, 1.0, 101)
        losses = ((self.x[rows] > grid[:, None]) != self.y[rows]).mean(axis=1)
        if start is not None:
            losses = losses + pull / 2.0 * (grid - start.model) ** 2
        return FittedModel(float(grid[losses.argmin()]), len(rows))

    def losses(self, fit, rows):
        wrong = answer(fit.model, self.x[rows]) != self.y[rows]
        return Sample(rows, wrong, wrong)

    def majority_share(self, rows):
        return max(self.y[rows].mean(), 1.0 - self.y[rows].mean())

    def inputs(self, rows):
        return self.x[rows][:, None]

    def parameters(self, fit):
        return np.array([fit.model])

    def with_parameters(self, fit, weights):
        return replace(fit, model=float(weights[0]))

    def ensemble(self, fits, weights, how):
        return tuple(fit.model for fit in fits)

    def mixture(self, fits, choice):
        return tuple(fit.model for fit in fits)


def answer(model, x):
    return np.mean([x > w for w in np.atleast_1d(model)], axis=0) > 0.5


def risk(model):
    x = (np.arange(2000) + 0.5) / 2000
    wrong = answer(model, x) != (x > 0.5)
    return 0.2 + 0.6 * wrong.mean()


def test_certificates_of_whole_fits_hold():
    n_runs = 150
    misses = {}
    for predictor in ("single_draw", "gibbs", "vote"):
        protocol = PACBayes(sigmas=(0.02, 0.2), predictor=predictor, n_draws=4)
        for run in range(n_runs):
            fit, evidence = protocol.run(Thresholds(120, run), run)
            if predictor == "gibbs":
                true = np.mean([risk(w) for w in fit.model])
            else:
                true = risk(fit.model)
            for bound in (PACBayesFixedRatesBound(), PACBayesKLBound()):
                for delta in (0.2, 0.5):
                    key = predictor, bound.key, delta
                    misses[key] = misses.get(key, 0) + (bound(evidence, delta).value < true)
    for key, count in misses.items():
        assert count / n_runs <= allowed_misses(key[2], n_runs), key


# As a classifier.


@every_model
def test_predictions_depend_on_the_row_alone(model):
    X, y = many_classes(n_samples=240, n_classes=3)
    fitted = clone(model).fit(X, y)
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X[::-1])[::-1], proba, atol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(X[:7]), proba[:7], atol=1e-12)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), proba)
    assert np.array_equal(clone(model).fit(X, y).predict_proba(X), proba)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_certificate_and_assumptions(predictor):
    X, y = many_classes(n_samples=240, n_classes=3)
    fitted = clone(MODELS[predictor]).fit(X, y)
    certificate = fitted.certificate_
    assert certificate.name == "kl_fixed"
    assert fitted.generalization_bound_ == fitted.bounds_["kl_fixed"].value
    assert "brier_kl_fixed" in fitted.bounds_
    assert ("renyi" in fitted.bounds_) == (predictor == "single_draw")
    text = " ".join(certificate.assumptions)
    assert "one of 0.01, 0.05, which were fixed before fit" in text
    assert "drawn once from the posterior" in text
    assert ("by a keyed hash" in text) == (predictor == "gibbs")
    assert ("twice" in text) == (predictor == "vote")
    assert ("four times" in text) == (predictor == "average")
    assert fitted.predicted_error_.optimistic
    assert "posterior was trained on" in fitted.predicted_error_.method
    assert fitted.n_iter_ == len(fitted.history_) == 2


def test_names_and_parameters():
    assert isinstance(resolve_protocol("pac_bayes"), PACBayes)
    model = TransformerClassifier(protocol="pac_bayes").set_params(protocol__predictor="vote")
    assert model.protocol.predictor == "vote"
    for predictor in PREDICTORS:
        assert certificates(PACBayes(predictor=predictor).example, 0.05)


def test_search_pays_for_its_candidates():
    X, y = many_classes(n_samples=240, n_classes=3)
    search = BoundSearch(TINY, {"depth": [1, 2]}, choose_by="bound", return_estimators=True).fit(
        X, y
    )
    for estimator in search.estimators_:
        alone = PACBayesFixedRatesBound()(replace(estimator.evidence_, n_candidates=1), 0.05 / 2)
        assert estimator.generalization_bound_ == pytest.approx(alone.value, rel=1e-12)


def test_other_data():
    X, y = many_classes(n_samples=240, n_classes=3)
    sequences = clone(TINY).fit(X.reshape(-1, 2, 2), y)
    assert sequences.predict(X[:5].reshape(-1, 2, 2)).shape == (5,)
    for predictor in PREDICTORS:
        single = clone(MODELS[predictor]).fit(X, np.ones(240))
        assert single.net_ is None
        assert single.evidence_.certified.divergence == 0.0
        assert (single.predict(X) == 1.0).all()
        assert float(single.certificate_) < 0.25
    weights = np.tile([0.0, 1.0, 2.0], 80)
    weighted = clone(TINY).fit(X, y, sample_weight=weights)
    assert weighted.n_samples_certified_ == 80
    assert (weights[certified_rows(weighted)] > 0.0).all()


def test_the_posterior_is_trained_for_the_weights_that_are_drawn(monkeypatch):
    """With objective="bound" all posteriors, and no prior, are trained under their own noise."""
    X, y = many_classes(n_samples=200, n_classes=3)
    noises, fit = [], TransformerLearner.fit

    def noted(self, rows, **settings):
        noises.append(settings.get("noise", 0.0))
        return fit(self, rows, **settings)

    monkeypatch.setattr(TransformerLearner, "fit", noted)
    found = {}
    for objective in ("weights", "bound"):
        protocol = PACBayes(sigmas=(0.001, 0.01), objective=objective)
        found[objective] = clone(TINY).set_params(protocol=protocol).fit(X, y)
    assert noises == [0.0] * 4 + [0.0, 0.0, 0.001, 0.01]
    assert found["bound"].certificate_.delta == 0.05


def test_training_under_noise_makes_drawn_nets_err_less():
    X, y = many_classes(n_samples=300, n_classes=3)
    params = clone(TINY).set_params(max_epochs=40, lr=5e-3)
    learner = TransformerLearner(params, resolve_tokenizer("auto", 2), X, y, None, 0)
    rows, rng = np.arange(len(y)), np.random.default_rng(0)
    brier = {}
    for noise in (0.0, 0.2):
        fit = learner.fit(rows, noise=noise)
        center = learner.parameters(fit)
        drawn = [
            learner.with_parameters(fit, center + 0.2 * rng.standard_normal(center.size))
            for _ in range(10)
        ]
        brier[noise] = np.mean([learner.losses(net, rows).brier.mean() for net in drawn])
    assert brier[0.2] < brier[0.0]


def test_few_rows_are_all_trained_on():
    X, y = many_classes(n_samples=99, n_classes=3)
    with pytest.warns(SkboundWarning, match="99 rows are too few to learn a prior on a part"):
        fitted = clone(TINY).fit(X, y)
    assert (fitted.n_samples_fit_, fitted.generalization_bound_) == (99, 1.0)
    explicit = clone(TINY).set_params(protocol__prior_fraction=0.5).fit(X, y)
    assert explicit.n_samples_certified_ == 49


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior_fraction": 1.0}, r"prior_fraction must be 'auto' or in \(0, 1\), got 1.0"),
        ({"prior_fraction": "half"}, "prior_fraction must be 'auto'"),
        ({"prior_fraction": 0.01}, "must leave at least one row to train on and one to guess"),
        ({"prior_fraction": 0.999}, "must leave at least one row in either part"),
        ({"predictor": "mean"}, r"predictor must be one of .*, got 'mean'"),
        ({"n_draws": 1}, r"n_draws must be .* got 1. For a single net use predictor='single_draw'"),
        ({"sigmas": ()}, "sigmas must be a sequence of numbers"),
        ({"sigmas": (0.0, 0.1)}, "sigmas must be positive and finite"),
        ({"effort": 0.0}, "effort must be a positive number"),
        ({"objective": "margin"}, "objective must be 'weights' or 'bound'"),
    ],
)
def test_parameters_out_of_range(settings, message, monkeypatch):
    X, y = many_classes(n_samples=120, n_classes=3)
    monkeypatch.setattr(TransformerLearner, "fit", None)
    with pytest.raises(ValueError, match=message):
        clone(TINY).set_params(protocol=PACBayes(**settings)).fit(X, y)


def test_refusals_before_training(monkeypatch):
    X, y = many_classes(n_samples=120, n_classes=3)
    model = BoundedClassifier(LogisticRegression(), protocol="pac_bayes")
    with pytest.raises(TypeError, match="lacks parameters, with_parameters"):
        model.fit(X, y)
    monkeypatch.setattr(TransformerLearner, "fit", None)
    with pytest.raises(MissingEvidenceError, match="needs protocol='holdout'"):
        clone(TINY).set_params(bound="binomial").fit(X, y)
    with pytest.raises(MissingEvidenceError, match="renyi"):
        clone(TINY).set_params(bound="renyi", protocol__predictor="vote").fit(X, y)
    with pytest.raises(
        ValueError, match=r"PACBayes\(predictor='gibbs'\) needs rows.*predictor='vote'"
    ):
        clone(MODELS["gibbs"]).fit(np.round(X[:, :1] / 9), y)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_real_data(load):
    X, y = load(return_X_y=True)
    if load is load_digits:
        X = X.reshape(-1, 8, 8)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    model = TransformerClassifier(
        depth=1, width=16, max_epochs=8, lr=0.01, protocol="pac_bayes", random_state=0
    )
    fitted = model.fit(X, y)
    error = 1.0 - fitted.score(X_test, y_test)
    assert error < float(fitted.certificate_) < error + 0.1
