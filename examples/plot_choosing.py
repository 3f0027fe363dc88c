"""
Choosing depth and width without cross-validation
=================================================

Candidates are ranked on rows that are not certified; the winner is trained once more and certified
once. Beside it the other way: every candidate certified at its share of delta.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skbound import BoundSearch, TransformerClassifier
from skbound.inspection import BoundVsErrorDisplay

X, y = load_digits(return_X_y=True)
# A token per row of pixels.
X, X_test, y, y_test = train_test_split(X.reshape(-1, 8, 8), y, train_size=800, random_state=0)
grid = {"depth": [1, 2], "width": [8, 16, 32]}

search = BoundSearch(TransformerClassifier(max_epochs=15), grid, strategy="halving", random_state=0)
search.fit(X, y)
print(search.best_params_, search.certificate_.statement(), search.choice_, sep="\n")
print(f"Error on {len(y_test)} other rows: {1 - search.score(X_test, y_test):.4f}")

# One net per candidate, since every one of them is certified.
net = TransformerClassifier(max_epochs=15, protocol="holdout")
paid = BoundSearch(net, grid, choose_by="bound", return_estimators=True, random_state=0).fit(X, y)
print(paid.best_params_, paid.certificate_.statement(), sep="\n")
BoundVsErrorDisplay.from_search(paid, X_test, y_test)
plt.show()
