"""Description length: the net is what its code says, and the code pays for all that was learnt."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound._random_state import draw_seed
from skbound.bounds import OccamBound
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.exceptions import MissingEvidenceError, SkboundWarning
from skbound.protocols import DescriptionLength
from skbound.protocols import _description_length as engine
from skbound.protocols._subspace import CoordinateCode, random_subspace
from skbound.tokenizers import resolve_tokenizer
from tests.honesty import many_classes

TINY = TransformerClassifier(
    depth=1,
    width=8,
    n_heads=2,
    max_epochs=3,
    random_state=0,
    protocol=DescriptionLength((4, 12), (3, 5), center="initial", prior_fraction=0.2),
)
TRAINED = DescriptionLength((0, 4), 3, prior_fraction=0.4)
MODELS = {
    "initial": TINY,
    "trained": clone(TINY).set_params(protocol=TRAINED),
    "moved": clone(TINY).set_params(protocol=clone(TRAINED).set_params(dimension=4)),
    "k-means": clone(TINY).set_params(protocol__codebook="k-means", protocol__dimension=12),
    "options of the net": clone(TINY).set_params(
        early_stopping=True, class_weight="balanced", dropout=0.1, dtype="float64", pooling="mean"
    ),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def read_back(model, X, y):
    """Build the net from nothing but settings, the prior part, the code and the option."""
    protocol, seed = model.protocol, draw_seed(model.random_state)
    prior_rows, _ = protocol.split(len(X), seed)
    _, firsts = np.unique(y, return_index=True)
    X_known = np.zeros_like(X)
    X_known[prior_rows] = X[prior_rows]
    y_known = np.full_like(y, y[0])
    # The set of labels is known in advance.
    y_known[firsts] = y[firsts]
    y_known[prior_rows] = y[prior_rows]
    tokenizer = resolve_tokenizer(model.tokenizer, X.ndim)
    learner = TransformerLearner(model, tokenizer, X_known, y_known, None, seed)
    effort = 1.0 if protocol.center == "trained" else 0.0
    center = learner.fit(prior_rows, effort=effort)
    weights = learner.parameters(center)
    record = model.evidence_.certified
    code = protocol.options(len(X), len(weights))[record.option]
    if not code.n_coordinates:
        assert record.code == ""
        return center.model
    rng = np.random.default_rng([seed, 2, code.n_coordinates])
    scale = engine._SCALES[protocol.center]
    subspace = random_subspace(len(weights), code.n_coordinates, scale, rng)
    moved = weights + subspace.moves(code.read(record.code))
    return learner.with_parameters(center, moved).model


def assert_read_back(model, X, y):
    logits = read_back(model, X, y).logits(X)
    assert np.array_equal(model.predict_proba(X), softmax(logits, axis=1))


def check_code_is_what_predicts(model, X, y):
    """``predict`` and the losses in the evidence are those of the net that the code stands for."""
    model = clone(model).fit(X, y)
    assert_read_back(model, X, y)
    sample = model.evidence_.certified.sample
    assert np.array_equal(sample.zero_one, model.predict(X[sample.rows]) != y[sample.rows])
    one_hot = y[sample.rows][:, None] == model.classes_
    brier = 0.5 * ((model.predict_proba(X[sample.rows]) - one_hot) ** 2).sum(axis=1)
    np.testing.assert_allclose(sample.brier, brier, atol=1e-12)


def check_all_options_are_paid_for(model, X, y):
    """The record counts every code by which a net was written or left unwritten."""
    tried = []
    written = engine.written_nets

    def spy(*arguments):
        for fit, bits in written(*arguments):
            tried.append(bits)
            yield fit, bits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "written_nets", spy)
        record = clone(model).fit(X, y).evidence_.certified
    assert record.n_options == len(tried)
    assert record.code == tried[record.option]


def check_split_ignores_labels(model, X, y):
    rows = [clone(model).fit(X, t).evidence_.certified.sample.rows for t in (y, y[::-1])]
    assert np.array_equal(*rows)


CHECKS = (check_code_is_what_predicts, check_all_options_are_paid_for, check_split_ignores_labels)


@every_model
@pytest.mark.parametrize("check", CHECKS)
def test_protocol_is_honest(check, model):
    check(model, *many_classes(n_samples=240, n_classes=5))


def test_sequences():
    X, y = many_classes(n_samples=200, n_classes=3)
    check_code_is_what_predicts(TINY, X.reshape(-1, 2, 2), y)


class OptionsNotCounted(DescriptionLength):
    """Mutant: the best of several codes passes for the only one."""

    def run(self, learner, seed):
        fit, evidence = super().run(learner, seed)
        record = replace(evidence.certified, n_options=1, option=0)
        return fit, replace(evidence, certified=record)


def read_without_levels(self, code):
    return complete_read(self, engine_levels[-1] + code)


complete_read, complete_write, engine_levels = CoordinateCode.read, CoordinateCode.write, []


def write_without_levels(self, symbols, levels):
    bits = complete_write(self, symbols, levels)
    engine_levels.append(bits[: 16 * self.n_levels])
    return bits[16 * self.n_levels :]


def test_mutants_are_noticed(monkeypatch):
    X, y = many_classes(n_samples=240, n_classes=5)
    mutant = clone(TINY).set_params(protocol=OptionsNotCounted((4, 12), 3, center="initial"))
    with pytest.raises(AssertionError):
        check_all_options_are_paid_for(mutant, X, y)

    def levels_known_to_the_reader(patch):
        patch.setattr(CoordinateCode, "write", write_without_levels)
        patch.setattr(CoordinateCode, "read", read_without_levels)

    def other_coordinates_than_written(patch):
        patch.setattr(CoordinateCode, "read", lambda self, bits: complete_read(self, bits) + 1e-3)

    def center_trained_on_all_rows(patch):
        fit = TransformerLearner.fit
        every = np.arange(len(X))
        patch.setattr(TransformerLearner, "fit", lambda self, rows, **kw: fit(self, every, **kw))

    breaks = {
        "k-means": levels_known_to_the_reader,
        "moved": center_trained_on_all_rows,
        "initial": other_coordinates_than_written,
    }
    for name, spoil in breaks.items():
        model = clone(MODELS[name])
        with monkeypatch.context() as patch:
            spoil(patch)
            model.fit(X, y)
        engine_levels.clear()
        with pytest.raises((AssertionError, ValueError, IndexError)):
            assert_read_back(model, X, y)


def test_rows_serve_for_training_and_are_counted():
    X, y = many_classes(n_samples=240, n_classes=5)
    moved = clone(MODELS["moved"]).fit(X, y)
    assert (moved.n_samples_fit_, moved.n_samples_certified_) == (240, 144)
    assert moved.evidence_.certified.n_bits == len(moved.evidence_.certified.code) > 5
    still = clone(MODELS["trained"]).set_params(protocol__dimension=0).fit(X, y)
    assert (still.n_samples_fit_, still.n_samples_certified_) == (96, 144)
    record = still.evidence_.certified
    assert (record.code, record.n_options, record.option) == ("", 1, 0)
    assert list(moved.bounds_) == ["occam", "occam_kl", "brier_occam_kl"]
    assert "read back from the code" in " ".join(moved.certificate_.assumptions)


def test_the_option_with_the_smallest_bound_is_kept():
    X, y = many_classes(n_samples=240, n_classes=3)
    best = clone(TINY).fit(X, y)
    alone = []
    for dimension in (4, 12):
        for n_levels in (3, 5):
            only = clone(TINY).set_params(
                protocol__dimension=dimension, protocol__n_levels=n_levels
            )
            record = replace(only.fit(X, y).evidence_.certified, n_options=4)
            alone.append(OccamBound()(replace(only.evidence_, certified=record), 0.05).value)
    assert best.generalization_bound_ == min(alone)
    assert best.evidence_.certified.option == int(np.argmin(alone))


@pytest.mark.parametrize("model", [MODELS["moved"], MODELS["k-means"]], ids=["moved", "k-means"])
def test_same_seed_same_answer(model):
    X, y = many_classes(n_samples=200, n_classes=3)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    assert first.evidence_.certified.code == second.evidence_.certified.code
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    again = pickle.loads(pickle.dumps(first))
    assert np.array_equal(again.predict_proba(X), first.predict_proba(X))
    assert again.certificate_ == first.certificate_
    other = clone(model).set_params(protocol__random_state=5).fit(X, y)
    rows = other.evidence_.certified.sample.rows
    assert not np.array_equal(rows, first.evidence_.certified.sample.rows)


def test_a_single_class():
    X = np.random.default_rng(0).normal(size=(150, 3))
    for protocol in (DescriptionLength(), TINY.protocol):
        fitted = clone(TINY).set_params(protocol=protocol).fit(X, np.ones(150))
        record = fitted.evidence_.certified
        assert (record.code, record.sample.n_errors) == ("", 0)
        assert record.n_options == len(protocol.options(150, 0))
        assert set(fitted.predict(X)) == {1.0}


def test_few_rows_are_all_trained_on():
    X, y = many_classes(n_samples=99, n_classes=3)
    auto = clone(TINY).set_params(protocol=DescriptionLength())
    with pytest.warns(SkboundWarning, match="99 rows are too few to certify some"):
        fitted = auto.fit(X, y)
    assert (fitted.n_samples_fit_, fitted.generalization_bound_) == (99, 1.0)
    fitted = clone(TINY).set_params(protocol__prior_fraction=0.5).fit(X, y)
    assert fitted.n_samples_certified_ == 49


def test_other_bounds_and_black_boxes_are_refused_before_training(monkeypatch):
    X, y = many_classes(n_samples=150, n_classes=3)
    with pytest.raises(TypeError, match="whose weights can be trained in a subspace"):
        BoundedClassifier(LogisticRegression(), protocol="description_length").fit(X, y)
    monkeypatch.setattr(TransformerLearner, "fit", None)
    for bound in ("binomial", "progressive"):
        with pytest.raises(MissingEvidenceError, match="description_length"):
            clone(TINY).set_params(bound=bound).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimension": -1}, "dimension must be 'auto', an integer of at least 0"),
        ({"dimension": ()}, "dimension must be"),
        ({"dimension": "many"}, "dimension must be .* got 'many'"),
        ({"dimension": 100_000}, "must not exceed the number of weights .* got 100000"),
        ({"n_levels": 1}, "n_levels must be 'auto', an integer of at least 2"),
        ({"n_levels": (3, 4.5)}, "n_levels must be"),
        ({"center": "origin"}, r"center must be one of \['trained', 'initial'\]"),
        ({"codebook": "free"}, "codebook must be 'uniform' or 'k-means'"),
        ({"prior_fraction": 0.0}, r"must be 'auto' or in \(0, 1\), got 0.0. Either part needs"),
        ({"prior_fraction": "half"}, "prior_fraction must be 'auto'"),
        ({"prior_fraction": 0.999}, "must leave at least one row in either part"),
    ],
)
def test_parameters_out_of_range(settings, message):
    X, y = many_classes(n_samples=150, n_classes=3)
    model = clone(TINY).set_params(protocol=DescriptionLength(**settings))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_automatic_options():
    def sizes(center, n_samples, n_weights):
        codes = DescriptionLength(center=center).options(n_samples, n_weights)
        return [(code.n_coordinates, code.n_levels) for code in codes]

    assert sizes("trained", 500, 2000) == [(0, 1), (8, 3), (32, 3)]
    assert sizes("initial", 320, 2000) == [(10, 3), (10, 7), (20, 3), (20, 7), (40, 3), (40, 7)]
    assert sizes("initial", 100_000, 2000) == [(500, 3), (500, 7)]


def test_search_pays_for_its_candidates():
    X, y = many_classes(n_samples=200, n_classes=3)
    search = BoundSearch(
        TINY, {"width": [4, 8]}, choose_by="bound", random_state=0, return_estimators=True
    )
    for estimator in search.fit(X, y).estimators_:
        alone = OccamBound()(replace(estimator.evidence_, n_candidates=1), 0.05 / 2)
        assert estimator.generalization_bound_ == pytest.approx(alone.value, rel=1e-12)


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    protocol = DescriptionLength(16, 5, center="initial")
    model = TransformerClassifier(
        depth=1, width=16, n_heads=2, max_epochs=20, random_state=0, protocol=protocol
    )
    model.fit(X[:450], y[:450])
    assert model.evidence_.certified.n_bits < 50
    assert not model.certificate_.vacuous
    assert np.mean(model.predict(X[450:]) != y[450:]) < model.generalization_bound_
    X, y = load_digits(return_X_y=True)
    # The rows come sorted by writer.
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order].reshape(-1, 8, 8), y[order]
    model.set_params(protocol=DescriptionLength((0, 16)), max_epochs=15).fit(X[:600], y[:600])
    assert model.generalization_bound_ < 0.6
    assert np.mean(model.predict(X[600:]) != y[600:]) < model.generalization_bound_


def test_training_of_coordinates_stays_in_the_subspace():
    X, y = many_classes(n_samples=120, n_classes=3)
    learner = TransformerLearner(TINY, resolve_tokenizer("table", 2), X, y, None, 0)
    rows = np.arange(120)
    center = learner.fit(rows, effort=0.0)
    weights = learner.parameters(center)
    assert np.array_equal(weights, learner.parameters(learner.fit(rows[:60], effort=0.0)))
    assert center.model.history == []
    subspace = random_subspace(len(weights), 9, 5.0, np.random.default_rng(0))
    fit, z = learner.fit_coordinates(rows, center, subspace)
    assert np.abs(z).min() > 0.0
    np.testing.assert_allclose(learner.parameters(fit), weights + subspace.moves(z), rtol=1e-6)
    assert len(fit.model.history) == TINY.max_epochs
    assert np.array_equal(learner.parameters(center), weights)
    falling = [epoch["train_loss"] for epoch in fit.model.history]
    # With levels it is the rounded net that is evaluated: here always the centre.
    fit, z = learner.fit_coordinates(rows, center, subspace, levels=np.zeros(1))
    constant = [epoch["train_loss"] for epoch in fit.model.history]
    np.testing.assert_allclose(constant, constant[0], rtol=1e-4)
    assert np.abs(z).min() > 0.0
    assert falling[-1] < min(falling[0], constant[0]) - 1e-3
