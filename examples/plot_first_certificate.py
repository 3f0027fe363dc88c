"""
=================================
A certificate for a whole pipeline
=================================

Real tables have categories and missing values, so a net is the last step of a pipeline. What the
earlier steps learn must not see the rows that are certified: :class:`~skbound.BoundedClassifier`
sets them aside first and fits the whole pipeline on the others.
"""

# %%
# A table with holes
# ------------------
# Tumours of scikit-learn: three measurements, one of them with values missing, and a category.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skbound import BoundedClassifier, TransformerClassifier

data, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = data[["mean texture", "mean smoothness", "mean concavity"]].copy()
X["size"] = pd.cut(data["mean area"], 3, labels=["small", "medium", "large"]).astype(str)
X.loc[np.random.default_rng(0).random(len(X)) < 0.1, "mean texture"] = np.nan
X, X_later, y, y_later = train_test_split(X, y, test_size=0.3, random_state=0)

# %%
# Fit
# ---
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["size"]),
    remainder=SimpleImputer(),
)
net = TransformerClassifier(depth=1, width=32, max_epochs=20)
clf = BoundedClassifier(make_pipeline(encode, net), random_state=0).fit(X, y)

# %%
# What is certified
# -----------------
# The certificate was computed before anybody saw the rows that are left; they agree with it.
print(clf.certificate_.statement())
print("It assumes:", *clf.certificate_.assumptions, sep="\n- ")
error = np.mean(clf.predict(X_later) != y_later)
print(f"Error on {len(y_later)} rows never seen: {error:.4f}")

# %%
# The bound is the sum of named terms.
terms = clf.certificate_.terms
fig, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
left = 0.0
for name, amount in terms.items():
    ax.barh("certificate", amount, left=left, label=name)
    left += amount
ax.barh("error on later rows", error, color="0.6")
ax.set(xlabel="error")
ax.legend(frameon=False)
plt.show()
