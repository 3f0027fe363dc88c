"""Images become patches: the right pixels, scaled on training rows, whatever their range."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from skbound import TransformerClassifier
from skbound.tokenizers import PatchTokenizer, resolve_tokenizer

X, Y = load_digits(return_X_y=True)
X, Y = X[:400], Y[:400]
SMALL = TransformerClassifier(protocol="holdout", depth=1, width=16, max_epochs=4, random_state=0)


def patch_by_patch(images, size):
    """Cut (n, rows, columns, channels) by plain indexing."""
    n, height, width, _ = images.shape
    cut = [
        images[:, r : r + size, c : c + size].reshape(n, -1)
        for r in range(0, height, size)
        for c in range(0, width, size)
    ]
    return np.stack(cut, axis=1)


def test_patches_are_cut_from_left_to_right_and_top_to_bottom():
    images = np.random.default_rng(0).normal(size=(5, 6, 4, 3))
    tokenizer = PatchTokenizer(2, image_shape=(6, 4, 3))
    flat = images.reshape(5, -1)
    patches = tokenizer.fit_transform(flat)
    prepared = tokenizer.prepare(flat)
    assert prepared.shape == images.shape
    assert patches.shape == (5, tokenizer.n_tokens_in_, tokenizer.n_features_in_) == (5, 6, 12)
    assert np.array_equal(patches, patch_by_patch(prepared, 2))


def test_the_net_cuts_as_transform_does():
    images = np.random.default_rng(1).normal(size=(5, 6, 4, 3))
    tokenizer = PatchTokenizer(2, image_shape=(6, 4, 3)).fit(images.reshape(5, -1))
    embedding = tokenizer.embedding(8).double()
    embedding.reset_parameters(torch.Generator().manual_seed(0))
    flat = images.reshape(5, -1)
    with torch.no_grad():
        whole = embedding(torch.as_tensor(tokenizer.prepare(flat)))
        patches = torch.as_tensor(tokenizer.transform(flat))
        expected = embedding.project(patches) + embedding.position
    assert embedding.n_tokens == 6
    assert torch.equal(whole, expected)


def test_channels_are_standardised_over_images_and_pixels():
    rng = np.random.default_rng(2)
    images = rng.normal([10.0, -3.0], [2.0, 0.1], size=(3000, 4, 4, 2))
    tokenizer = PatchTokenizer(2, image_shape=(4, 4, 2), limit=1e6)
    prepared = tokenizer.fit(images.reshape(3000, -1)).prepare(images.reshape(3000, -1))
    assert np.allclose(prepared.mean(axis=(0, 1, 2)), 0.0, atol=1e-10)
    assert np.allclose(prepared.std(axis=(0, 1, 2)), 1.0)


def test_weights_count_as_repeated_rows():
    weights = np.arange(len(X)) % 3
    weighted = PatchTokenizer().fit(X, sample_weight=weights)
    repeated = PatchTokenizer().fit(np.repeat(X, weights, axis=0))
    assert np.allclose(weighted.transform(X), repeated.transform(X))


@pytest.mark.parametrize("factor", [1 / 255, 1e-200, 1e200])
def test_range_does_not_matter(factor):
    plain, scaled = PatchTokenizer().fit(X), PatchTokenizer().fit(X * factor)
    assert np.allclose(plain.transform(X), scaled.transform(X * factor))


def test_bytes_floats_flat_and_square_images_give_the_same_tokens():
    expected = PatchTokenizer().fit_transform(X)
    for same in (X.astype(np.uint8), X.astype(np.float32), X.reshape(-1, 8, 8), X.tolist()):
        assert np.allclose(PatchTokenizer().fit_transform(same), expected, atol=1e-5)


def test_float32_images_stay_in_float32():
    tokenizer = PatchTokenizer().fit(X)
    assert tokenizer.prepare(X.astype(np.float32)).dtype == np.float32
    assert tokenizer.prepare(X).dtype == np.float64


def test_a_black_image_set_is_no_error():
    assert np.array_equal(PatchTokenizer().fit_transform(np.zeros((3, 16))), np.zeros((3, 1, 16)))


@pytest.mark.parametrize(
    ("tokenizer", "shape", "message"),
    [
        (PatchTokenizer(), (3, 15), "square"),
        (PatchTokenizer(3), (3, 16), "divide"),
        (PatchTokenizer(image_shape=(4, 5)), (3, 16), "20 numbers"),
        (PatchTokenizer(image_shape=(8, 2)), (3, 4, 4), "not those"),
        (PatchTokenizer(image_shape=(16,)), (3, 16), "image_shape must"),
        (PatchTokenizer(image_shape=(4.0, 4.0)), (3, 16), "image_shape must"),
        (PatchTokenizer(), (3, 4, 4, 1), "reshape"),
        (PatchTokenizer(0), (3, 16), "patch_size"),
    ],
)
def test_what_is_refused(tokenizer, shape, message):
    with pytest.raises(ValueError, match=message):
        tokenizer.fit(np.ones(shape))


def test_another_shape_than_in_fit_is_refused():
    tokenizer = PatchTokenizer().fit(X)
    with pytest.raises(ValueError, match="as in fit"):
        tokenizer.transform(X.reshape(-1, 8, 8))


def test_by_name_and_by_object():
    assert isinstance(resolve_tokenizer("patches", 2), PatchTokenizer)
    given = PatchTokenizer(2)
    taken = resolve_tokenizer(given, 3)
    assert taken is not given
    assert taken.patch_size == 2
    with pytest.raises(ValueError, match="'patches'"):
        resolve_tokenizer("pixels", 2)


def test_a_classifier_of_images():
    flat = clone(SMALL).set_params(tokenizer="patches").fit(X, Y)
    assert flat.net_.module_.embedding.n_tokens == 4
    images = clone(flat).fit(X.reshape(-1, 8, 8), Y)
    assert np.array_equal(flat.predict_proba(X), images.predict_proba(X.reshape(-1, 8, 8)))
    sequence = make_pipeline(PatchTokenizer(), clone(SMALL)).fit(X, Y)
    assert sequence[-1].n_tokens_in_ == 4


def test_the_scale_is_learnt_from_trained_rows_only():
    """Certified rows a thousand times brighter must not change the scale."""
    model = clone(SMALL).set_params(tokenizer="patches").fit(X, Y)
    bright = X.copy()
    bright[model.evidence_.certified.rows] *= 1000.0
    other = clone(model).fit(bright, Y)
    assert np.array_equal(model.tokenizer_.unit_, other.tokenizer_.unit_)
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))
