"""Evidence: all that bounds and estimates are computed from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import Protocol

from skbound.evidence._curve import LearningCurve
from skbound.evidence._sample import Sample

__all__ = ["CertifiedRecord", "Evidence"]


class CertifiedRecord(Protocol):
    """What every record of certified rows tells.

    `kind` names the bounds that apply, `n_samples` counts the certified rows, `n_predictors` the
    predictors that ``predict`` uses, `sample` holds the losses row by row where there are any.
    `over` says in words what the bounded error is a mean over, and `spent` how the rows were used:
    it ends with the rows that the losses were seen on.
    """

    @property
    def kind(self) -> str: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_predictors(self) -> int: ...
    @property
    def sample(self) -> Sample | None: ...
    @property
    def over(self) -> str: ...
    def spent(self, n_fit: int) -> str: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What a fit leaves behind for bounds and estimates.

    Parameters
    ----------
    protocol : str
        Name of the protocol that spent the rows.
    n_fit : int
        Number of rows that the predictor was trained on (early-stopping rows not included).
    n_validation : int, default=0
        Number of rows that decided when training stops. Never certified rows.
    majority_share : float
        Share of the most frequent class among the rows that are not certified. A certificate of
        ``1 - majority_share`` or more is vacuous.
    certified : Sample, another record of this module, or None, default=None
        What was recorded on the certified rows; its type says which bounds apply. None if no row
        was certified.
    n_candidates : int, default=1
        Among how many predictors, fixed before the certified rows were read, this one was chosen
        with their help. Bounds spend ``delta / n_candidates`` on each, or `share` of it.
    share : float or None, default=None
        Share of delta that was given to this candidate before the certified rows were read, in
        (0, 1]; those of all candidates sum to at most 1. None stands for equal shares.
    assumptions : tuple of str, default=()
        What the certificates rest on, in words.
    caveats : tuple of str, default=()
        What was done with certified rows that no bound covers, in words.
    reason : str, default=""
        Why there are no certified rows, if there are none.
    learning_curve : LearningCurve or None, default=None
        Errors of predictors trained on more and more rows, where there were several in turn.
    n_members : int, default=1
        How many predictors, trained on the same rows, answer together as the certified one.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    protocol: str
    n_fit: int
    n_validation: int = 0
    majority_share: float
    certified: CertifiedRecord | None = None
    n_candidates: int = 1
    share: float | None = None
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    reason: str = ""
    learning_curve: LearningCurve | None = None
    n_members: int = 1

    def __post_init__(self) -> None:
        for name in ("n_candidates", "n_members"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
        if self.share is not None and not 0.0 < self.share <= 1.0:
            raise ValueError(f"share must lie in (0, 1] or be None, got {self.share!r}.")
        if not 0.0 <= self.majority_share <= 1.0:
            raise ValueError(f"majority_share must lie in [0, 1], got {self.majority_share}.")
        if self.certified is not None and self.certified.n_samples == 0:
            raise ValueError("certified must hold at least one row; use None for no rows.")

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if f.name not in ("certified", "learning_curve")
        )
        return f"Evidence({parts}, n_certified={self.n_certified})"

    def level(self, delta: float) -> float:
        """Return the level at which this candidate is bounded.

        Parameters
        ----------
        delta : float
            Level for the whole choice.

        Returns
        -------
        float
            `delta` itself where there was no choice.
        """
        if self.share is None:
            return delta / self.n_candidates
        return delta * self.share

    @property
    def kind(self) -> str:
        """Which kind of record there is, and with it which bounds apply."""
        return "none" if self.certified is None else self.certified.kind

    @property
    def evaluated(self) -> Sample | None:
        """Losses on the certified rows, be it of one predictor or of several."""
        return None if self.certified is None else self.certified.sample

    @property
    def n_certified(self) -> int:
        """Number of certified rows."""
        return 0 if self.certified is None else self.certified.n_samples

    @property
    def n_predictors(self) -> int:
        """Number of predictors among which ``predict`` chooses, or which it asks."""
        alone = 1 if self.certified is None else self.certified.n_predictors
        return max(self.n_members, alone)

    @property
    def spent(self) -> str:
        """How the rows were spent, in words; empty if none were certified."""
        if self.certified is None:
            return ""
        text = self.certified.spent(self.n_fit)
        if self.n_members == 1:
            return text
        return f"The joint answer of {self.n_members} predictors is certified. {text}"
