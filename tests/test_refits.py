"""Certificates of every engine against the exact risk, over refits on fresh samples.

50 refits each, and 400 with ``make audit``.
"""

import os
import warnings

import pytest
from sklearn.base import clone

from skbound.bounds import certificates
from skbound.datasets import finite_domain, random_label_domain
from skbound.exceptions import SkboundWarning
from tests.engines import ENGINES
from tests.honesty import allowed_misses

N_REFITS = int(os.environ.get("SKBOUND_REFITS", "50"))
DELTAS = (0.2, 0.5)
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=repr)


@every_engine
def test_certificates_of_refits_hold(engine):
    world = finite_domain(
        n_features=4, n_levels=engine.n_levels, n_classes=2, label_noise=0.25, random_state=0
    )
    misses: dict[tuple[str, float], int] = {}
    for run in range(N_REFITS):
        model = clone(engine.model).set_params(random_state=run)
        model.fit(*world.sample(150, random_state=run))
        risk, brier = world.risk(model.predict), world.brier(model.predict_proba)
        for delta in DELTAS:
            for name, certificate in certificates(model.evidence_, delta).items():
                true = risk if certificate.loss == "zero_one" else brier
                key = name, delta
                misses[key] = misses.get(key, 0) + (certificate.value < true)
    for (name, delta), count in misses.items():
        assert count / N_REFITS <= allowed_misses(delta, N_REFITS), (name, delta, count)


@every_engine
def test_random_labels_give_vacuous_certificates(engine):
    world = random_label_domain(n_features=13, n_classes=2)
    n_runs, telling = max(20, N_REFITS // 4), 0
    for run in range(n_runs):
        model = clone(engine.model).set_params(random_state=run, delta=0.05)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkboundWarning)
            model.fit(*world.sample(150, random_state=run))
        telling += model.generalization_bound_ < 0.5
    assert telling / n_runs <= allowed_misses(0.05, n_runs)
