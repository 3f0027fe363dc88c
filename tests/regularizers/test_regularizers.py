"""Regularisers act on training batches alone, seeded, and leave the caller's objects alone."""

import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.base import clone
from sklearn.datasets import load_digits

from skbound import TransformerClassifier
from skbound.regularizers import RandomAffine, RandomShift, Regularizer
from skbound.tokenizers import PatchTokenizer

X, Y = load_digits(return_X_y=True)
X, Y = X[:400], Y[:400]
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=16, max_epochs=3, tokenizer="patches", random_state=0
)


class Seen(Regularizer):
    """Notes the rows that pass; the list is shared by clones."""

    def __init__(self, log):
        self.log = log

    def __sklearn_clone__(self):
        return Seen(self.log)

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        self.log.append(X.clone())
        return X, labels, weights


class Blend(Regularizer):
    """Mixes each row with another one, and their labels."""

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        other = torch.randperm(len(X), generator=generator)
        shares = F.one_hot(labels, n_classes).to(X)
        return 0.7 * X + 0.3 * X[other], 0.7 * shares + 0.3 * shares[other], weights


def shift(X, regularizer, seed=0):
    X = torch.as_tensor(X)
    out, labels, weights = regularizer.on_batch(
        X,
        torch.arange(len(X)),
        torch.ones(len(X)),
        n_classes=2,
        generator=torch.Generator().manual_seed(seed),
    )
    assert torch.equal(labels, torch.arange(len(X)))
    assert torch.equal(weights, torch.ones(len(X)))
    return out.numpy()


def test_each_shift_is_a_move_with_repeated_edges_and_all_are_equally_frequent():
    image = np.arange(30.0).reshape(5, 6, 1)
    moved = shift(np.repeat(image[None], 9000, axis=0), RandomShift(1))
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    counts = []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            expected = padded[1 - down : 6 - down, 1 - right : 7 - right]
            counts.append((moved == expected).all(axis=(1, 2, 3)).sum())
    assert sum(counts) == 9000
    assert min(counts) > 1000 - 6 * 30
    assert max(counts) < 1000 + 6 * 30


def test_no_shift_is_the_identity_and_channels_move_together():
    images = np.random.default_rng(0).normal(size=(50, 8, 8, 3))
    assert np.array_equal(shift(images, RandomShift(0)), images)
    moved = shift(np.stack([images[..., 0], 2.0 * images[..., 0]], axis=-1), RandomShift(3))
    assert np.array_equal(2.0 * moved[..., 0], moved[..., 1])


def test_the_batch_is_not_changed_in_place():
    images = np.random.default_rng(0).normal(size=(50, 8, 8, 1))
    before = images.copy()
    shift(images, RandomShift(2))
    assert np.array_equal(images, before)


def blob(height, width, row, column):
    """An image of one soft spot."""
    r, c = np.mgrid[:height, :width]
    return np.exp(-((r - row) ** 2 + (c - column) ** 2) / 4.0)[None, :, :, None]


def center(image):
    r, c = np.mgrid[: image.shape[0], : image.shape[1]]
    image = image[:, :, 0]
    return np.array([(r * image).sum(), (c * image).sum()]) / image.sum()


@pytest.mark.parametrize("shape", [(41, 41), (41, 61), (61, 41)])
def test_turns_keep_distances_and_reach_the_largest_angle_on_either_side(shape):
    middle = (np.array(shape) - 1) / 2
    image = blob(*shape, middle[0], middle[1] + 12.0)
    turned = shift(np.repeat(image, 400, axis=0), RandomAffine(degrees=45, scale=0.0))
    spots = np.array([center(one) for one in turned]) - middle
    assert np.allclose(np.hypot(*spots.T), 12.0, atol=0.1)
    angles = np.degrees(np.arctan2(*spots.T))
    assert -46 < angles.min() < -43
    assert 43 < angles.max() < 46
    assert abs(np.mean(angles > 0) - 0.5) < 0.15


def test_height_and_width_are_scaled_each_by_its_own_number():
    middle = np.array([20.0, 30.0])
    image = blob(41, 61, 28.0, 40.0)
    scaled = shift(np.repeat(image, 400, axis=0), RandomAffine(degrees=0, scale=0.5))
    factors = (np.array([center(one) for one in scaled]) - middle) / [8.0, 10.0]
    assert np.allclose(factors.min(axis=0), 1 / 1.5, atol=0.02)
    assert np.allclose(factors.max(axis=0), 1.5, atol=0.02)
    assert abs(np.corrcoef(factors.T)[0, 1]) < 0.2


