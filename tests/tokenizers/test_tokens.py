"""Token ids: what is known, unknown and padding."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skbound import TransformerClassifier
from skbound.architectures import TransformerArchitecture
from skbound.tokenizers import TokenTokenizer, resolve_tokenizer

RNG = np.random.default_rng(0)
LENGTHS = RNG.integers(1, 8, size=300)
IDS = np.where(np.arange(8) < LENGTHS[:, None], RNG.integers(1, 30, size=(300, 8)), 0)
# Whether a token above 20 occurs.
Y = (IDS > 20).any(axis=1).astype(int)
SMALL = TransformerClassifier(
    protocol="holdout",
    depth=1,
    width=16,
    n_heads=2,
    max_epochs=2,
    tokenizer=TokenTokenizer(padding_id=0),
    random_state=0,
)


def test_numbers_by_hand():
    tokenizer = TokenTokenizer(padding_id=-1).fit([[30, 10, -1], [20, 10, 30]])
    assert tokenizer.vocabulary_.tolist() == [10, 20, 30]
    assert tokenizer.transform(
        [[10, 20, 30], [-1, 99, 30], [-1, -1, -1], [5, 25, 35]]
    ).tolist() == [
        [2, 3, 4],
        [1, 4, 0],
        [0, 0, 0],
        [1, 1, 1],
    ]
    plain = TokenTokenizer().fit([[0, 1]])
    assert plain.transform([[1, 0], [-1, 0]]).tolist() == [[3, 2], [1, 2]]


def test_floats_that_are_whole_are_ids():
    tokenizer = TokenTokenizer().fit(IDS.astype(np.float32))
    assert np.array_equal(tokenizer.transform(IDS.astype(float)), tokenizer.transform(IDS))
    with pytest.raises(ValueError, match="whole numbers"):
        TokenTokenizer().fit([[0.5, 1.0]])
    with pytest.raises(ValueError, match="whole numbers"):
        tokenizer.transform(np.full((1, 8), 1e300))
    with pytest.raises(ValueError, match="besides padding_id=0"):
        TokenTokenizer(padding_id=0).fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="'padding_id' parameter"):
        TokenTokenizer(padding_id="pad").fit(IDS)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary", "alibi", "none"])
def test_where_the_padding_stands_does_not_matter(positions, pooling):
    parts = TransformerArchitecture(positions=positions)
    model = clone(SMALL).set_params(architecture=parts, pooling=pooling).fit(IDS, Y)
    left = np.array([np.roll(row, 8 - length) for row, length in zip(IDS, LENGTHS, strict=True)])
    assert not np.array_equal(left, IDS)
    assert np.array_equal(model.predict_proba(left), model.predict_proba(IDS))
    same = model.predict_proba(np.concatenate([IDS[:1], np.zeros((2, 8), int)]))
    assert np.isfinite(same).all()
    assert np.array_equal(same[1], same[2])


def test_the_vocabulary_comes_from_trained_rows_only():
    model = clone(SMALL).fit(IDS, Y)
    changed = IDS.copy()
    rows = model.evidence_.certified.rows
    changed[rows] = 1000 + np.arange(rows.size * 8).reshape(-1, 8)
    other = clone(model).fit(changed, Y)
    assert np.array_equal(model.tokenizer_.vocabulary_, other.tokenizer_.vocabulary_)
    assert np.array_equal(model.predict_proba(IDS), other.predict_proba(IDS))
    unknown = model.predict_proba(np.array([[99] * 8, [12345] * 8]))
    assert np.array_equal(unknown[0], unknown[1])


def test_texts_are_learnt():
    model = clone(SMALL).set_params(max_epochs=30, lr=1e-2).fit(IDS, Y)
    assert model.score(IDS, Y) > 0.95
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(IDS), model.predict_proba(IDS))


def test_by_name_and_as_a_step():
    assert isinstance(resolve_tokenizer("tokens", 2), TokenTokenizer)
    with pytest.raises(ValueError, match="2-dimensional"):
        resolve_tokenizer("tokens", 3)
    by_name = clone(SMALL).set_params(tokenizer="tokens").fit(IDS, Y)
    assert by_name.tokenizer_.vocabulary_[0] == 0
    # The step numbers ids by their order, so the net numbers them alike.
    piped = make_pipeline(TokenTokenizer(), clone(by_name)).fit(IDS, Y)
    assert np.array_equal(piped.predict_proba(IDS), by_name.predict_proba(IDS))
