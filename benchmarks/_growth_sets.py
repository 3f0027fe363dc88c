"""Images and sentences whose number of tokens can be varied: CIFAR-10 and the Penn Treebank."""

import gzip
from collections import Counter
from functools import cache

import numpy as np

import _data
from skbound.tokenizers import PatchTokenizer, TokenTokenizer

NAMES = "cifar10", "ptb"
TOKENS = {"cifar10": (4, 16, 64), "ptb": (4, 8, 16, 32)}
SIDE = 16  # of the images, halved
N_CLASSES = 10
MIN_CONTEXT = 4  # words before the one to predict


def rows(name, n_tokens):
    """Return all rows, their labels and a tokenizer that makes so many tokens of a row."""
    if name == "cifar10":
        X, y = _images()
        size = SIDE // round(n_tokens**0.5)
        return X, y, PatchTokenizer(size, image_shape=(SIDE, SIDE, 3))
    X, y = _sentences()
    return X[:, -n_tokens:], y, TokenTokenizer(padding_id=0)


@cache
def _images():
    """Return 12,000 images of 16 x 16 pixels: each is the mean of four."""
    with np.load(_data.folder().parent / "images" / "cifar10_12k.npz") as stored:
        y = np.concatenate([stored["y_train"], stored["y_test"]])
        planes = np.concatenate([stored["E_train"], stored["E_test"]], axis=1)
    # Stored: G, R - G and B - G, each differenced down and across, modulo 256.
    planes = planes.cumsum(2, dtype=np.uint8).cumsum(3, dtype=np.uint8)
    green, red_more, blue_more = planes
    X = np.stack([red_more + green, green, blue_more + green], axis=-1)
    X = X.reshape(len(X), SIDE, 2, SIDE, 2, 3).mean(axis=(2, 4), dtype=np.float32)
    return X.reshape(len(X), -1), y


@cache
def _sentences():
    """Return, for each distinct sentence, the words before a frequent one, and which that is.

    A sentence is one row, so that no two rows share words of a sentence. The word to predict is the
    last one in it that is among the ten most frequent. Zeros fill the front of short contexts.
    """
    sentences = {}
    for path in sorted((_data.folder().parent / "text").glob("ptb.*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf8") as file:
            sentences |= dict.fromkeys(tuple(line.split()) for line in file)
    counts = Counter(word for sentence in sentences for word in sentence)
    ids = {word: 1 + place for place, (word, _) in enumerate(counts.most_common())}
    X, y = [], []
    for sentence in sentences:
        numbers = [ids[word] for word in sentence]
        ends = [i for i, number in enumerate(numbers) if number <= N_CLASSES and i >= MIN_CONTEXT]
        if ends:
            context = numbers[: ends[-1]][-max(TOKENS["ptb"]) :]
            X.append([0] * (max(TOKENS["ptb"]) - len(context)) + context)
            y.append(numbers[ends[-1]] - 1)
    return np.array(X, dtype=np.float32), np.array(y)
