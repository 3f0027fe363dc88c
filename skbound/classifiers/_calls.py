"""What the calls of partial_fit so far leave for the next."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np

from skbound._random_state import draw_seed
from skbound.protocols._mixture import canonical_rows
from skbound.protocols._stream import Stream

__all__ = ["Calls"]

# What the nets and the certificate of later calls have from the first.
_FIXED = (
    *("depth", "width", "n_heads", "dropout", "pooling", "architecture", "tokenizer", "dtype"),
    *("bound", "delta"),
)
# As many rows as may be equal in the first part of a fit.
_REPEATS = 0.03
_REPEATS_ANYWAY = 3


@dataclass(frozen=True)
class Calls:
    """All rows so far, and the nets that were trained on them.

    Parameters
    ----------
    X, y : ndarray
        All rows so far.
    seen : frozenset of bytes
        Hashes of these rows with their labels.
    seed : int
        Of everything random.
    settings : dict of str to object
        The parameters that must not change.
    stream : Stream or None, default=None
        The predictors.
    """

    X: np.ndarray
    y: np.ndarray
    seen: frozenset
    seed: int
    settings: dict[str, Any]
    stream: Stream | None = None

    @classmethod
    def first(cls, classifier, X, y):
        """Return the record of a first call, before it has trained anything.

        Parameters
        ----------
        classifier : TransformerClassifier
            Its parameters are copied.
        X : ndarray of shape (n_samples, ...)
            Validated rows.
        y : ndarray of shape (n_samples,)
            Their labels.

        Returns
        -------
        Calls
            Without predictors.
        """
        settings = {name: copy.deepcopy(getattr(classifier, name)) for name in _FIXED}
        seed = draw_seed(classifier.random_state)
        return cls(X.copy(), y.copy(), frozenset(_hashes(X, y)), seed, settings)

    def check_settings(self, classifier):
        """Refuse parameters that were changed since the first call, and must not be.

        Parameters
        ----------
        classifier : TransformerClassifier
            With its present parameters.

        Raises
        ------
        ValueError
            Naming them.
        """
        for name, first in self.settings.items():
            now = getattr(classifier, name)
            if not _same(now, first):
                raise ValueError(
                    f"{name} must stay as in the first call of partial_fit, because later calls go "
                    f"on with its nets, its scaling and its certificate: it was {first!r}, got "
                    f"{now!r}. Set it back, or begin anew with sklearn.base.clone or fit."
                )

    def with_fresh_rows(self, X, y):
        """Add the rows of one more call.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ...)
            Validated rows.
        y : ndarray of shape (n_samples,)
            Their labels.

        Returns
        -------
        Calls
            With the same predictors.

        Raises
        ------
        ValueError
            If more than 3 of the rows, and more than 3 % of them, were in an earlier call with
            the same label. A few are taken for chance, which a repeat in discrete data may be.
        """
        hashes = _hashes(X, y)
        n_known = sum(row in self.seen for row in hashes)
        allowed = max(_REPEATS_ANYWAY, int(_REPEATS * len(X)))
        if n_known > allowed:
            raise ValueError(
                f"partial_fit needs fresh rows, because it evaluates them before it trains on "
                f"them: at most {allowed} of {len(X)} rows may equal rows of earlier calls, as "
                f"happens by chance, but {n_known} do, with their labels. Pass each row once; if "
                f"fresh rows repeat that often, use fit with protocol='holdout'."
            )
        return replace(
            self,
            X=np.concatenate([self.X, X]),
            y=np.concatenate([self.y, y]),
            seen=self.seen | set(hashes),
        )


def _hashes(X, y) -> list[bytes]:
    return [
        blake2b(row.tobytes() + _label(label), digest_size=16).digest()
        for row, label in zip(canonical_rows(X), y.tolist(), strict=True)
    ]


def _label(label) -> bytes:
    """Return a label in a form that is the same for 1, 1.0 and True."""
    return repr(float(label) if isinstance(label, (bool, int, float)) else label).encode()


def _same(now, first) -> bool:
    """Say whether a parameter is what it was; objects may have been loaded from a file since."""
    if isinstance(first, Real | str):
        return bool(now == first)
    return repr(now) == repr(first)
