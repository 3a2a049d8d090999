"""Counts of the n-grams that two sequences share, for many pairs at once and exactly.

A pair is (hypothesis, reference), both sequences of small positive integers (characters or
words, numbered by the caller). All n-grams of a block of pairs are packed into 64-bit words

    pair | token 1 | token 2 | ... | token N | side

with 0 where the sequence has ended, and sorted once. In this order the n-grams of every length
up to N stand in runs with a common prefix, so that counting length n is one comparison of
neighbours. Nothing is hashed: two n-grams share a word only if they are equal. A block whose
numbers do not fit is halved; a single pair that does not fit is counted with dictionaries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

_BLOCK = 64
"""Pairs that are sorted together; more gains nothing and costs memory."""


def shared(pairs: Sequence[tuple[Numbers, Numbers]], order: int) -> Numbers:
    """Return the clipped matches of each pair and each length, shape (len(pairs), order).

    The numbers must be positive. Column n - 1 is the sum over all n-grams of the smaller of the
    two counts.
    """
    matches = np.zeros((len(pairs), order), np.int64)
    for start in range(0, len(pairs), _BLOCK):
        _count(pairs[start : start + _BLOCK], order, matches[start : start + _BLOCK])
    return matches


def shared_plain(
    hypothesis: Sequence[Hashable], references: Sequence[Sequence[Hashable]], order: int
) -> list[int]:
    """Return the clipped matches against the best of several references, for each length.

    The count of an n-gram is clipped at its highest count in any one reference.
    """
    found = []
    for n in range(1, order + 1):
        most: Counter[tuple[Hashable, ...]] = Counter()
        for reference in references:
            most |= _grams(reference, n)
        found.append((_grams(hypothesis, n) & most).total())
    return found


def _grams(tokens: Sequence[Hashable], n: int) -> Counter[tuple[Hashable, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def _count(pairs: Sequence[tuple[Numbers, Numbers]], order: int, out: Numbers) -> None:
    sequences = [sequence for pair in pairs for sequence in pair]
    sizes = np.fromiter(map(len, sequences), np.int64, len(sequences))
    if not sizes.any():
        return
    tokens, alphabet = _compact(np.concatenate(sequences))
    bits = alphabet.bit_length()
    pair_bits = (len(pairs) - 1).bit_length()
    if 1 + order * bits + pair_bits > 64:
        if len(pairs) == 1:
            hypothesis, reference = (sequence.tolist() for sequence in pairs[0])
            out[0] = shared_plain(hypothesis, [reference], order)
            return
        half = len(pairs) // 2
        _count(pairs[:half], order, out[:half])
        _count(pairs[half:], order, out[half:])
        return
    owner = np.repeat(np.arange(len(sequences)), sizes)
    words = _pack(tokens, owner, order, bits)
    words.sort()
    side = (words & np.uint64(1)).astype(np.int64)
    for n in range(1, order + 1):
        prefix = words >> np.uint64(1 + (order - n) * bits)
        if n > 1:
            full = (prefix & np.uint64((1 << bits) - 1)) != 0
            # Of a longer length only the places that have one are needed again.
            words, side, prefix = words[full], side[full], prefix[full]
        if not len(words):
            break
        starts = np.flatnonzero(np.concatenate(([True], prefix[1:] != prefix[:-1])))
        run = np.diff(np.append(starts, len(words)))
        references = np.add.reduceat(side, starts)
        least = np.minimum(references, run - references)
        pair = (prefix[starts] >> np.uint64(n * bits)).astype(np.int64)
        out[:, n - 1] = np.bincount(pair, least, len(pairs))


def _compact(tokens: Numbers) -> tuple[npt.NDArray[np.uint64], int]:
    """Number the tokens from 1 without gaps; return them and the highest number."""
    distinct = np.unique(tokens)
    return (np.searchsorted(distinct, tokens) + 1).astype(np.uint64), len(distinct)


def _pack(
    tokens: npt.NDArray[np.uint64], owner: Numbers, order: int, bits: int
) -> npt.NDArray[np.uint64]:
    """Return one word for each place: pair, the next ``order`` tokens of its sequence, side."""
    words = (owner >> 1).astype(np.uint64)
    for ahead in range(order):
        words <<= np.uint64(bits)
        if ahead == 0:
            words |= tokens
        elif ahead < len(tokens):
            same = owner[ahead:] == owner[:-ahead]
            words[:-ahead] |= np.where(same, tokens[ahead:], np.uint64(0))
    words <<= np.uint64(1)
    words |= (owner & 1).astype(np.uint64)
    return words
