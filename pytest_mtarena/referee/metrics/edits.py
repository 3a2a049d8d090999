"""The number of edits of TER: insertions, deletions, substitutions, and shifts of phrases.

The same numbers as sacreBLEU's re-implementation of Tercom, with one difference in how they are
found: the many tentative shifts of a round are weighed together, as columns of one table, instead
of one after another in Python. A pair of 200 unrelated words takes 0.1 s instead of 8 s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.lib_ter import BeamEditDistance, trace_to_alignment

MAX_SHIFT_SIZE = 10
MAX_SHIFT_DISTANCE = 50
MAX_SHIFT_CANDIDATES = 1000
BEAM_WIDTH = 25

_FLIP = str.maketrans("id", "di")
_FAR = 1 << 29
_FEW = 4
"""Up to so many candidates are weighed one by one: a table would cost more."""

Shift = tuple[int, int, int]
"""Start in the hypothesis, length, and where it goes."""


def count_edits(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Return the edits that turn the hypothesis into the reference."""
    words, wanted = list(hypothesis), list(reference)
    if not wanted or not words:
        return len(words) + len(wanted)
    if words == wanted:
        return 0
    distance = BeamEditDistance(wanted)
    shifts = checked = 0
    while True:
        before, trace = distance(words)
        candidates, checked = _candidates(words, wanted, trace, checked)
        # Whatever the last round found does not count once the limit is reached.
        if checked >= MAX_SHIFT_CANDIDATES or not candidates:
            break
        costs = _costs(words, candidates, distance, wanted)
        gain, length, start, target = max(
            (before - cost, length, -start, -target)
            for (start, length, target), cost in zip(candidates, costs, strict=True)
        )
        if gain <= 0:
            break
        shifts += 1
        words = _shifted(words, (-start, length, -target))
    return shifts + int(distance(words)[0])


def _candidates(
    words: list[str], wanted: list[str], trace: str, checked: int
) -> tuple[list[Shift], int]:
    """Return the shifts worth trying, and how many were checked by now."""
    align, wanted_errors, word_errors = trace_to_alignment(trace.translate(_FLIP))
    wrong_wanted = [0, *accumulate(wanted_errors)]
    wrong = [0, *accumulate(word_errors)]
    found: dict[Shift, None] = {}
    for start, goal, length in _common_phrases(words, wanted):
        # Both places must be wrong, and the phrase must not move within itself.
        if wrong[start + length] == wrong[start]:
            continue
        if wrong_wanted[goal + length] == wrong_wanted[goal]:
            continue
        if start <= align[goal] < start + length:
            continue
        before = -1
        for offset in range(-1, length):
            position = goal + offset
            if position >= len(wanted):
                break
            target = 0 if position == -1 else align[position] + 1
            if target == before:
                continue
            before = target
            found[start, length, target] = None
            checked += 1
        if checked >= MAX_SHIFT_CANDIDATES:
            break
    return list(found), checked


def _common_phrases(words: list[str], wanted: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (start in words, start in wanted, length) of all equal phrases not too far apart."""
    places: dict[str, list[int]] = {}
    for position, word in enumerate(wanted):
        places.setdefault(word, []).append(position)
    for start, word in enumerate(words):
        for goal in places.get(word, ()):
            if goal < start - MAX_SHIFT_DISTANCE:
                continue
            if goal > start + MAX_SHIFT_DISTANCE:
                break
            longest = min(MAX_SHIFT_SIZE, len(words) - start, len(wanted) - goal)
            length = 0
            while length < longest and words[start + length] == wanted[goal + length]:
                length += 1
                yield start, goal, length


def _shifted(words: list[str], shift: Shift) -> list[str]:
    start, length, target = shift
    phrase, rest = words[start : start + length], words[:start] + words[start + length :]
    if target > start + length:
        target -= length
    elif target > start:
        # A place within the phrase is counted on in what follows it.
        target = min(target, len(rest))
    return rest[:target] + phrase + rest[target:]


def _costs(
    words: list[str], shifts: Sequence[Shift], distance: BeamEditDistance, wanted: list[str]
) -> list[int]:
    tried = [_shifted(words, shift) for shift in shifts]
    if len(tried) <= _FEW:
        return [int(distance(one)[0]) for one in tried]
    return [int(cost) for cost in _distances(tried, wanted)]


def _distances(tried: Sequence[list[str]], wanted: list[str]) -> npt.NDArray[np.int32]:
    """Return the beam edit distance of each hypothesis; all have the same length."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(wanted))}
    goal = np.array([-2, *(numbers[word] for word in wanted)], np.int32)
    table = np.array([[numbers.get(word, -1) for word in one] for one in tried], np.int32).T
    rows, columns = table.shape
    size = len(wanted)
    slope = size / rows
    beam = math.ceil(slope / 2 + BEAM_WIDTH) if slope / 2 > BEAM_WIDTH else BEAM_WIDTH
    # Row 0 of both buffers stands for the column left of the table and is never reached.
    last = np.full((size + 2, columns), _FAR, np.int32)
    last[1:] = np.arange(size + 1, dtype=np.int32)[:, None]
    this = np.full_like(last, _FAR)
    low_before = low_last = 0
    for row in range(1, rows + 1):
        diagonal = math.floor(row * slope)
        low = max(0, diagonal - beam)
        high = size + 1 if row == rows else min(size + 1, diagonal + beam)
        this[low_before + 1 : low + 1] = _FAR
        steps = np.arange(high - low, dtype=np.int32)[:, None]
        cost = last[low:high] + (goal[low:high, None] != table[row - 1])
        np.minimum(cost, last[low + 1 : high + 1] + 1, out=cost)
        cost -= steps
        np.minimum.accumulate(cost, axis=0, out=cost)
        cost += steps
        this[low + 1 : high + 1] = cost
        last, this = this, last
        low_before, low_last = low_last, low
        if row == 1:
            # The full row 0 must not be seen beyond the beam; later rows only move right.
            this[:] = _FAR
    costs: npt.NDArray[np.int32] = last[size + 1]
    return costs
