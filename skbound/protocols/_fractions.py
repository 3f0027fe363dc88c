"""How many rows a parameter such as ``prior_fraction`` asks for."""

from __future__ import annotations

from numbers import Real
from typing import Literal

__all__ = ["MIN_ROWS", "check_fraction", "n_of_fraction"]

# With fewer rows "auto" certifies nothing.
MIN_ROWS = 100


def check_fraction(name: str, fraction: float | Literal["auto"]) -> None:
    """Refuse what is neither "auto" nor a share of the rows.

    Parameters
    ----------
    name : str
        Of the parameter, for the message.
    fraction : float or "auto"
        Its value.

    Raises
    ------
    ValueError
        If it is anything else than "auto" or a number in (0, 1).
    """
    if isinstance(fraction, str):
        valid = fraction == "auto"
    else:
        valid = isinstance(fraction, Real) and 0.0 < fraction < 1.0
    if not valid:
        raise ValueError(
            f"{name} must be 'auto' or in (0, 1), got {fraction!r}. Either part needs some rows; "
            f"take 0.05 for few."
        )


def n_of_fraction(
    name: str, fraction: float | Literal["auto"], n_samples: int, *, auto: float
) -> int:
    """Return how many rows a share of them is.

    Parameters
    ----------
    name : str
        Of the parameter, for the message.
    fraction : float or "auto"
        Its value.
    n_samples : int
        Rows with a positive weight.
    auto : float
        What "auto" stands for.

    Returns
    -------
    int
        From 1 to ``n_samples - 1``; 0 if "auto" finds too few rows to divide.

    Raises
    ------
    ValueError
        If `fraction` is out of range or leaves a part without a row.
    """
    check_fraction(name, fraction)
    if isinstance(fraction, str):
        if n_samples < MIN_ROWS:
            return 0
        fraction = auto
    n_rows = round(n_samples * float(fraction))
    if not 0 < n_rows < n_samples:
        raise ValueError(
            f"{name}={fraction} of {n_samples} rows must leave at least one row in either part, "
            f"got {n_rows} and {n_samples - n_rows}. Take a fraction closer to 0.5."
        )
    return n_rows
