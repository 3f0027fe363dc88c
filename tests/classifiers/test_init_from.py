"""Training that goes on from an earlier fit, and what the certificate then says."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound.architectures import TransformerArchitecture
from skbound.tokenizers import SequenceTokenizer, TokenTokenizer

DIGITS = load_digits()
ROWS, LABELS = DIGITS.data.reshape(-1, 8, 8), DIGITS.target
EARLY, X = ROWS[:900], ROWS[900:1500]
Y = LABELS[900:1500]
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=16, n_heads=2, max_epochs=8, lr=1e-2, random_state=0
)
# Too few and too short steps to change anything.
STILL = {"lr": 1e-12, "max_epochs": 1, "weight_decay": 0.0}


@pytest.fixture(scope="module")
def earlier():
    return clone(SMALL).fit(EARLY, LABELS[:900])


def weights(model):
    return {name: p.detach().numpy() for name, p in model.net_.module_.named_parameters()}


def test_it_starts_where_the_earlier_fit_stopped(earlier):
    before = {name: w.copy() for name, w in weights(earlier).items()}
    model = clone(SMALL).set_params(**STILL, random_state=5)
    model.set_params(init_from=earlier).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), earlier.predict_proba(X), atol=1e-5)
    assert np.array_equal(model.tokenizer_.mean_, earlier.tokenizer_.mean_)
    model.set_params(lr=1e-2).fit(X, Y)
    assert not np.allclose(model.predict_proba(X), earlier.predict_proba(X), atol=1e-2)
    for name, weight in weights(earlier).items():
        assert np.array_equal(weight, before[name])


def test_what_was_learnt_helps(earlier):
    fresh = clone(SMALL).set_params(max_epochs=1).fit(X, Y)
    tuned = clone(fresh).set_params(init_from=FrozenEstimator(earlier)).fit(X, Y)
    assert tuned.generalization_bound_ < fresh.generalization_bound_ - 0.2


def test_the_certificate_says_what_it_rests_on(earlier):
    plain, tuned = (
        clone(SMALL).set_params(max_epochs=1, init_from=start).fit(X, Y)
        for start in (None, FrozenEstimator(earlier))
    )
    (more,) = set(tuned.certificate_.assumptions) - set(plain.certificate_.assumptions)
    assert "none of the certified rows had any part" in more


def test_other_classes_get_a_fresh_head(earlier):
    model = clone(SMALL).set_params(**STILL, init_from=FrozenEstimator(earlier))
    for labels in (Y % 2, Y + 1, np.array(list("abcdefghij"))[Y]):
        model.fit(X, labels)
        ours, theirs = weights(model), weights(earlier)
        assert np.abs(ours.pop("head.weight")).max() < 0.1 < np.abs(theirs["head.weight"]).max()
        ours.pop("head.bias")
        for name, weight in ours.items():
            np.testing.assert_allclose(weight, theirs[name], atol=1e-6)
    model.set_params(max_epochs=8, lr=1e-2).fit(X, Y % 2)
    assert model.generalization_bound_ < 0.2


def test_a_head_of_another_kind_is_replaced():
    earlier = clone(SMALL).set_params(protocol="frozen_features").fit(EARLY, LABELS[:900])
    model = clone(SMALL).set_params(**STILL, init_from=FrozenEstimator(earlier)).fit(X, Y)
    assert weights(model)["head.weight"].shape == (10, 16)


@pytest.mark.parametrize("protocol", ["pac_bayes", "description_length", "progressive"])
def test_other_protocols_start_there_too(earlier, protocol):
    model = clone(SMALL).set_params(
        protocol=protocol, max_epochs=2, init_from=FrozenEstimator(earlier)
    )
    model.fit(X, Y)
    assert any("fitted before" in a for a in model.certificate_.assumptions)
    assert (
        model.generalization_bound_
        < clone(model).set_params(init_from=None).fit(X, Y).generalization_bound_
    )


def test_searches_and_copies(earlier):
    base = clone(SMALL).set_params(max_epochs=1, init_from=FrozenEstimator(earlier))
    search = BoundSearch(base, {"lr": [1e-4, 1e-2]}, choose_by="bound", random_state=0).fit(X, Y)
    assert search.best_bound_ < 0.3
    model = clone(base).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(clone(model).fit(X, Y).predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="holds a FrozenEstimator"):
        BoundedClassifier(base).fit(X, Y)


def test_bad_starts(earlier):
    def refused(error, message, X=X, **params):
        model = clone(SMALL)
        # Not by clone, which would undo the fit.
        model.set_params(init_from=earlier).set_params(**params)
        with pytest.raises(error, match=message):
            model.fit(X, Y)
        assert not [name for name in vars(model) if name.endswith("_")]

    refused(ValueError, "FrozenEstimator", init_from=clone(earlier))
    one = clone(SMALL).fit(EARLY, np.zeros(900, int))
    refused(ValueError, "at least two classes", init_from=one)
    refused(TypeError, "fitted TransformerClassifier", init_from=LogisticRegression())
    refused(ValueError, "width is 16 there and 8 here", width=8)
    refused(ValueError, "depth is 1 there and 2 here", depth=2)
    refused(ValueError, "pooling is cls there and mean here", pooling="mean")
    parts = TransformerArchitecture(positions="rotary")
    refused(ValueError, "positions is learned there and rotary here", architecture=parts)
    refused(ValueError, "shape of a row", X=X[:, :, :7])
    refused(ValueError, "shape of a row", X=X.reshape(-1, 64))
    refused(ValueError, "tokenizer is", tokenizer=SequenceTokenizer(limit=2.0))
    clone(SMALL).set_params(max_epochs=1, init_from=FrozenEstimator(earlier)).set_params(
        architecture=TransformerArchitecture(init="he"), tokenizer="sequence"
    ).fit(X, Y)


def test_rows_that_the_start_has_kept_are_refused():
    earlier = clone(SMALL).set_params(max_epochs=1, protocol="progressive")
    earlier.partial_fit(EARLY[:200], LABELS[:200], classes=range(10))
    model = clone(SMALL).set_params(max_epochs=1, init_from=FrozenEstimator(earlier))
    with pytest.raises(ValueError, match="1 of 600 rows were trained on by init_from"):
        model.fit(np.concatenate([X[1:], EARLY[7:8]]), Y)
    model.fit(X, Y)
    model.set_params(protocol=None).fit(EARLY[:200], LABELS[:200])
    assert not model.bounds_


def test_token_ids_keep_their_numbers():
    ids = np.random.default_rng(0).integers(0, 20, size=(400, 6))
    y = (ids > 15).any(axis=1).astype(int)
    base = clone(SMALL).set_params(tokenizer=TokenTokenizer(padding_id=0), max_epochs=20)
    earlier = base.fit(ids[:200], y[:200])
    model = clone(base).set_params(**STILL, init_from=FrozenEstimator(earlier))
    model.fit(ids[200:] % 17, y[200:])
    assert np.array_equal(model.tokenizer_.vocabulary_, earlier.tokenizer_.vocabulary_)


SEEN = r"rows that it was trained on and has kept are among them. Leave out"
ALL = ["holdout", "auto", "progressive", "compression", "pac_bayes", "recursive_pac_bayes",
       "description_length", "cross_fit", "frozen_features"]  # fmt: skip


def on(start, **params):
    return clone(SMALL).set_params(init_from=FrozenEstimator(start), max_epochs=1, **params)


@pytest.mark.parametrize("protocol", ALL)
def test_a_start_that_has_seen_certified_rows_is_refused(earlier, protocol):
    # With labels by coin flips, a start that knows them by heart was certified an error of .07.
    for rows, labels in ((EARLY, LABELS[:900]), (np.r_[X, EARLY], LABELS[np.r_[900:1500, :900]])):
        model = on(earlier, protocol=protocol, random_state=5)
        with pytest.raises(ValueError, match=SEEN):
            model.fit(rows, labels)
        assert not [name for name in vars(model) if name.endswith("_")]


def test_partial_fit_looks_too_and_so_does_a_start_of_a_start(earlier):
    model = on(earlier, protocol="progressive")
    with pytest.raises(ValueError, match=SEEN):
        model.partial_fit(EARLY, LABELS[:900], classes=range(10))
    with pytest.raises(ValueError, match=SEEN):
        on(on(earlier).fit(X, Y), random_state=5).fit(EARLY, LABELS[:900])


def test_a_start_that_certified_on_the_same_rows_is_taken(earlier):
    assert on(earlier).fit(EARLY, LABELS[:900]).n_samples_certified_ == 180
    assert on(earlier, protocol=None, random_state=5).fit(EARLY, LABELS[:900]).n_samples_fit_ == 900


@pytest.mark.parametrize("n_values", [1, 2, 4])
@pytest.mark.parametrize("protocol", ["holdout", "compression"])
def test_rows_that_are_equal_by_nature_are_taken(n_values, protocol):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, n_values, size=(600, 4)).astype(float)
    labels = rng.integers(0, 2, 600)
    start = clone(SMALL).set_params(max_epochs=1).fit(rows[:300], labels[:300])
    on(start, protocol=protocol, random_state=5).fit(rows[300:], labels[300:])
