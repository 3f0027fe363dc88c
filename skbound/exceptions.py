"""Errors and the one warning category of skbound."""

__all__ = ["MissingEvidenceError", "SkboundError", "SkboundWarning"]


class SkboundError(Exception):
    """Base class of the errors that only skbound raises."""


class MissingEvidenceError(SkboundError, ValueError):
    """A bound or an estimate needs numbers that the fit did not leave behind.

    The message names what is missing and how to obtain it.
    """


class SkboundWarning(UserWarning):
    """A result is valid but says less than one might expect."""
