"""partial_fit: rows are scored before anything is trained on them, and no row twice."""

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone

from skbound.bounds import ProgressiveBound, ProgressiveMixtureBound
from skbound.datasets import GaussianPair
from skbound.exceptions import MissingEvidenceError
from skbound.protocols import Holdout, Progressive
from skbound.protocols._stream import Stream
from tests.honesty import many_classes
from tests.streams import CALLS, TINY, in_calls


def check_losses_are_of_nets_that_had_not_seen_the_rows(model, X, y):
    """Other labels in the last calls leave alone what was trained and scored before."""
    first = in_calls(X, y, model)
    y_other = np.where(np.arange(len(y)) >= 200, (y + 1) % 3, y)
    second = in_calls(X, y_other, model)
    for part, other in zip(first._several.parts[:2], second._several.parts[:2], strict=True):
        assert np.array_equal(part.logits(X), other.logits(X))
    sample, other = (clf.evidence_.certified.sample for clf in (first, second))
    assert np.array_equal(sample.brier[:80], other.brier[:80])
    for number, part in enumerate(first._several.parts):
        own = first.evidence_.certified.blocks == number
        rows = sample.rows[own]
        assert np.array_equal(rows, np.arange(len(y))[CALLS[number + 1]])
        proba = softmax(part.logits(X[rows]), axis=1)
        brier = 0.5 * ((proba - np.eye(3)[y[rows]]) ** 2).sum(axis=1)
        np.testing.assert_allclose(sample.brier[own], brier, atol=1e-12)


def test_rows_are_scored_before_they_are_trained_on():
    check_losses_are_of_nets_that_had_not_seen_the_rows(TINY, *many_classes(360, 3))


def test_a_row_scored_after_it_was_trained_on_is_noticed(monkeypatch):
    go_on = Stream.go_on

    def trained_first(stream, learner):
        """Mutant: the net that scores the fresh rows has been trained on them."""
        peeked = learner.fit(np.arange(learner.n_samples))
        return go_on(Stream(**vars(stream) | {"current": peeked}), learner)

    monkeypatch.setattr(Stream, "go_on", trained_first)
    with pytest.raises(AssertionError):
        check_losses_are_of_nets_that_had_not_seen_the_rows(TINY, *many_classes(360, 3))


def test_the_certificate_counts_all_rows_after_the_first_call():
    X, y = many_classes(360, 3)
    model = clone(TINY).partial_fit(X[:120], y[:120], classes=[0, 1, 2])
    assert (model.generalization_bound_, model.n_samples_certified_) == (1.0, 0)
    assert "all trained on" in model.certificate_.statement()
    seen = 0
    for call in CALLS[1:]:
        model.partial_fit(X[call], y[call])
        seen += call.stop - call.start
        assert model.n_samples_certified_ == seen
        assert model.certificate_ == ProgressiveMixtureBound()(model.evidence_, 0.05)
    assert list(model.bounds_) == ["progressive_mixture", "brier_progressive_mixture"]
    assert model.n_samples_fit_ == 300
    assert model.evidence_.learning_curve.n_fit.tolist() == [120, 200, 300]
    assert float(model.predicted_error_) == model.evidence_.certified.sample.error
    assert "however many there are" in " ".join(model.certificate_.assumptions)


def test_predict_uses_the_nets_that_were_evaluated():
    X, y = many_classes(360, 3)
    model = in_calls(X, y)
    several = model._several
    assert several.choice.weights == (80, 100, 60)
    chosen = several.choice(X)
    for number, part in enumerate(several.parts):
        mine = chosen == number
        expected = softmax(part.logits(X[mine]), axis=1)
        np.testing.assert_allclose(model.predict_proba(X)[mine], expected, atol=1e-12)
    newest = model._calls.stream.current.model
    assert all(part is not newest for part in several.parts)
    assert several.parts[0].tokenizer is newest.tokenizer


def test_same_answer_also_between_pickles():
    X, y = many_classes(360, 3)
    model = in_calls(X, y, calls=CALLS[:2])
    model = pickle.loads(pickle.dumps(model))
    for call in CALLS[2:]:
        model.partial_fit(X[call], y[call])
    whole = in_calls(X, y)
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert model.certificate_ == whole.certificate_


