"""Real sets of three kinds, pooled, split at random: tables, texts as token ids, images."""

import gzip
import re
import zlib

import numpy as np

import _data
from skbound.tokenizers import PatchTokenizer, TokenTokenizer

# Tables of few columns: each is a token, and 20 sets must fit into the time.
TABLES = (
    "banknote", "breast_w", "california", "churn", "cmc", "diabetes", "electricity", "letter",
    "magic", "pendigits", "phoneme", "segment", "vehicle", "vowel", "wine_quality",
)  # fmt: skip
TEXTS = "sms_spam", "sst2", "trec"
IMAGES = "mnist", "fashion_mnist_15k"
# Alternating, so that the first few are of all kinds.
NAMES = (
    "phoneme", "sms_spam", "churn", "mnist", "diabetes", "pendigits",
    *(name for name in TABLES if name not in ("phoneme", "churn", "diabetes", "pendigits")),
    "sst2", "trec", "fashion_mnist_15k",
)  # fmt: skip
NOISY = NAMES[::4]
NOISE = 0.2
N_TEST, MIN_TEST = 2000, 150
N_WORDS = 16


def sample(name, n, split):
    """Return training rows and labels, test rows and labels, and a tokenizer."""
    X, y, tokenizer, categorical = _load(name)
    rng = np.random.default_rng([split, n, zlib.crc32(name.encode())])
    order = rng.permutation(len(y))
    train, test = order[:n], order[n : n + N_TEST]
    y = np.asarray(y).copy()
    if name in NOISY:
        flipped = rng.random(len(y)) < NOISE
        y[flipped] = rng.choice(np.unique(y), size=int(flipped.sum()))
    if categorical is not None:
        encode = _data.encoder(categorical).fit(X[train])
        return encode.transform(X[train]), y[train], encode.transform(X[test]), y[test], tokenizer
    return X[train], y[train], X[test], y[test], tokenizer


def large_enough(name, n):
    """Whether the set has n rows and some to test on."""
    return len(_load(name)[1]) >= n + MIN_TEST


_cache = {}


def _load(name):
    if name not in _cache:
        _cache.clear()
        kind = _text if name in TEXTS else _images if name in IMAGES else _table
        _cache[name] = kind(name)
    return _cache[name]


def _table(name):
    """Return a table; a repeated row counts once, so that no test row is known."""
    (table,) = _data.tables([name])
    _, rows = np.unique(np.column_stack([table.X, table.y]), axis=0, return_index=True)
    rows.sort()
    return table.X[rows], table.y[rows], "auto", table.categorical


def _images(name):
    """Return images at half their resolution, cut into 7 x 7 patches."""
    with np.load(_data.folder().parent / "images" / f"{name}.npz") as stored:
        X = np.concatenate([stored["X_train"], stored["X_test"]]).astype(np.float32) / 255
        y = np.concatenate([stored["y_train"], stored["y_test"]])
    X = X.reshape(len(X), 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(X), -1)
    return X, y, PatchTokenizer(7, image_shape=(14, 14)), None


def _text(name):
    """Return the first words of each text as ids, 0 for padding."""
    texts, labels = {}, []
    for path in sorted((_data.folder().parent / "text").glob(f"{name}.*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf8", newline="\n") as file:
            for line in file:
                label, *_, text = line.rstrip("\n").split("\t")
                if text not in texts:
                    texts[text] = len(labels)
                    labels.append(int(label))
    ids = np.zeros((len(labels), N_WORDS))
    for text, row in texts.items():
        words = re.findall(r"[a-z0-9$£!?']+", text.lower())[:N_WORDS]
        ids[row, : len(words)] = [1 + zlib.crc32(word.encode()) % 2**20 for word in words]
    keep = ids.any(axis=1)
    return ids[keep], np.array(labels)[keep], TokenTokenizer(padding_id=0), None
