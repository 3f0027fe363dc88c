"""
A certificate for a text classifier
===================================

Sentences of unequal length become rows of word numbers, filled up with a number that no word has.
"""

import numpy as np

from skbound import TransformerClassifier
from skbound.tokenizers import TokenTokenizer

PADDING = 0
rng = np.random.default_rng(0)
subjects, verbs = ["the film", "this book", "her play", "that song"], ["is", "was", "seems"]
good, bad = ["good", "lovely", "bright", "moving"], ["bad", "dull", "flat", "tiring"]
fill = ["really", "quite", "rather", "so"]

sentences, y = [], []
for _ in range(600):
    label = int(rng.integers(2))
    words = [*rng.choice(subjects).split(), rng.choice(verbs)]
    words += list(rng.choice(fill, size=rng.integers(0, 4)))
    sentences.append([*words, rng.choice((bad, good)[label])])
    y.append(label)

vocabulary = {w: i for i, w in enumerate(sorted({w for s in sentences for w in s}), start=1)}
X = np.full((len(sentences), max(map(len, sentences))), PADDING)
for row, words in zip(X, sentences, strict=True):
    row[: len(words)] = [vocabulary[word] for word in words]

clf = TransformerClassifier(
    depth=1, width=16, max_epochs=10, tokenizer=TokenTokenizer(padding_id=PADDING), random_state=0
).fit(X, np.array(y))
print(clf.certificate_.statement())
