"""CPU time of our bootstrap intervals against sacreBLEU's own paired bootstrap, on the same rows.

    python benchmarks/bootstrap.py [--entries 1000] [--replicates 1000] [--repeats 3]

Prints the times and their ratio. Both sides start from texts and do chrF++, BLEU and TER with the
same number of replicates; ours adds chrF, exact match, lengths and the intervals of five tiers.
sacreBLEU's test needs two systems, so half of its time is compared. Only the ratio means
something on another machine.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from pytest_mtarena.protocols import MetricInput
from pytest_mtarena.referee.metrics.builtin import make_builtin
from pytest_mtarena.referee.stats.bootstrap import SEED, intervals

TIERS = 5


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """Return pairs (output, reference) of 4 to 24 invented words, about a third of them wrong."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("aeiouklmnprst", k=rng.randint(2, 9))) for _ in range(4000)]
    pairs = []
    for _ in range(count):
        reference = rng.choices(words, k=rng.randint(4, 24))
        output = [word if rng.random() < 0.65 else rng.choice(words) for word in reference]
        pairs.append((" ".join(output), " ".join(reference) + "."))
    return pairs


def ours(pairs: list[tuple[str, str]], replicates: int) -> None:
    """Score the pairs, with intervals for the run and for each tier."""
    metrics = make_builtin("13a", asian=False)
    inputs = [
        MetricInput.model_construct(
            id="", source="", output=output, references=(reference,), fields={}
        )
        for output, reference in pairs
    ]
    statistics = {name: metric.statistics(inputs) for name, metric in metrics.items()}
    intervals(list(metrics.values()), statistics, replicates=replicates)
    tiered = [metrics["chrf_plus_plus"], metrics["exact_match_rate"]]
    for tier in range(1, TIERS + 1):
        part = {metric.id: statistics[metric.id][tier - 1 :: TIERS] for metric in tiered}
        intervals(tiered, part, replicates=replicates, seed=SEED + tier)


def theirs(pairs: list[tuple[str, str]], replicates: int) -> None:
    """Let sacreBLEU do its paired bootstrap of two systems."""
    outputs, references = ([pair[side] for pair in pairs] for side in (0, 1))
    metrics = {"chrF2++": CHRF(word_order=2), "BLEU": BLEU(), "TER": TER()}
    systems = [("A", outputs), ("B", outputs)]
    PairedTest(systems, metrics, [references], test_type="bs", n_samples=replicates)()


def cpu(work: Callable[[], None], repeats: int) -> float:
    """Return the shortest CPU time in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1000, help="entries of the run")
    parser.add_argument("--replicates", type=int, default=1000, help="bootstrap replicates")
    parser.add_argument("--repeats", type=int, default=3, help="runs; the best counts")
    options = parser.parse_args()
    pairs = sentences(options.entries, seed=1)
    mine = cpu(lambda: ours(pairs, options.replicates), options.repeats)
    other = cpu(lambda: theirs(pairs, options.replicates), options.repeats) / 2
    print(f"{options.entries} entries, {options.replicates} replicates, CPU seconds")
    print(f"ours (9 metrics, {TIERS} tiers)             {mine:8.2f}")
    print(f"sacreBLEU (3 metrics), a system    {other:8.2f}   {other / mine:.1f} times ours")


if __name__ == "__main__":
    main()
