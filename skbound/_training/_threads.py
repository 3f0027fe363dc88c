"""Pin torch's threads for the length of a fit or a prediction, and put them back."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["torch_threads"]

_lock = threading.Lock()
_n_bodies = 0
_n_threads_outside = 1
_forked = False
# Per thread, the counts that its own nested bodies go back to.
_here = threading.local()


def _remember_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_remember_fork)


@contextmanager
def torch_threads(n_threads: int | None) -> Iterator[None]:
    """Run the body with `n_threads` torch threads; None leaves them alone.

    The number of threads changes the last bits of a matrix product, so that an unpinned fit would
    depend on ``n_jobs``. torch keeps one count per thread but lets new threads inherit the last
    one set anywhere, so the count to go back to is the one seen before the first of several
    overlapping bodies, or the one of the enclosing body in the same thread.

    Parameters
    ----------
    n_threads : int or None
        Threads inside.

    Yields
    ------
    None
        While the count is pinned.

    Raises
    ------
    RuntimeError
        In a forked process with another count than 1: its threads would wait for ever.
    """
    global _n_bodies, _n_threads_outside
    if _forked and n_threads != 1:
        raise RuntimeError(
            f"n_threads must be 1 in a forked process, got {n_threads}: torch's threads do not "
            f"survive a fork. Use n_threads=1 or joblib's loky backend."
        )
    if n_threads is None:
        yield
        return
    enclosing = getattr(_here, "counts", [])
    with _lock:
        if _n_bodies == 0:
            _n_threads_outside = torch.get_num_threads()
        _n_bodies += 1
        torch.set_num_threads(n_threads)
    _here.counts = [*enclosing, n_threads]
    try:
        yield
    finally:
        _here.counts = enclosing
        with _lock:
            _n_bodies -= 1
            torch.set_num_threads(enclosing[-1] if enclosing else _n_threads_outside)
