"""Rows and labels that are no array of numbers are refused with the way out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skbound import TransformerClassifier
from skbound.tokenizers import PatchTokenizer, SequenceTokenizer, TableTokenizer, TokenTokenizer

N = 40
X = np.random.default_rng(0).normal(size=(N, 4))
Y = np.arange(N) % 2
MASKED = np.ma.masked_array(X, X > 1)
RAGGED = [[1, 2], [3]] * (N // 2)
DATES = np.datetime64("2026-01-01") + np.arange(N)[:, None]

ROWS = {
    "a mask": (MASKED, "masked array that hides .* impute"),
    "lists of two lengths": (RAGGED, "one length, got 1 to 2. Pad them"),
    "tuples of two lengths": (tuple(map(tuple, RAGGED)), "one length, got 1 to 2"),
    "objects of two lengths": (np.array(RAGGED, dtype=object), "one length, got 1 to 2"),
    "arrays of two lengths": ([np.ones(2), np.ones(3)] * (N // 2), "one length, got 2 to 3"),
    "sequences of two lengths": ([np.ones((2, 3)), np.ones((5, 3))] * (N // 2), "2 to 5. Pad them"),
    "dates": (DATES, "must hold numbers, got datetime64.*days since"),
    "spans of time": (DATES - DATES[0], "must hold numbers, got timedelta64"),
    "sentences": (["what is this"] * N, "got text.*'what is this'.*tokens"),
    "words": (np.array([["a", "b"]] * N), "got text.*'a'"),
    "words among objects": (np.array([[1, "b"]] * N, dtype=object), "got text.*'b'"),
    "no columns": (pd.DataFrame(index=range(N)), "must have columns, got a DataFrame with 0"),
    "images with channels": (np.ones((N, 3, 4, 4)), r"got 4. Images with channels.*reshape"),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_rows_that_are_no_numbers(kind, method):
    rows, message = ROWS[kind]
    protocol = "progressive" if method == "partial_fit" else "holdout"
    classifier = TransformerClassifier(max_epochs=1, protocol=protocol)
    with pytest.raises(ValueError, match=message):
        getattr(classifier, method)(rows, Y)
    assert vars(classifier) == classifier.get_params(deep=False)


def test_a_mask_that_hides_nothing_and_numbers_in_words_are_rows():
    for rows in (np.ma.masked_array(X, False), X.astype(str), X.astype(object), list(X)):
        TransformerClassifier(1, 8, max_epochs=1, protocol=None).fit(rows, Y)


LABELS = {
    "a mask": (np.ma.masked_array(Y, Y == 1), "y must not hide entries"),
    "several per row": (RAGGED, "one label per row, got rows of 1 to 2 labels"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_that_are_no_column(kind):
    labels, message = LABELS[kind]
    with pytest.raises(ValueError, match=message):
        TransformerClassifier(max_epochs=1).fit(X, labels)


def test_weights_with_a_mask():
    with pytest.raises(ValueError, match="sample_weight must not hide entries"):
        TransformerClassifier(max_epochs=1).fit(X, Y, np.ma.masked_array(np.ones(N), Y == 1))


WRONG = [
    TokenTokenizer(padding_id=0.5),
    TokenTokenizer(padding_id=np.nan),
    TokenTokenizer(padding_id="<pad>"),
    TableTokenizer(limit=-1.0),
    PatchTokenizer(patch_size=2.0, image_shape=(2, 2)),
    PatchTokenizer(patch_size=0, image_shape=(2, 2)),
    SequenceTokenizer(padding_value="nan"),
    SequenceTokenizer(limit="8"),
]


@pytest.mark.parametrize("tokenizer", WRONG, ids=repr)
def test_parameters_of_a_tokenizer_are_checked_inside_the_classifier(tokenizer):
    rows = X[:, :, None] if isinstance(tokenizer, SequenceTokenizer) else np.arange(4 * N)
    rows = rows.reshape(N, 4, 1) if isinstance(tokenizer, SequenceTokenizer) else rows.reshape(N, 4)
    classifier = TransformerClassifier(max_epochs=1, tokenizer=clone(tokenizer))
    with pytest.raises(ValueError, match=f"parameter of {type(tokenizer).__name__} must be"):
        classifier.fit(rows, Y)
