"""What the metrics cost: CPU per entry and metric, growth, chrF++ against sacreBLEU.

    python benchmarks/metrics.py [--entries 10000] [--segments 100000] [--fst FILE]

The entries are those of the demo suite (English to Portuguese), varied; outputs are references
with a third of the words replaced. ``x2`` is the CPU time for all entries over that for half of
them: 2 is linear. ``--fst`` adds the metrics of an analyser. The second part scores segments with
our chrF++ and with sacreBLEU's, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import measure

from pytest_mtarena.languages.table import find_language
from pytest_mtarena.protocols import Calibrating, Metric, MetricInput, Whole
from pytest_mtarena.records import Resources
from pytest_mtarena.referee.inputs import MAX_GOLD, spread
from pytest_mtarena.referee.judging import judge
from pytest_mtarena.referee.metrics.catalog import make_catalog
from pytest_mtarena.referee.scripts import choose
from pytest_mtarena.referee.setting import Setting

SUITE = Path(__file__).parent.parent / "suites" / "translation" / "demo-eng-por.json"
BATCH = 25

SIDES = """
import json, sys, time
sys.path[:0] = {path!r}
from metrics import segments
pairs = segments({count})
start = time.process_time()
if {ours}:
    from pytest_mtarena.protocols import MetricInput
    from pytest_mtarena.referee.metrics.chrf import make_chrf
    metric, _ = make_chrf()
    sums = 0
    for begin in range(0, len(pairs), 250):
        inputs = [
            MetricInput.model_construct(id="", source="", output=output, references=(reference,))
            for output, reference in pairs[begin : begin + 250]
        ]
        sums = sums + metric.statistics(inputs).sum(axis=0)
    score = float(metric.score(sums[None])[0])
else:
    from sacrebleu.metrics import CHRF
    outputs, references = ([pair[side] for pair in pairs] for side in (0, 1))
    score = CHRF(word_order=2).corpus_score(outputs, [references]).score
print(json.dumps([time.process_time() - start, score]))
"""


def texts(suite: list[Any], count: int) -> Iterator[tuple[Any, str, str]]:
    """Yield varied entries of a suite: the entry, its reference, an output partly wrong."""
    rng = random.Random(7)
    first = [one.get("reference") or one["references"][0] for one in suite]
    pool = [word for text in first for word in text.split()]
    for place in range(count):
        reference = f"{first[place % len(suite)]} {place}"
        output = " ".join(
            word if rng.random() < 2 / 3 else rng.choice(pool) for word in reference.split()
        )
        yield suite[place % len(suite)], reference, output


def entries(count: int) -> list[MetricInput]:
    """Return entries as metrics see them."""
    languages = (find_language("eng"), find_language("por"))
    return [
        MetricInput(
            id=f"e{place}",
            source=f"{one['source']} {place}",
            output=output,
            raw_output=output,
            references=(reference,),
            fields=one,
            source_language=languages[0],
            target_language=languages[1],
        )
        for place, (one, reference, output) in enumerate(texts(read(), count))
    ]


def read() -> list[Any]:
    """Return the entries of the demo suite."""
    entries: list[Any] = json.loads(SUITE.read_text(encoding="utf-8"))["entries"]
    return entries


def segments(count: int) -> list[tuple[str, str]]:
    """Return pairs of output and reference."""
    return [(output, reference) for _, reference, output in texts(read(), count)]


def cost(metric: Metric, inputs: list[MetricInput]) -> float:
    """Return the CPU seconds of judging all entries, batch by batch, as a run does."""
    start = time.process_time()
    if isinstance(metric, Whole):
        metric.statistics_of_all(iter(inputs))
    else:
        for begin in range(0, len(inputs), BATCH):
            judge(metric, inputs[begin : begin + BATCH])
    return time.process_time() - start


def table(count: int, fst: Path | None) -> None:
    """Print what each metric costs."""
    inputs = entries(count)
    setting = Setting(find_language("eng"), find_language("por"), resources=Resources(fst=fst))
    gold = [
        one.model_copy(update={"output": one.references[0], "raw_output": one.references[0]})
        for one in spread(inputs, MAX_GOLD)
    ]
    print(f"{count} entries; CPU microseconds an entry; x2: growth from half of them")
    print(f"{'':28}{'judge':>8}{'x2':>7}{'calibrate':>11} ms in all")
    whole = 0.0
    for name, metric in make_catalog(choose("por", ()), setting).items():
        if missing := getattr(metric, "missing", None):
            print(f"{name:28}{'-':>8}  {missing[:60]}")
            continue
        start = time.process_time()
        calibrated = ""
        if isinstance(metric, Calibrating):
            metric, _ = metric.calibrate(gold)
            calibrated = f"{(time.process_time() - start) * 1e3:.0f}"
        half = cost(metric, inputs[: count // 2])
        full = cost(metric, inputs)
        whole += full
        print(f"{name:28}{full / count * 1e6:8.1f}{full / half:7.2f}{calibrated:>11}")
    print(f"{'all together':28}{whole / count * 1e6:8.1f}")


def duel(count: int) -> None:
    """Print our chrF++ of many segments beside sacreBLEU's."""
    found = {}
    for side, ours in (("ours", True), ("sacreBLEU", False)):
        code = SIDES.format(path=[str(Path(__file__).parent)], count=count, ours=ours)
        done = measure(["-c", code], Path.cwd())
        found[side] = (*json.loads(done.output.splitlines()[-1]), done.rss)
    for side, (seconds, score, rss) in found.items():
        print(f"chrF++ of {count} segments, {side}: {seconds:.2f} s, {rss:.0f} MB, {score:.10f}")
    mine, theirs = found["ours"], found["sacreBLEU"]
    print(
        f"CPU {mine[0] / theirs[0]:.2f} of sacreBLEU's, difference {abs(mine[1] - theirs[1]):.1e}"
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--fst", type=Path)
    chosen = parser.parse_args()
    table(chosen.entries, chosen.fst)
    duel(chosen.segments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
