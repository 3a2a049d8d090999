"""The stream of indices that ``random.Random(seed).randint(0, n - 1)`` gives, without its cost.

``randint`` takes the top bits of one word of the Mersenne Twister and rejects what is too large.
numpy has the same generator, so that the same words can be drawn by the million.
"""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt


class Draws:
    """An endless stream of indices below ``n``."""

    def __init__(self, seed: int, n: int) -> None:
        if not 1 <= n < 1 << 32:
            raise ValueError(f"n must be from 1 to 2**32 - 1, not {n}")
        *key, position = random.Random(seed).getstate()[1]
        self._n = n
        self._bits = n.bit_length()
        self._words = np.random.MT19937()
        self._words.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(key, np.uint32), "pos": position},
        }
        self._left = np.zeros(0, np.int64)

    def take(self, count: int) -> npt.NDArray[np.int64]:
        """Return the next ``count`` indices of the stream."""
        parts, have = [self._left], len(self._left)
        while have < count:
            expected = (count - have) * (1 << self._bits) / self._n
            words = self._words.random_raw(int(expected * 1.01) + 64)
            words >>= np.uint64(32 - self._bits)
            accepted = words[words < self._n].astype(np.int64)
            parts.append(accepted)
            have += len(accepted)
        drawn = np.concatenate(parts)
        self._left = drawn[count:].copy()
        return drawn[:count]
