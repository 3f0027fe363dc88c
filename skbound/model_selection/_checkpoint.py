"""Remember what is finished, so that a search that was cut short goes on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

__all__ = ["Checkpoint"]


@dataclass(frozen=True)
class Checkpoint:
    """A folder with one file per finished fit.

    The name of a file is a hash of all that the fit depends on: the candidate with its seeds, and
    the data. A file is written under another name and renamed when complete, so one that is there
    is whole.

    Parameters
    ----------
    folder : Path
        That of these data.
    """

    folder: Path

    @classmethod
    def of(cls, folder: str | os.PathLike[str], *data: Any) -> Checkpoint:
        """Open a folder for a search on some data.

        Parameters
        ----------
        folder : path-like
            Made if it is not there; may serve several searches and several data.
        *data : object
            Rows, labels, weights.

        Returns
        -------
        Checkpoint
            With a folder of its own inside.
        """
        path = Path(folder) / joblib.hash(data)
        path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    def run(self, fit: Callable[..., Any], candidate: Any, *arguments: Any) -> Any:
        """Return what a fit gave before, or fit and remember it.

        Parameters
        ----------
        fit : callable
            Takes the candidate and `arguments`.
        candidate : estimator
            Unfitted.
        *arguments : object
            The data.

        Returns
        -------
        object
            Failures are remembered like results.
        """
        path = self.path(fit, candidate)
        if path.exists():
            return joblib.load(path)
        result = fit(candidate, *arguments)
        unfinished = path.with_suffix(f".{os.getpid()}.unfinished")
        joblib.dump(result, unfinished)
        unfinished.replace(path)
        return result

    def path(self, fit: Callable[..., Any], candidate: Any) -> Path:
        """Return the file of a fit."""
        return self.folder / f"{fit.__name__}-{joblib.hash(_description(candidate))}.pkl"

    def finished(self, fit: Callable[..., Any]) -> set[Path]:
        """Return the files of all fits of a kind that were ever finished on these data."""
        return set(self.folder.glob(f"{fit.__name__}-*.pkl"))


def _description(value: Any) -> Any:
    """Return an estimator as names and parameters, at any depth."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = sorted(value.get_params(deep=False).items())
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        return kind, [(name, _description(param)) for name, param in params]
    if isinstance(value, list | tuple):
        return [_description(part) for part in value]
    return value
