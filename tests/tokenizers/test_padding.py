"""Sequences of unequal length: padding has no part in anything."""

import numpy as np
import pytest
from sklearn.base import clone

from skbound import TransformerClassifier
from skbound.tokenizers import SequenceTokenizer

RNG = np.random.default_rng(0)
LENGTHS = RNG.integers(2, 7, size=300)
PADDING = np.arange(6) >= LENGTHS[:, None]
ROWS = RNG.normal(3.0, 2.0, size=(300, 6, 3))
Y = (ROWS[:, 0, 0] > 3.0).astype(int)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=16, n_heads=2, max_epochs=2, random_state=0
)


def padded(value):
    rows = ROWS.copy()
    rows[PADDING] = value
    return rows


def by(value, **params):
    tokenizer = SequenceTokenizer(padding_value=value)
    return clone(SMALL).set_params(tokenizer=tokenizer, **params).fit(padded(value), Y)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_what_marks_padding_does_not_matter(pooling):
    models = {value: by(value, pooling=pooling) for value in (np.nan, 0.0, -99.0, 1e30)}
    expected = models[0.0].predict_proba(padded(0.0))
    for value, model in models.items():
        assert np.array_equal(model.predict_proba(padded(value)), expected)
        assert model.generalization_bound_ == models[0.0].generalization_bound_


def test_the_scale_is_that_of_real_tokens():
    tokenizer = SequenceTokenizer(padding_value=np.nan).fit(padded(np.nan))
    real = ROWS[~PADDING]
    np.testing.assert_allclose(tokenizer.unit_ * tokenizer.mean_, real.mean(axis=0))
    np.testing.assert_allclose(tokenizer.unit_ * tokenizer.std_, real.std(axis=0))
    out = tokenizer.transform(padded(np.nan))
    assert np.array_equal(np.isnan(out).all(axis=2), PADDING)
    weights = RNG.uniform(size=300)
    weighted = SequenceTokenizer(padding_value=0.0).fit(padded(0.0), sample_weight=weights)
    expected = np.average(real, axis=0, weights=np.repeat(weights, 6)[~PADDING.ravel()])
    np.testing.assert_allclose(weighted.unit_ * weighted.mean_, expected)


def test_sequences_of_unequal_length_are_learnt():
    model = by(np.nan, max_epochs=30, lr=1e-2)
    assert model.score(padded(np.nan), Y) > 0.9


def test_without_padding_nothing_changes():
    plain = clone(SMALL).fit(ROWS, Y)
    told = clone(SMALL).set_params(tokenizer=SequenceTokenizer(padding_value=-99.0)).fit(ROWS, Y)
    np.testing.assert_allclose(
        told.predict_proba(ROWS), plain.predict_proba(ROWS), rtol=1e-4, atol=1e-5
    )


def test_missing_numbers_are_no_padding():
    rows = padded(np.nan)
    rows[0, 0, 1] = np.nan
    tokenizer = SequenceTokenizer(padding_value=np.nan)
    with pytest.raises(ValueError, match="tokens with some NaN"):
        tokenizer.fit(rows)
    model = by(np.nan)
    with pytest.raises(ValueError, match="tokens with some NaN"):
        model.predict(rows)
    rows[0, 0, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(rows)
    with pytest.raises(ValueError, match="NaN"):
        by(0.0).predict(padded(np.nan))
    with pytest.raises(ValueError, match="no padding, got none"):
        SequenceTokenizer(padding_value=0.0).fit(np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="'padding_value' parameter"):
        SequenceTokenizer(padding_value="nan").fit(ROWS)


def test_a_row_of_padding_has_an_answer():
    for pooling in ("cls", "mean"):
        proba = by(np.nan, pooling=pooling).predict_proba(np.full((2, 6, 3), np.nan))
        assert np.isfinite(proba).all()
        assert np.array_equal(proba[0], proba[1])
