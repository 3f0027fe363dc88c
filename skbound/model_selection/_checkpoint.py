"""Remember what is finished, so that a search that was cut short goes on where it stopped."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import PicklingError
from typing import Any

import joblib
from joblib.externals.loky.cloudpickle_wrapper import dumps as by_value

from skbound.exceptions import SkboundWarning
from skbound.model_selection._identity import identity, same_labels

__all__ = ["Checkpoint"]


@dataclass(frozen=True)
class Checkpoint:
    """A folder with one file per finished fit.

    The name of a file is a hash of all that the fit depends on: the candidate with its seeds, the
    data, and the versions of the software. A file is written under another name and renamed when
    complete; it begins with a hash of the rest, so one that was damaged later is no result.

    Parameters
    ----------
    folder : Path
        That of all data with the same labels in the same places, in whatever form: rows with other
        features or weights are still the same rows, and looking at them again is paid for.
    data : str
        What tells these data from others.
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
        X, y, weights : object
            Rows, labels, weights.

        Returns
        -------
        Checkpoint
            With a folder of its own inside.

        Raises
        ------
        OSError
            If nothing can be written there.
        """
        # Absolute, for workers that were started in another folder.
        path = Path(folder).expanduser().absolute() / same_labels(y)
        with _explained(folder):
            path.mkdir(parents=True, exist_ok=True)
            # Before the first fit, rather than after it.
            with tempfile.TemporaryFile(dir=path):
                pass
        return cls(path, identity(X, y, weights))

    def run(self, path: Path, fit: Callable[..., Any], candidate: Any, *arguments: Any) -> Any:
        """Return what a fit gave before, or fit and remember it.

        Parameters
        ----------
        path : Path
            From `path`, asked for before the candidate went to a worker.
        fit : callable
            Takes the candidate and `arguments`.
        candidate : estimator
            Unfitted.
        *arguments : object
            The data.

        Returns
        -------
        Outcome
            A failure is not remembered: it may be one of memory or of a disk, and pass.

        Raises
        ------
        OSError
            If it cannot be written. A result that is not remembered would not be counted either.
        """
        if path.exists():
            try:
                return _read(path)
            except Exception as error:  # What unpickling raises depends on what is in the file.
                warnings.warn(
                    f"{path} is damaged and not used; its candidate is fitted again. {error!r}",
                    SkboundWarning,
                    stacklevel=2,
                )
        result = fit(candidate, *arguments)
        if result.failure is None:
            with _explained(self.folder):
                _write(result, path)
        return result

    def path(self, fit: Callable[..., Any], candidate: Any) -> Path:
        """Return the file of a fit."""
        return self.folder / f"{fit.__name__}-{identity(self.data, candidate)}.pkl"

    def finished(self, fit: Callable[..., Any]) -> set[Path]:
        """Return the files of all fits of a kind that were ever finished on these rows."""
        return set(self.folder.glob(f"{fit.__name__}-*.pkl"))


@contextmanager
def _explained(folder: Any) -> Iterator[None]:
    """Say of a failing disk what it means for the search."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"checkpoint must be a folder that can be written to, but {str(folder)!r} failed with "
            f"{error.strerror or error}. Free space, or choose another folder; fits that are "
            f"finished are kept, and the same search goes on with them",
        ) from error


def _digest(content: Any) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _write(result: Any, path: Path) -> None:
    """Write a file that is whole as soon as it has its name."""
    content = io.BytesIO()
    try:
        joblib.dump(result, content)
    except PicklingError:
        # A worker does not find the classes of the program that was started.
        content = io.BytesIO(by_value(result))
    handle, unfinished = tempfile.mkstemp(".unfinished", path.stem, path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(_digest(content.getbuffer()))
            file.write(content.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        # What was written so far takes room that a full disk does not have.
        Path(unfinished).unlink(missing_ok=True)
        raise


def _read(path: Path) -> Any:
    """Read a file of `_write`."""
    content = path.read_bytes()
    size = len(_digest(b""))
    if _digest(content[size:]) != content[:size]:
        raise ValueError("Its content is not what was written.")
    return joblib.load(io.BytesIO(content[size:]))
