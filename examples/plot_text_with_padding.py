"""
===========================
Texts of different lengths
===========================

A text becomes a row of word ids; short ones are filled up with an id for padding, on which the
net's answer does not depend. The texts are simulated reviews: each holds one opinion, and the word
before it may turn it round. One label in ten is wrong, so that no classifier errs less often.
"""

# %%
# Words and ids
# -------------
# An id is a hash of the word, which learns nothing from the texts. Which ids there are is learnt
# inside the classifier, from the rows it trains on and from no others.
import zlib

import matplotlib.pyplot as plt
import numpy as np

from skbound import TransformerClassifier
from skbound.tokenizers import TokenTokenizer

FILLERS = [
    "the",
    "film",
    "was",
    "we",
    "saw",
    "it",
    "last",
    "week",
    "with",
    "music",
    "in",
    "a",
    "story",
]
OPINIONS = {"great": 1, "moving": 1, "funny": 1, "dull": 0, "noisy": 0, "weak": 0}
PADDING = 0


def review(rng):
    """Return a text and whether its label says that it is in favour."""
    words = list(rng.choice(FILLERS, size=rng.integers(2, 10)))
    opinion = rng.choice(list(OPINIONS))
    turned, wrong = rng.random() < 0.5, rng.random() < 0.1
    place = rng.integers(len(words) + 1)
    words[place:place] = ["not", opinion] if turned else ["so", opinion]
    return " ".join(words), OPINIONS[opinion] ^ turned ^ wrong


def as_ids(texts, length=12):
    """Return one row of ids per text, padded at the end."""
    rows = np.full((len(texts), length), PADDING)
    for row, text in zip(rows, texts, strict=True):
        words = text.split()[:length]
        row[: len(words)] = [1 + zlib.crc32(word.encode()) for word in words]
    return rows


rng = np.random.default_rng(0)
texts, y = zip(*(review(rng) for _ in range(2000)), strict=True)
X, y = as_ids(texts), np.array(y)
print(texts[:3])

# %%
# Fit and read the certificate
# ----------------------------
clf = TransformerClassifier(
    tokenizer=TokenTokenizer(padding_id=PADDING), depth=1, width=32, max_epochs=12, random_state=0
).fit(X[:1000], y[:1000])
print(clf.certificate_.statement())

# %%
# Where padding stands does not matter, nor how much of it there is.
longer = ["the film was not dull", "the film was so dull"]
print(clf.predict(as_ids(longer)), clf.predict(np.roll(as_ids(longer), 3, axis=1)))

# %%
# The error on new texts, by length
# ---------------------------------
wrong = clf.predict(X[1000:]) != y[1000:]
lengths = (X[1000:] != PADDING).sum(axis=1)
found = np.unique(lengths)
fig, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
ax.bar(found, [wrong[lengths == length].mean() for length in found], color="0.6")
ax.axhline(clf.generalization_bound_, color="tab:red", label="certificate, all lengths together")
ax.axhline(wrong.mean(), color="k", ls="--", label="error on new texts")
ax.set(xlabel="words", ylabel="error", ylim=(0, None))
ax.legend(frameon=False)
plt.show()
