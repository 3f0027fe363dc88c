"""
=====================
Comparing regularisers
=====================

Which regulariser helps on the data at hand? :func:`~skbound.compare_regularizers` fits each on the
same splits with the same seeds, so that differences are paired, and gives intervals that hold for
all of them at once. Each also gets a certificate.
"""

# %%
# Tumours, few rows for a net of this size.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from skbound import TransformerClassifier, compare_regularizers
from skbound.inspection import ComparisonDisplay
from skbound.regularizers import Mixup, SpectralBall

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :10]  # the means

tried = {
    "mixup": {"regularizers": (Mixup(),)},
    "spectral ball": {"regularizers": (SpectralBall(1.0),)},
    "dropout": {"dropout": 0.3},
}
clf = TransformerClassifier(protocol="holdout", depth=1, width=16, max_epochs=10)
comparison = compare_regularizers(clf, X, y, tried, cv=3, random_state=0)

# %%
# In words. Where an interval holds zero, these rows do not tell the two apart.
print(*comparison.sentences().values(), sep="\n")

# %%
# As a picture: what lies left of the line is better than none.
ComparisonDisplay.from_comparison(comparison)
plt.show()
