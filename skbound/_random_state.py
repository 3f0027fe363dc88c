"""One integer seed per fit, handed down to everything that was left unseeded."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["draw_seed", "seed_unset"]


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return an integer seed from anything scikit-learn takes as ``random_state``.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        As everywhere in scikit-learn.

    Returns
    -------
    int
        In [0, 2**31 - 1).
    """
    return int(check_random_state(random_state).randint(2**31 - 1))


def seed_unset(estimator, seed, *, every=False):
    """Set every ``random_state`` parameter that is None, at any depth, to `seed`.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    seed : int
        New value.
    every : bool, default=False
        Whether to set those that are not None as well.

    Returns
    -------
    estimator
        The same object.
    """
    # Protocols are left out: an unseeded protocol takes its split from its classifier.
    unset = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if (every or value is None)
        and (name == "random_state" or name.endswith("__random_state"))
        and not name.endswith("protocol__random_state")
    }
    return estimator.set_params(**unset) if unset else estimator
