"""Losses of a predictor that a few bits describe."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

from skbound.evidence._sample import Sample

__all__ = ["CodedSample"]


@dataclass(frozen=True, eq=False)
class CodedSample:
    """Losses of one predictor that was chosen among those that a code can name.

    The predictor may depend on these very rows. What a bound pays for is the number of predictors
    that the code could have named as briefly.

    Parameters
    ----------
    sample : Sample
        Losses of the predictor that `code` stands for.
    code : str
        Zeros and ones from which the predictor can be built again. For each option no code is the
        start of another, and how codes are read was fixed before any of these rows was seen.
    n_options : int, default=1
        Number of ways to read a code among which one was chosen with the help of these rows.
    option : int, default=0
        The one that was chosen.

    Raises
    ------
    ValueError
        If `code` is not a string of zeros and ones, or `option` is not one of `n_options`.

    Notes
    -----
    An empty code is the choice among `n_options` predictors fixed beforehand.
    """

    kind: ClassVar[str] = "description_length"
    n_predictors: ClassVar[int] = 1
    over: ClassVar[str] = ""

    sample: Sample
    code: str = field(repr=False)
    n_options: int = 1
    option: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.code, str) or set(self.code) - {"0", "1"}:
            raise ValueError("code must be a string of zeros and ones.")
        if not isinstance(self.n_options, Integral) or self.n_options < 1:
            raise ValueError(f"n_options must be an integer of at least 1, got {self.n_options!r}.")
        if not isinstance(self.option, Integral) or not 0 <= self.option < self.n_options:
            raise ValueError(
                f"option must be one of {self.n_options}, counted from 0, got {self.option!r}."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sample, self.code, self.n_options, self.option)

    @property
    def n_bits(self) -> int:
        """Length of the code."""
        return len(self.code)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.sample.n_samples

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the predictor was trained on.

        Returns
        -------
        str
            A sentence without its full stop, which ends with the rows that the losses are of.
        """
        if not self.code:
            chosen = f"Chosen among {self.n_options} with the help of the certified rows, trained"
            start = chosen if self.n_options > 1 else "Trained"
            return f"{start} on {n_fit} rows, certified on {self.n_samples} other rows"
        codes = f" by one of {self.n_options} codes" * (self.n_options > 1)
        return (
            f"Written in {self.n_bits} bits{codes}, trained on {n_fit} rows and certified on "
            f"{self.n_samples} of them"
        )
