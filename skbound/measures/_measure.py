"""Measure: a complexity number of a trained net. It is no bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from skbound.evidence import NetRecord

__all__ = ["ComplexityMeasure", "LogMeasure", "Measure"]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A complexity number that may rank nets. It bounds nothing.

    ``float(measure)`` is its value.

    Parameters
    ----------
    name : str
        Key of the measure, for example ``"spectral_product"``.
    value : float
        The larger, the worse the net should generalise; infinite where only `log_value` can be
        told, NaN where the net has no such number.
    log_value : float
        Its natural logarithm; minus infinity for 0, NaN for a negative value.
    depends_on : tuple of str
        What it is computed from: fields of :class:`~skbound.evidence.NetRecord`.
    source : str
        Authors, year, equation.
    why_no_bound : str
        Why it is no upper bound on the error, in one sentence.
    note : str, default=""
        Why the value is infinite or not a number, where that has a reason.
    """

    name: str
    value: float
    log_value: float
    depends_on: tuple[str, ...]
    source: str
    why_no_bound: str
    note: str = ""

    def __float__(self) -> float:
        return self.value


class ComplexityMeasure(ABC):
    """Base class: how to compute one :class:`Measure` from what is known about a net.

    A subclass sets `key`, `depends_on`, `source` and `why_no_bound` and defines either `value` or
    `log_value`.

    Examples
    --------
    >>> from skbound.measures import ComplexityMeasure
    >>> class DepthTimesWidth(ComplexityMeasure):
    ...     key = "depth_times_width"
    ...     source = "made up"
    ...     why_no_bound = "It knows nothing about the data."
    ...
    ...     def value(self, net):
    ...         return net.architecture.depth * net.architecture.width
    """

    # Of the class, or of the instance where they depend on its parameters.
    key: str
    depends_on: tuple[str, ...] = ()
    source: str
    why_no_bound: str

    @abstractmethod
    def value(self, net: NetRecord) -> float:
        """Return the number itself."""

    def log_value(self, net: NetRecord) -> float:
        """Return its natural logarithm; products that overflow define this and `LogMeasure`."""
        value = self.value(net)
        if value == 0.0:
            return -math.inf
        return math.log(value) if value > 0.0 else math.nan

    def note(self, net: NetRecord) -> str:
        """Return why the value is infinite or not a number; nothing where it needs no reason."""
        return ""

    def __call__(self, net: NetRecord) -> Measure:
        """Measure a net.

        Parameters
        ----------
        net : NetRecord
            What was collected.

        Returns
        -------
        Measure
            Value and logarithm.

        Raises
        ------
        MissingEvidenceError
            If something that it depends on was not collected.
        """
        net.need(*self.depends_on)
        return Measure(
            name=self.key,
            value=float(self.value(net)),
            log_value=float(self.log_value(net)),
            depends_on=self.depends_on,
            source=self.source,
            why_no_bound=self.why_no_bound,
            note=self.note(net),
        )


class LogMeasure(ComplexityMeasure):
    """Base class of measures that are products over layers and are summed as logarithms."""

    @abstractmethod
    def log_value(self, net: NetRecord) -> float:
        """Return the natural logarithm."""

    def value(self, net: NetRecord) -> float:
        """Return the number, infinite where it overflows."""
        try:
            return math.exp(self.log_value(net))
        except OverflowError:
            return math.inf
