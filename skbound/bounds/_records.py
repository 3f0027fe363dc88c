"""What bounds read from evidence, with one message each for what is missing."""

from __future__ import annotations

from math import fsum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import (
    CodedSample,
    CompressedSample,
    DrawnSample,
    Evidence,
    FoldSample,
    LinearHeadSample,
    Loss,
    ProgressiveSample,
    RecursiveSample,
    Sample,
)
from skbound.exceptions import MissingEvidenceError

__all__ = ["losses_of", "record_of", "sum_of"]

Record = TypeVar("Record")

# What each record holds, in words, and the protocol that leaves it behind.
_HOLDS: dict[type, tuple[str, str]] = {
    Sample: (
        "losses of one fixed predictor on rows that had no part in making it",
        "holdout",
    ),
    ProgressiveSample: ("rows that were evaluated before they were trained on", "progressive"),
    CompressedSample: ("a predictor that picked some of its training rows", "compression"),
    RecursiveSample: (
        "a chain of predictors, each compared with the one before",
        "recursive_pac_bayes",
    ),
    LinearHeadSample: (
        "a linear head that was trained on fixed features of the certified rows",
        "frozen_features",
    ),
    FoldSample: (
        "several predictors, each evaluated on rows that it was not trained on",
        "cross_fit",
    ),
    DrawnSample: ("losses of nets that were drawn from a posterior", "pac_bayes"),
    CodedSample: ("a predictor that a code of counted length names", "description_length"),
}


def record_of(evidence: Evidence, method: str, kind: type[Record]) -> Record:
    """Return what was certified, if a bound can read it.

    Parameters
    ----------
    evidence : Evidence
        Of a fit.
    method : str
        The bound in words, for the message.
    kind : type
        Record that the bound reads.

    Returns
    -------
    object
        Of this type.

    Raises
    ------
    MissingEvidenceError
        If nothing was certified or the record is of another type.
    """
    record = evidence.certified
    if isinstance(record, kind):
        return record
    needed, protocol = _HOLDS[kind]
    if record is None:
        why = f" ({evidence.reason})" if evidence.reason else ""
        raise MissingEvidenceError(
            f"The {method} needs certified rows, but the fit set none aside{why}. Fit with a "
            f"protocol that does, for example protocol={protocol!r}."
        )
    raise MissingEvidenceError(
        f"The {method} needs {needed}, but the protocol {evidence.protocol!r} has recorded "
        f"something else, for which it is no bound. Fit with protocol={protocol!r}, or use "
        f"bound='auto'."
    )


def losses_of(record: Any, loss: Loss, method: str) -> NDArray[np.float64]:
    """Return one kind of losses.

    Parameters
    ----------
    record : Sample or another record with `zero_one` and `brier`
        Where they are.
    loss : {"zero_one", "brier"}
        Which ones.
    method : str
        The bound in words, for the message.

    Returns
    -------
    ndarray of shape (n_losses,)
        In [0, 1].

    Raises
    ------
    MissingEvidenceError
        If the Brier loss is asked for and there are no probabilities.
    """
    losses = record.zero_one if loss == "zero_one" else record.brier
    if losses is None:
        raise MissingEvidenceError(
            f"The {method} for loss='brier' needs predicted probabilities on the certified rows. "
            f"Use a classifier with predict_proba, or loss='zero_one'."
        )
    return np.ravel(losses)


def sum_of(record: Any, loss: Loss, method: str) -> float:
    """Return the sum of one kind of losses, whatever their order. See `losses_of`.

    Parameters
    ----------
    record, loss, method
        As there.

    Returns
    -------
    float
        Zero or more.

    Raises
    ------
    MissingEvidenceError
        As there.
    """
    return fsum(losses_of(record, loss, method))
