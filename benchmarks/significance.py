"""What a comparison of two large systems costs, and that its p-values are sacreBLEU's.

    python benchmarks/significance.py [--entries 10000] [--resamples 1000] [--peer]

Two systems are compared by chrF++ with both tests. Prints CPU seconds with and without making
the statistics, and peak memory; exit code 1 when the tests take more than 0.5 s or the process
150 MB, or when a p-value is not that of sacreBLEU.

``--peer`` also installs mt-eval-harness 0.4.0 in a throw-away environment and times its functions
on the same rows, as a black box: the intervals of 1,000 rows (with a tenth of the replicates, and
ten times the time: each replicate costs the same), and approximate randomization of all rows, or
of the most that it can do in two minutes. Only ratios mean something on another machine.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEER = "mt-eval-harness==0.4.0"
CPU_LIMIT = 0.5
MEMORY_LIMIT = 150
INTERVAL_ROWS = 1000
PEER_REPLICATES = 100
PEER_SECONDS = 120.0
SEED = 12345

Rows = dict[str, list[str]]
"""``a`` and ``b``: the systems' outputs; ``reference``."""

PEER_SCRIPT = """
import json, sys, time
from mt_eval_harness import confidence, significance

def entries(rows, side, count):
    return [
        {"id": f"e{i:06}", "source": "-", "expected": expected, "predicted": predicted,
         "exact_match": predicted == expected, "error": None, "difficulty": 1}
        for i, (expected, predicted) in
        enumerate(zip(rows["reference"][:count], rows[side][:count]))
    ]

rows = json.load(open(sys.argv[1]))
count, replicates = int(sys.argv[3]), int(sys.argv[4])
a, b = entries(rows, "a", count), entries(rows, "b", count)
start = time.process_time()
if sys.argv[2] == "intervals":
    confidence.compute_all_cis(a, n_bootstrap=replicates)
else:
    significance.paired_approximate_randomization(
        a, b, significance.corpus_chrf, n_trials=replicates, n_bootstrap_ci=replicates
    )
print(json.dumps({"cpu": time.process_time() - start}))
"""


def make_rows(count: int) -> Rows:
    """Return two systems' outputs of 4 to 24 invented words, about a third of them wrong."""
    rng = random.Random(1)
    words = ["".join(rng.choices("aeiouklmnprst", k=rng.randint(2, 9))) for _ in range(4000)]
    rows: Rows = {"reference": [], "a": [], "b": []}
    for _ in range(count):
        reference = rng.choices(words, k=rng.randint(4, 24))
        rows["reference"].append(" ".join(reference) + ".")
        for side, right in (("a", 0.65), ("b", 0.653)):
            output = [word if rng.random() < right else rng.choice(words) for word in reference]
            rows[side].append(" ".join(output) + ".")
    return rows


def inputs(rows: Rows, side: str, count: int) -> list[Any]:
    """Return a system's first outputs as metrics see them."""
    from pytest_mtarena.protocols import MetricInput

    pairs = zip(rows[side][:count], rows["reference"][:count], strict=True)
    return [
        MetricInput.model_construct(id="", source="", output=text, references=(reference,))
        for text, reference in pairs
    ]


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def ours(rows: Rows, resamples: int) -> dict[str, float]:
    """Compare by both tests; the intervals of the first rows too."""
    from pytest_mtarena.referee.metrics.builtin import make_builtin
    from pytest_mtarena.referee.stats import bootstrap, paired

    metrics = make_builtin("13a", asian=False)
    chrf = metrics["chrf_plus_plus"]
    count = len(rows["a"])
    making, tables = cpu(
        lambda: [chrf.statistics(inputs(rows, side, count)) for side in ("a", "b")]
    )
    before = peak()
    testing, found = cpu(
        lambda: paired.compare(chrf, *tables, resamples=resamples, replicates=resamples, seed=SEED)
    )
    memory = peak()

    def intervals() -> None:
        chosen = [metrics[name] for name in ("chrf_plus_plus", "bleu", "exact_match_rate")]
        texts = inputs(rows, "a", INTERVAL_ROWS)
        tables = {metric.id: metric.statistics(texts) for metric in chosen}
        bootstrap.intervals(chosen, tables, replicates=resamples)

    return {
        "making": making,
        "testing": testing,
        "intervals": cpu(intervals)[0],
        "before": before,
        "memory": memory,
        "ar": found.p_value or 0.0,
        "bs": found.p_bootstrap or 0.0,
    }


