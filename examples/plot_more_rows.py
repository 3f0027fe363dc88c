"""
More rows, tighter bound
========================

A Transformer learns from a part of the rows; the rest bound its true error. The picture shows how
the bound shrinks towards the error as there are more rows.
"""

import matplotlib.pyplot as plt

from skbound import TransformerClassifier
from skbound.datasets import parity_domain

# A domain small enough to know the true error of any classifier on it.
domain = parity_domain(n_features=5, n_relevant=2, flip=0.1)
sizes = [200, 400, 800, 1600]
bounds, errors = [], []
for n in sizes:
    X, y = domain.sample(n, random_state=n)
    clf = TransformerClassifier(depth=1, width=16, max_epochs=20, random_state=0).fit(X, y)
    bounds.append(clf.generalization_bound_)
    errors.append(domain.risk(clf.predict))

print(clf.certificate_.statement())

figure, ax = plt.subplots(layout="constrained")
ax.plot(sizes, bounds, "o-", label="certificate, holds with 95 %")
ax.plot(sizes, errors, "s--", label="true error, known here only")
ax.set(xscale="log", xlabel="rows given to fit", ylabel="error", ylim=(0, None))
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

assert min(errors) >= domain.bayes_risk  # a tenth of the labels is wrong