def test_no_turn_and_no_scale_is_the_identity():
    images = np.random.default_rng(0).normal(size=(20, 8, 6, 3))
    assert np.allclose(shift(images, RandomAffine(0, 0)), images)


@pytest.mark.parametrize("wrong", [{"degrees": -1}, {"degrees": 181}, {"scale": 2}, {"scale": "1"}])
def test_numbers_out_of_range_are_refused_before_training(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a number from 0 to"):
        clone(SMALL).set_params(regularizers=[RandomAffine(**wrong)]).fit(X, Y)


@pytest.mark.parametrize("size", [-1, 8, 1.5, "2"])
def test_a_bad_size_is_refused_before_training(size):
    log = []
    model = clone(SMALL).set_params(regularizers=[Seen(log), RandomShift(size)])
    with pytest.raises(ValueError, match="max_shift must be an integer from 0 to 7"):
        model.fit(X, Y)
    assert not log


@pytest.mark.parametrize("regularizer", [RandomShift(), RandomAffine()])
def test_tables_are_no_images(regularizer):
    model = clone(SMALL).set_params(tokenizer="table", regularizers=[regularizer])
    with pytest.raises(ValueError, match="tokenizer='patches'"):
        model.fit(X, Y)


@pytest.mark.parametrize("wrong", [RandomShift, "shift", None])
def test_only_regularizers_are_taken(wrong):
    with pytest.raises(TypeError, match="regularizers must hold"):
        clone(SMALL).set_params(regularizers=[wrong]).fit(X, Y)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_only_trained_rows_pass(early_stopping):
    log = []
    model = clone(SMALL).set_params(regularizers=[Seen(log)], early_stopping=early_stopping)
    model.fit(X, Y).predict(X)
    passed = np.concatenate([batch.numpy() for batch in log])
    assert len(passed) == model.n_iter_ * model.n_samples_fit_
    prepared = model.tokenizer_.prepare(X).astype(np.float32)
    known = {row.tobytes() for row in passed}
    others = [i for i, row in enumerate(prepared) if row.tobytes() not in known]
    expected = len(X) - model.n_samples_fit_
    assert len(others) == expected == model.n_samples_certified_ + model.n_samples_validation_
    assert set(model.evidence_.certified.rows) <= set(others)


def test_shifts_change_the_training_and_nothing_else():
    plain = clone(SMALL).fit(X, Y)
    model = clone(SMALL).set_params(regularizers=(RandomShift(1),))
    given = model.regularizers[0]
    model.fit(X, Y)
    assert np.array_equal(plain.evidence_.certified.rows, model.evidence_.certified.rows)
    assert not np.array_equal(plain.predict_proba(X), model.predict_proba(X))
    assert model.regularizers[0] is given
    assert vars(given) == {"max_shift": 1}
    # What predict says is what was certified: certified rows were evaluated where they are.
    rows = model.evidence_.certified.rows
    assert np.array_equal(model.predict(X[rows]) != Y[rows], model.evidence_.certified.zero_one)


def test_the_same_seed_gives_the_same_fit_whatever_was_drawn_before():
    model = clone(SMALL).set_params(regularizers=(RandomAffine(), RandomShift(2), Blend()))
    first = clone(model).fit(X, Y)
    torch.rand(5)
    state = torch.get_rng_state()
    second = clone(model).fit(X, Y)
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    copied = pickle.loads(pickle.dumps(first))
    assert np.array_equal(first.predict_proba(X), copied.predict_proba(X))


def test_blended_labels_are_trained_on():
    model = clone(SMALL).set_params(
        regularizers=[Blend()], max_epochs=25, width=32, label_smoothing=0.05
    )
    assert np.mean(model.fit(X, Y).predict(X) == Y) > 0.9


def test_the_order_is_that_of_the_list():
    log = []
    clone(SMALL).set_params(regularizers=[Blend(), Seen(log)], max_epochs=1).fit(X, Y)
    after = log[0]
    log.clear()
    clone(SMALL).set_params(regularizers=[Seen(log)], max_epochs=1).fit(X, Y)
    assert not torch.equal(after, log[0])


def test_progressive_validation_shifts_too():
    model = clone(SMALL).set_params(
        protocol="progressive", regularizers=[RandomShift(1)], tokenizer=PatchTokenizer(2)
    )
    assert model.fit(X, Y).n_samples_certified_ == 160