def theirs(rows: Rows, resamples: int) -> dict[str, float]:
    """Let sacreBLEU do both tests."""
    from sacrebleu.metrics import CHRF
    from sacrebleu.significance import PairedTest

    found: dict[str, float] = {}
    systems = [("a", rows["a"]), ("b", rows["b"])]
    start = time.process_time()
    for kind in ("ar", "bs"):
        test = PairedTest(
            systems,
            {"chrF2++": CHRF(word_order=2)},
            [rows["reference"]],
            test_type=kind,
            n_samples=resamples,
        )
        found[kind] = test()[1]["chrF2++"][1].p_value
    return {**found, "cpu": time.process_time() - start, "memory": peak()}


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(part: str, entries: int, resamples: int) -> dict[str, float]:
    """Do one part in a process of its own."""
    run = subprocess.run(
        [
            sys.executable,
            __file__,
            f"--entries={entries}",
            f"--resamples={resamples}",
            "--part",
            part,
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def peer(rows: Rows, resamples: int) -> tuple[float, float, float, int]:
    """Return the peer's CPU seconds and the number of rows that it could test.

    Seconds for the intervals, for randomization from texts, and for its resampling alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "-q", PEER], check=True)
        path = Path(folder, "rows.json")
        path.write_text(json.dumps(rows), encoding="utf-8")

        def timed(what: str, count: int, replicates: int) -> float | None:
            arguments = [python, "-c", PEER_SCRIPT, path, what, str(count), str(replicates)]
            try:
                run = subprocess.run(
                    arguments, check=True, capture_output=True, text=True, timeout=PEER_SECONDS
                )
            except subprocess.TimeoutExpired:
                return None
            return float(json.loads(run.stdout.splitlines()[-1])["cpu"])

        share = resamples / PEER_REPLICATES
        intervals = (timed("intervals", INTERVAL_ROWS, PEER_REPLICATES) or PEER_SECONDS) * share
        count = len(rows["a"])
        while (seconds := timed("randomization", count, resamples)) is None:
            count //= 2
        # With ten trials there is hardly anything but the statistics.
        alone = seconds - (timed("randomization", count, 10) or 0.0)
        return intervals, seconds, alone, count


def report(entries: int, resamples: int, with_peer: bool) -> bool:
    """Measure and print; return whether all limits were kept."""
    mine, other = child("ours", entries, resamples), child("theirs", entries, resamples)
    print(f"chrF++, 2 systems, {entries} entries, {resamples} resamples; CPU seconds")
    print(f"statistics               {mine['making']:8.2f}")
    print(f"both tests, interval     {mine['testing']:8.2f}   limit {CPU_LIMIT}")
    print(
        f"peak memory              {mine['memory']:8.0f} MB, limit {MEMORY_LIMIT}; "
        f"{mine['before']:.0f} before the tests"
    )
    print(f"sacreBLEU, all           {other['cpu']:8.2f}, {other['memory']:.0f} MB")
    for kind, name in (("ar", "randomization"), ("bs", "bootstrap")):
        same = "equal" if mine[kind] == other[kind] else "NOT EQUAL"
        print(f"p, {name:22}{mine[kind]:.6f}   sacreBLEU {other[kind]:.6f}   {same}")
    if with_peer:
        rows = make_rows(entries)
        intervals, seconds, alone, count = peer(rows, resamples)
        scale = entries / count
        texts = mine["making"] + mine["testing"]
        print(f"{PEER}" + ("" if scale == 1 else f", randomization scaled from {count} rows"))
        for name, other_cpu, own_cpu in (
            (f"intervals, {INTERVAL_ROWS} rows", intervals, mine["intervals"]),
            ("randomization from texts", seconds * scale, texts),
            ("the same without statistics", alone * scale, mine["testing"]),
        ):
            print(
                f"{name:28}{other_cpu:8.1f}   ours {own_cpu:.2f}: {other_cpu / own_cpu:.0f} times"
            )
    return (
        mine["testing"] <= CPU_LIMIT
        and mine["memory"] <= MEMORY_LIMIT
        and all(mine[kind] == other[kind] for kind in ("ar", "bs"))
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--peer", action="store_true", help="install and time mt-eval-harness too")
    parser.add_argument("--part", choices=["ours", "theirs"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        part = ours if options.part == "ours" else theirs
        print(json.dumps(part(make_rows(options.entries), options.resamples)))
    else:
        raise SystemExit(not report(options.entries, options.resamples, options.peer))


if __name__ == "__main__":
    main()
