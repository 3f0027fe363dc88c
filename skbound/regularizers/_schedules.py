"""Strengths that change in the course of a training."""

from __future__ import annotations

import math
from numbers import Integral, Real

from sklearn.base import BaseEstimator

__all__ = ["Constant", "Cosine", "Linear", "Schedule", "Steps", "check_strength", "strength_at"]


class Schedule(BaseEstimator):
    """Base of schedules: a subclass defines `at`.

    Examples
    --------
    >>> from skbound.regularizers import Schedule
    >>> class Half(Schedule):
    ...     def __init__(self, value):
    ...         self.value = value
    ...
    ...     def at(self, progress):
    ...         return self.value if progress < 0.5 else self.value / 2
    """

    def at(self, progress: float) -> float:
        """Return the strength.

        Parameters
        ----------
        progress : float
            0 at the first step of a training of ``max_epochs``, 1 at the last.

        Returns
        -------
        float
            Strength.
        """
        raise NotImplementedError(f"{type(self).__name__} must define at(progress).")


class Constant(Schedule):
    """The same strength all along, as a plain number is.

    Parameters
    ----------
    value : float
        The strength.
    """

    def __init__(self, value):
        self.value = value

    def at(self, progress):
        """Return the strength; see :meth:`Schedule.at`."""
        return self.value


class Linear(Schedule):
    """From one strength to another along a straight line.

    Parameters
    ----------
    start, end : float
        At the first step and at the last.

    Examples
    --------
    Loose early, tight late:

    >>> from skbound.regularizers import Linear, SpectralBall
    >>> Linear(10.0, 2.0).at(0.25)
    8.0
    >>> SpectralBall(radius=Linear(10.0, 2.0))
    SpectralBall(radius=Linear(end=2.0, start=10.0))
    """

    def __init__(self, start, end):
        self.start = start
        self.end = end

    def at(self, progress):
        """Return the strength; see :meth:`Schedule.at`."""
        return (1.0 - progress) * self.start + progress * self.end


class Cosine(Schedule):
    """From one strength to another along half a period of a cosine: flat at both ends.

    Parameters
    ----------
    start, end : float
        At the first step and at the last.
    """

    def __init__(self, start, end):
        self.start = start
        self.end = end

    def at(self, progress):
        """Return the strength; see :meth:`Schedule.at`."""
        share = 0.5 - 0.5 * math.cos(math.pi * progress)
        return (1.0 - share) * self.start + share * self.end


class Steps(Schedule):
    """Several strengths, each for an equal part of the training.

    Parameters
    ----------
    values : sequence of float
        At least one.
    """

    def __init__(self, values):
        self.values = values

    def at(self, progress):
        """Return the strength; see :meth:`Schedule.at`."""
        if len(self.values) == 0:
            raise ValueError("values of Steps must hold at least one strength, got none.")
        place = int(progress * len(self.values))
        return self.values[min(place, len(self.values) - 1)]


def strength_at(strength, progress):
    """Return a strength that is a number or a schedule.

    Parameters
    ----------
    strength : float or Schedule
        From the user.
    progress : float
        In [0, 1].

    Returns
    -------
    float
        At that moment.
    """
    return strength.at(progress) if isinstance(strength, Schedule) else strength


def check_strength(name, strength, low, high=math.inf, *, open_low=False, integer=False):
    """Refuse a strength that leaves its range at some time.

    Parameters
    ----------
    name : str
        Of the parameter.
    strength : float or Schedule
        From the user.
    low, high : float
        Range.
    open_low : bool, default=False
        Whether `low` itself is refused.
    integer : bool, default=False
        Whether the number must be whole; schedules are then refused.

    Raises
    ------
    ValueError
        Saying the range and the value.
    """
    kind = Integral if integer else Real
    times = [step / 100 for step in range(101)] if isinstance(strength, Schedule) else [0.0]
    for progress in times:
        value = strength if integer else strength_at(strength, progress)
        good = isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)
        if not good or not low <= value <= high or (open_low and value == low):
            end = "inf)" if math.isinf(high) else f"{high:g}]"
            what = "an integer" if integer else "a number, or a schedule of numbers,"
            raise ValueError(
                f"{name} must be {what} in {'(' if open_low else '['}{low:g}, {end}, got "
                f"{strength!r}."
            )
