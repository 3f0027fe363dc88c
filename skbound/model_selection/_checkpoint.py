"""Remember what is finished, so that a search that was cut short goes on where it stopped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import joblib
import numpy as np

from skbound.exceptions import SkboundWarning

__all__ = ["Checkpoint"]


@dataclass(frozen=True)
class Checkpoint:
    """A folder with two files per fit: one made when it starts, one with its result.

    Their name is a hash of all that the fit depends on: the candidate with its seeds, the data, and
    the versions of the packages that it is made with. A result is written under another name and
    renamed when complete, so one that is there is whole.

    Parameters
    ----------
    folder : Path
        That of these labels. The same rows may come in another shape or scale, and what was
        evaluated on them counts nevertheless.
    data : str
        Hash of rows, labels and weights.
    """

    folder: Path
    data: str

    @classmethod
    def of(cls, folder: str | os.PathLike[str], X: Any, y: Any, weights: Any) -> Checkpoint:
        """Open a folder for a search on some data.

        Parameters
        ----------
        folder : path-like
            Made if it is not there; may serve several searches and several data.
        X, y : array-like
            Rows and labels.
        weights : ndarray or None
            Of the rows.

        Returns
        -------
        Checkpoint
            With a folder of its own inside.

        Raises
        ------
        ValueError
            If nothing can be written there, or the data cannot be told from others.
        """
        _, codes = np.unique(y, return_inverse=True)
        try:
            data = joblib.hash((X, y, weights), coerce_mmap=True)
        except Exception as error:
            raise ValueError(
                f"checkpoint= names fits by a hash of the data, which must be possible to pickle, "
                f"but that raised {type(error).__name__}: {error}. Leave checkpoint out, or give "
                f"an array or a DataFrame."
            ) from error
        # Absolute, in case the folder that the process works in changes.
        path = Path(folder).absolute() / joblib.hash(codes)
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / f"{uuid4().hex}.probe"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ValueError(
                f"checkpoint must name a folder that can be written to, got {os.fspath(folder)!r}: "
                f"{error}."
            ) from error
        return cls(path, data)

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
            A failure is not remembered: another time it may be none.
        """
        path = self.path(fit, candidate)
        if path.exists():
            with suppress(_Damaged):
                return _load(path)
        # Before anything is evaluated: even if its result is lost, it counts.
        path.with_suffix(".started").touch()
        result = fit(candidate, *arguments)
        if getattr(result, "failure", None) is None:
            _keep(result, path)
        return result

    def path(self, fit: Callable[..., Any], candidate: Any) -> Path:
        """Return the file of a fit.

        Raises
        ------
        ValueError
            If the candidate cannot be told from others.
        """
        versions = [version(package) for package in ("skbound", "scikit-learn", "torch")]
        try:
            name = joblib.hash((_description(candidate), self.data, versions))
        except Exception as error:
            raise ValueError(
                f"checkpoint= names fits by a hash of the candidate's parameters, which must be "
                f"possible to pickle, but that raised {type(error).__name__}: {error}. Define "
                f"functions and classes in a module, or leave checkpoint out."
            ) from error
        return self.folder / f"{fit.__name__}-{name}.pkl"

    def started(self, fit: Callable[..., Any]) -> set[Path]:
        """Return the files of all fits of a kind that were ever begun on rows of these labels."""
        return {path.with_suffix(".pkl") for path in self.folder.glob(f"{fit.__name__}-*.started")}


class _Damaged(Exception):
    pass


def _load(path: Path) -> Any:
    try:
        return joblib.load(path)
    except Exception as error:  # whatever unpickling raises on bytes that are not its own
        warnings.warn(
            f"{path} is damaged ({type(error).__name__}: {error}); its fit is done again.",
            SkboundWarning,
            stacklevel=2,
        )
        raise _Damaged from error


def _keep(result: Any, path: Path) -> None:
    """Write a result; if that fails, the search goes on with what it holds in memory."""
    unfinished = path.with_suffix(f".{uuid4().hex}.unfinished")
    try:
        joblib.dump(result, unfinished)
        unfinished.replace(path)
    except Exception as error:  # a full disk, or a fitted object that pickle refuses
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        warnings.warn(
            f"A finished fit could not be kept in {path.parent} ({type(error).__name__}: {error}). "
            f"The search goes on; if it is cut short, this fit has to be done again.",
            SkboundWarning,
            stacklevel=2,
        )


def _description(value: Any) -> Any:
    """Return an estimator as names and parameters, at any depth."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = sorted(value.get_params(deep=False).items())
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        # A fitted part, such as one to start from, is more than its parameters.
        learnt = {name: part for name, part in vars(value).items() if name.endswith("_")}
        return kind, learnt, [(name, _description(param)) for name, param in params]
    if isinstance(value, list | tuple):
        return [_description(part) for part in value]
    return value
