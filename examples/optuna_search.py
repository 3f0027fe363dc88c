"""
Optuna, with a certificate for its choice
=========================================

An adaptive search looks at scores and goes on from there. No union over candidates pays for that,
but none is needed: the trials are scored on training rows only, and the certified rows are read
once, at the end, for the one classifier that was chosen. Needs ``pip install optuna``.
"""

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import ShuffleSplit, cross_val_score

from skbound import TransformerClassifier
from skbound.protocols import Holdout

X, y = load_breast_cancer(return_X_y=True)
# An int here fixes which rows are certified: the same in the split below and in the fit at the end.
protocol = Holdout(random_state=0)
training, certified = protocol.split(len(X), seed=0)


def score(trial):
    clf = TransformerClassifier(
        depth=trial.suggest_int("depth", 1, 2),
        width=trial.suggest_categorical("width", [8, 16, 32]),
        weight_decay=trial.suggest_float("weight_decay", 1e-3, 1.0, log=True),
        max_epochs=10, protocol=None, random_state=0,
    )  # fmt: skip
    inner = ShuffleSplit(1, test_size=0.25, random_state=0)
    scores = cross_val_score(clf, X[training], y[training], cv=inner, scoring="neg_log_loss")
    return scores.mean()


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(score, n_trials=8)

clf = TransformerClassifier(**study.best_params, max_epochs=10, protocol=protocol, random_state=0)
clf.fit(X, y)
print(study.best_params, clf.certificate_.statement(), sep="\n")

assert set(clf.evidence_.certified.rows) == set(certified)
