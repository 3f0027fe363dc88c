"""
===========================
Which measures follow depth?
===========================

Many expressions are said to tell how well a net generalises. If one of them does, it should grow
with depth as fast as the gap between the error on new rows and on those trained on.
:func:`~skbound.inspection.compare_growth` fits a power of the depth to each and says how far off
its exponent is.
"""

# %%
# Nets of several depths
# ----------------------
# Digits: 300 to train on, the others for the error. Two nets for each depth.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skbound import TransformerClassifier
from skbound.inspection import GrowthDisplay, compare_growth
from skbound.measures import MEASURES, measure_all

X, y = load_digits(return_X_y=True)
keys = ["parameter_count", "l2_distance", "spectral_product", "transformer_formula"]
rules = [MEASURES[key] for key in keys]

depths, gaps, measures = [], [], {key: [] for key in keys}
for seed in range(2):
    order = np.random.default_rng(seed).permutation(len(y))
    train, new = order[:300], order[300:]
    for depth in (1, 2, 4):
        clf = TransformerClassifier(
            depth=depth, width=16, tokenizer="patches", protocol=None, max_epochs=15,
            random_state=seed,
        ).fit(X[train], y[train])  # fmt: skip
        depths.append(depth)
        gaps.append(clf.score(X[train], y[train]) - clf.score(X[new], y[new]))
        for key, value in measure_all(clf, X[train], y[train], rules).items():
            measures[key].append(float(value))

# %%
# Measured and predicted exponents
# --------------------------------
# In bounds, the square root is taken of the number of parameters and of a product of squared norms.
predicted = {
    "root of parameters": np.sqrt(measures["parameter_count"]),
    "root of spectral product": np.sqrt(measures["spectral_product"]),
    "distance from the start": measures["l2_distance"],
    "Transformer formula": measures["transformer_formula"],
}
growth = compare_growth(depths, gaps, predicted)
print(growth.to_frame().round(2))
print("least off:", growth.closest)

# %%
# Where the interval of ``off_by`` holds zero, six nets do not refute an expression. What multiplies
# norms along the depth grows much faster than anything that was measured.
display = GrowthDisplay.from_comparison(growth, size_name="depth", measured_name="gap of errors")
display.ax_.set_ylim(min(gaps) / 3, max(gaps) * 3)
plt.show()
