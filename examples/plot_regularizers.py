"""
Does this regularizer help?
===========================

Each setting is fitted on the same splits as the plain estimator; the differences carry intervals
that account for the number of settings and for the overlap of the training parts.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from skbound import TransformerClassifier, compare_regularizers
from skbound.inspection import ComparisonDisplay
from skbound.regularizers import Mixup, SpectralBall

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :10]
clf = TransformerClassifier(depth=1, width=16, max_epochs=10, protocol="holdout", random_state=0)
comparison = compare_regularizers(
    clf, X, y,
    {
        "weight decay": {"weight_decay": 0.3},
        "dropout": {"dropout": 0.2},
        "mixup": {"regularizers": (Mixup(),)},
        "spectral ball": {"regularizers": (SpectralBall(2.0),)},
    },
    cv=3, random_state=0,
)  # fmt: skip
print(*comparison.sentences().values(), sep="\n")
ComparisonDisplay.from_comparison(comparison)
plt.show()