def test_rows_of_earlier_calls_are_refused():
    X, y = many_classes(360, 3)
    model = in_calls(X, y, calls=CALLS[:2])
    before, certificate = vars(model).copy(), model.certificate_
    with pytest.raises(ValueError, match=r"fresh rows.* at most 3 of 64 rows .* but 4 do"):
        model.partial_fit(np.r_[X[300:], -0.0 + X[:4]], np.r_[y[300:], y[:4]])
    with pytest.raises(ValueError, match=r"at most 3 of 80 rows .* but 80 do"):
        model.partial_fit(X[CALLS[1]], y[CALLS[1]])
    assert vars(model) == before
    assert model.certificate_ is certificate
    # The same numbers with another label are another row.
    model.partial_fit(X[:4], (y[:4] + 1) % 3)
    assert model.n_samples_certified_ == 84


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protocol": "holdout"}, "needs protocol='progressive'.* got protocol='holdout'"),
        ({"protocol": None}, "needs protocol='progressive'"),
        ({"protocol": Holdout()}, "needs protocol='progressive'"),
        ({"protocol": Progressive(predictor="last")}, "predictor='gibbs'"),
    ],
)
def test_other_protocols_have_no_partial_fit(settings, message):
    model = clone(TINY).set_params(**settings)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=message):
        model.partial_fit([[0.0]], [0])


def test_labels_and_columns_are_those_of_the_first_call():
    X, y = many_classes(360, 3)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        clone(TINY).partial_fit(X[:120], y[:120])
    with pytest.raises(ValueError, match=r"not among classes: \[2\]"):
        clone(TINY).partial_fit(X[:120], y[:120], classes=[0, 1])
    model = in_calls(X, y, calls=CALLS[:2])
    with pytest.raises(ValueError, match="not the same as in the first call"):
        model.partial_fit(X[200:], y[200:], classes=[0, 1])
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(X[200:, :3], y[200:])
    assert model.n_samples_certified_ == 80


def test_labels_that_the_first_call_lacks():
    X, y = many_classes(360, 3)
    few = np.flatnonzero(y < 2)[:80]
    model = clone(TINY).partial_fit(X[few], y[few], classes=["0", "1", "2"][:0] or [0, 1, 2])
    rest = np.setdiff1d(np.arange(360), few)
    model.partial_fit(X[rest], y[rest])
    assert model.predict_proba(X).shape == (360, 3)
    assert np.isfinite(model.evidence_.learning_curve.code_length)


def test_bounds_that_need_a_plan_are_refused_before_training(monkeypatch):
    X, y = many_classes(200, 3)
    monkeypatch.setattr(Stream, "begin", None)
    for bound in ("progressive_exact", "binomial"):
        model = clone(TINY).set_params(bound=bound)
        with pytest.raises(MissingEvidenceError, match="with partial_fit is used"):
            model.partial_fit(X, y, classes=[0, 1, 2])


def test_after_fit_it_begins_anew():
    X, y = many_classes(360, 3)
    model = clone(TINY).fit(X, y)
    model.partial_fit(X[:120], y[:120])
    assert model.n_samples_certified_ == 0
    again = in_calls(X, y, calls=CALLS[:1])
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    model.fit(X, y)
    assert not hasattr(model, "_calls")
    assert model.certificate_.name == "progressive_exact"


def test_sequences_and_repeated_rows():
    X, y = many_classes(360, 3)
    model = in_calls(X.reshape(-1, 2, 2), y)
    assert model.predict(X[:5].reshape(-1, 2, 2)).shape == (5,)
    with pytest.raises(ValueError, match="rows that hardly repeat"):
        clone(TINY).partial_fit(np.zeros((120, 2)), y[:120], classes=[0, 1, 2])


def test_certificates_of_all_calls_hold_at_once():
    world = GaussianPair(2, 1.5)
    misses = 0
    for run in range(30):
        X, y = world.sample(240, run)
        test, labels = world.sample(4000, 1000 + run)
        model = clone(TINY).set_params(random_state=run, delta=0.5, max_epochs=2)
        missed = False
        for start in range(0, 240, 60):
            call = slice(start, start + 60)
            model.partial_fit(X[call], y[call], classes=[0, 1])
            error = np.mean(model.predict(test) != labels)
            missed |= model.generalization_bound_ < error
        misses += missed
    assert misses / 30 <= 0.5 + 3.0 * np.sqrt(0.25 / 30)


def test_an_unknown_protocol_has_no_partial_fit():
    for protocol in ("bogus", Holdout, 3):
        assert not hasattr(clone(TINY).set_params(protocol=protocol), "partial_fit")


def test_a_bound_that_needs_a_guess_is_refused_in_the_first_call():
    X, y = many_classes(n_classes=3)
    model = clone(TINY).set_params(protocol=Progressive(guess=True), bound=ProgressiveBound())
    with pytest.raises(MissingEvidenceError, match="guess"):
        model.partial_fit(X, y, classes=np.unique(y))
    assert not hasattr(model, "net_")
