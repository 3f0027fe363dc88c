"""
===================================
Choosing a Transformer by its bound
===================================

:class:`~skbound.BoundSearch` fits every candidate once and takes the one with the smallest bound.
The winner's certificate still holds although it was chosen: each candidate is bounded at a share of
``delta``. Cross-validation would need a fit per fold, and leaves no guarantee.
"""

# %%
# Search
# ------
# Four candidates, handwritten digits; a third of the rows is put away for the end.
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skbound import BoundSearch, TransformerClassifier
from skbound.inspection import BoundVsErrorDisplay

X, y = load_digits(return_X_y=True)
X, X_later, y, y_later = train_test_split(X, y, test_size=1 / 3, random_state=0)

patches = TransformerClassifier(tokenizer="patches", max_epochs=10)
grid = {"depth": [1, 2], "width": [16, 32]}
search = BoundSearch(patches, grid, random_state=0, return_estimators=True).fit(X, y)

# %%
# The winner
# ----------
print(search.best_params_)
print(search.certificate_.statement())
columns = ["param_depth", "param_width", "bound"]
print(pd.DataFrame(search.cv_results_)[columns].sort_values("bound").to_string(index=False))

# %%
# Did the bounds rank them well?
# ------------------------------
# On rows that no candidate saw. For looking only: no certificate covers a choice made by it.
BoundVsErrorDisplay.from_search(search, X_later, y_later)
plt.show()
