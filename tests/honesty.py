"""What a valid protocol never does, as checks that both tests and mutants run."""

import numpy as np
from sklearn.base import clone

from skbound.datasets import finite_domain


def many_classes(n_samples=240, n_classes=30, seed=0):
    """Rows whose labels a stratified split would tie together."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_samples - n_classes)])
    X = rng.normal(size=(n_samples, 4)) + y[:, None] % 5
    return X, y


def certified_rows(model):
    return model.evidence_.certified.rows


def check_training_ignores_certified_rows(model, X, y):
    """Other features and labels in the certified rows leave the predictor bit-equal."""
    model = clone(model).set_params(random_state=0)
    first = clone(model).fit(X, y)
    rows = certified_rows(first)
    rng = np.random.default_rng(1)
    X_other, y_other = X.copy(), y.copy()
    X_other[rows] = 50.0 * rng.normal(size=X[rows].shape)
    y_other[rows] = y[0]
    # The set of labels is known in advance, so it must stay the same.
    assert np.array_equal(np.unique(np.delete(y, rows)), np.unique(y))
    second = clone(model).fit(X_other, y_other)
    assert np.array_equal(certified_rows(second), rows)
    scores = [m.predict_proba(X) for m in (first, second)]
    assert np.array_equal(*scores)


def check_split_ignores_labels(model, X, y):
    """The certified rows depend on the number of rows and the seed alone."""
    model = clone(model).set_params(random_state=0)
    rows = [certified_rows(clone(model).fit(X, labels)) for labels in (y, np.roll(y, 7), y[::-1])]
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])


def check_certificate_is_about_predict(model, X, y):
    """The losses in the evidence are those of ``predict`` and ``predict_proba``."""
    model = clone(model).set_params(random_state=0).fit(X, y)
    sample = model.evidence_.certified
    assert np.array_equal(sample.zero_one, model.predict(X[sample.rows]) != y[sample.rows])
    one_hot = y[sample.rows][:, None] == model.classes_
    brier = 0.5 * ((model.predict_proba(X[sample.rows]) - one_hot) ** 2).sum(axis=1)
    np.testing.assert_allclose(sample.brier, brier, atol=1e-12)


def allowed_misses(delta, n_runs):
    """Delta plus three standard errors."""
    return delta + 3.0 * np.sqrt(delta * (1.0 - delta) / n_runs)


def miss_rates(model, bounds, deltas, *, n_runs, n_samples=150):
    """Refit on fresh samples; how often each bound falls below the exact risk."""
    world = finite_domain(n_features=3, n_levels=3, n_classes=2, label_noise=0.15, random_state=0)
    misses = {(key, delta): 0 for key in bounds for delta in deltas}
    for run in range(n_runs):
        X, y = world.sample(n_samples, random_state=run)
        fitted = clone(model).set_params(random_state=run).fit(X, y)
        risk, brier = world.risk(fitted.predict), world.brier(fitted.predict_proba)
        for key, delta in misses:
            true = brier if key.startswith("brier_") else risk
            certificate = bounds[key](fitted.evidence_, delta)
            misses[key, delta] += certificate.value < true
    return {name: count / n_runs for name, count in misses.items()}
