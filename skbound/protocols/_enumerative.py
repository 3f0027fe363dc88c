"""Enumerative code of a short string over a small alphabet: exact, with whole numbers only."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import comb, factorial

__all__ = ["bits_of", "read_bits", "read_symbols", "write_symbols"]


def write_symbols(symbols: Sequence[int], n_levels: int) -> str:
    """Write symbols as bits: first how often each occurs, then which arrangement it is.

    Parameters
    ----------
    symbols : sequence of int
        Each from 0 to ``n_levels - 1``.
    n_levels : int
        Size of the alphabet, at least 1.

    Returns
    -------
    str
        Zeros and ones. For a given length and alphabet no code is the start of another.

    Raises
    ------
    ValueError
        If a symbol is out of range.

    Notes
    -----
    Of ``d`` symbols there are ``C(d + L - 1, L - 1)`` tables of counts and, for given counts,
    ``d! / prod c_k!`` arrangements. The place of each in the lexicographic list takes the
    logarithm of that number, rounded up to whole bits [1]_.

    References
    ----------
    .. [1] T. M. Cover, "Enumerative source encoding", IEEE Transactions on Information Theory
       19, 1973.

    Examples
    --------
    >>> write_symbols([0, 2, 0, 1], n_levels=3)
    '10100100'
    >>> read_symbols("10100100", n_symbols=4, n_levels=3)
    ([0, 2, 0, 1], '')
    """
    if not all(0 <= symbol < n_levels for symbol in symbols):
        raise ValueError(f"symbols must lie between 0 and {n_levels - 1}, got {symbols!r}.")
    counts = [0] * n_levels
    for symbol in symbols:
        counts[symbol] += 1
    types = bits_of(_type_rank(counts), _n_types(len(symbols), n_levels))
    return types + bits_of(_arrangement_rank(symbols, counts), _n_arrangements(counts))


def read_symbols(bits: str, n_symbols: int, n_levels: int) -> tuple[list[int], str]:
    """Read back what `write_symbols` wrote.

    Parameters
    ----------
    bits : str
        Zeros and ones; more may follow.
    n_symbols, n_levels : int
        As they were written.

    Returns
    -------
    symbols : list of int
        The symbols.
    rest : str
        Bits that were not needed.

    Raises
    ------
    ValueError
        If no symbols are written like this.
    """
    rank, bits = read_bits(bits, _n_types(n_symbols, n_levels))
    counts = _type_of_rank(rank, n_symbols, n_levels)
    rank, bits = read_bits(bits, _n_arrangements(counts))
    return list(_arrangement_of_rank(rank, counts)), bits


def bits_of(rank: int, n_ranks: int) -> str:
    """Write a number below `n_ranks` with as few bits as do for all of them.

    Parameters
    ----------
    rank, n_ranks : int
        ``0 <= rank < n_ranks``.

    Returns
    -------
    str
        ``ceil(log2(n_ranks))`` zeros and ones, none for a single rank.
    """
    n_bits = (n_ranks - 1).bit_length()
    return format(rank, f"0{n_bits}b") if n_bits else ""


def read_bits(bits: str, n_ranks: int) -> tuple[int, str]:
    """Read back what `bits_of` wrote.

    Parameters
    ----------
    bits : str
        Zeros and ones; more may follow.
    n_ranks : int
        As it was written.

    Returns
    -------
    rank : int
        The number.
    rest : str
        Bits that were not needed.

    Raises
    ------
    ValueError
        If there are too few bits, or they stand for no such number.
    """
    n_bits = (n_ranks - 1).bit_length()
    if len(bits) < n_bits:
        raise ValueError(f"The code ends too early: {n_bits} bits expected, got {len(bits)}.")
    rank = int(bits[:n_bits], 2) if n_bits else 0
    if rank >= n_ranks:
        raise ValueError(f"The code must name one of {n_ranks} things, got number {rank}.")
    return rank, bits[n_bits:]


def _n_types(n_symbols: int, n_levels: int) -> int:
    """Count the ways to share `n_symbols` among `n_levels`."""
    return comb(n_symbols + n_levels - 1, n_levels - 1)


def _n_arrangements(counts: Sequence[int]) -> int:
    n = factorial(sum(counts))
    for count in counts:
        n //= factorial(count)
    return n


def _type_rank(counts: Sequence[int]) -> int:
    # Tables whose first count is smaller: all, less those with at least as much for the first.
    rank, left = 0, sum(counts)
    for place, count in enumerate(counts[:-1]):
        levels = len(counts) - place
        rank += _n_types(left, levels) - _n_types(left - count, levels)
        left -= count
    return rank


def _type_of_rank(rank: int, n_symbols: int, n_levels: int) -> list[int]:
    counts, left = [], n_symbols
    for levels in range(n_levels, 1, -1):
        # Where the tables begin whose first count is 0, 1, ...
        total = _n_types(left, levels)
        starts = [total - _n_types(left - count, levels) for count in range(left + 1)]
        counts.append(bisect_right(starts, rank) - 1)
        rank -= starts[counts[-1]]
        left -= counts[-1]
    return [*counts, left]


def _arrangement_rank(symbols: Sequence[int], counts: Sequence[int]) -> int:
    # Of all arrangements of what is left, a share of count / left begins with each symbol.
    counts, rank, total = list(counts), 0, _n_arrangements(counts)
    for place, symbol in enumerate(symbols):
        left = len(symbols) - place
        rank += total * sum(counts[:symbol]) // left
        total = total * counts[symbol] // left
        counts[symbol] -= 1
    return rank


def _arrangement_of_rank(rank: int, counts: Sequence[int]) -> Iterator[int]:
    counts, total = list(counts), _n_arrangements(counts)
    for left in range(sum(counts), 0, -1):
        starts = [0, *accumulate(counts)]
        symbol = bisect_right(starts, rank * left // total) - 1
        yield symbol
        rank -= total * starts[symbol] // left
        total = total * counts[symbol] // left
        counts[symbol] -= 1
