"""How often the tests find a difference between two systems that are equally good.

    python benchmarks/null_pairs.py [--pairs 500] [--entries 300] [--resamples 1000]

Makes pairs of noisy systems of equal quality: each entry has a difficulty that both share, and
each system spoils words at random. Prints the share of pairs with p < 0.05, which should be 5 %:
between 3 and 7 % for the tests that decide (exit code 1 if not). For comparison only: sacreBLEU's
bootstrap p-value; verdicts, which also need the interval to leave out 0; and McNemar's test with
few entries, which is exact and so below 5 % (its p-values have steps). Where it is judged, right
and wrong are tossed for four times as many entries, without texts.
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np

from pytest_mtarena.protocols import MetricInput, Statistics
from pytest_mtarena.referee.metrics.builtin import make_builtin
from pytest_mtarena.referee.stats import paired

ALPHA = 0.05
ALLOWED = (0.03, 0.07)
JUDGED = ("randomization", "bootstrap, two-sided", "McNemar")


def pair(rng: random.Random, words: list[str], count: int) -> tuple[list[MetricInput], ...]:
    """Return the outputs of two systems of equal quality."""
    systems: tuple[list[MetricInput], list[MetricInput]] = ([], [])
    for _ in range(count):
        reference = rng.choices(words, k=rng.randint(2, 12))
        # From entries that are nearly always right to entries that are nearly always wrong.
        right = 1 - rng.random() ** 2 * 0.5
        for outputs in systems:
            text = " ".join(
                word if rng.random() < right else rng.choice(words) for word in reference
            )
            outputs.append(
                MetricInput.model_construct(
                    id="", source="", output=text, references=(" ".join(reference),), fields={}
                )
            )
    return systems


def null_pairs(pairs: int, entries: int, resamples: int) -> dict[str, float]:
    """Return for each test the share of null pairs that it calls different."""
    rng, tosses = random.Random(7), np.random.default_rng(7)
    words = ["".join(rng.choices("aeiouklmnprst", k=rng.randint(2, 9))) for _ in range(2000)]
    metrics = make_builtin("13a", asian=False)
    chrf, exact = metrics["chrf_plus_plus"], metrics["exact_match_rate"]
    found: dict[str, list[bool]] = {}

    def note(name: str, rejected: bool) -> None:
        found.setdefault(name, []).append(rejected)

    for number in range(pairs):
        first, second = pair(rng, words, entries)
        a, b = chrf.statistics(first), chrf.statistics(second)
        swapped = paired.compare(chrf, a, b, resamples=resamples, replicates=resamples, seed=number)
        drawn = paired.bootstrap(a, b, chrf.score, resamples=resamples, seed=number)
        right: list[Statistics] = [exact.statistics(first), exact.statistics(second)]
        note("randomization", (swapped.p_value or 0) < ALPHA)
        note("bootstrap, two-sided", drawn.p_two_sided < ALPHA)
        chance = tosses.random(4 * entries)
        tossed = tosses.random((2, 4 * entries)) < chance
        note("McNemar", paired.mcnemar(tossed[0], tossed[1]) < ALPHA)
        few = paired.mcnemar(right[0][:, 0] == 1, right[1][:, 0] == 1)
        note("McNemar, few entries", few < ALPHA)
        note("bootstrap, sacreBLEU's rule", drawn.p_value < ALPHA)
        note("verdict", swapped.significant)
    return {name: float(np.mean(rejections)) for name, rejections in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--entries", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    began = time.process_time()
    shares = null_pairs(options.pairs, options.entries, options.resamples)
    print(f"{options.pairs} null pairs of {options.entries} entries: share with p < {ALPHA}")
    failed = False
    for name, share in shares.items():
        wrong = name in JUDGED and not ALLOWED[0] <= share <= ALLOWED[1]
        failed |= wrong
        print(f"{name:30}{100 * share:6.1f} %{'   not 3 to 7 %' if wrong else ''}")
    print(f"{time.process_time() - began:.0f} s CPU")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
