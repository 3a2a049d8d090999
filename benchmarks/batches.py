"""Wall time against the ideal ceil(n / batch / concurrency) x latency, with the peak in flight.

python benchmarks/batches.py [--n 1000 --batch 25 --concurrency 8 --latency 0.2]
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
from pathlib import Path

from measuring import INI, PYTEST, Measured, measure, write_method, write_suite

SLOW = """
import asyncio, json, os, time

class Method:
    async def translate(self, entries, config):
        began = time.time()
        await asyncio.sleep({latency})
        line = json.dumps([began, time.time(), len(entries)]) + "\\n"
        with open({log!r}, "a") as file:
            file.write(line)
        return [{{"id": e["id"], "predicted": e["source"]}} for e in entries]
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.2)
    chosen = parser.parse_args()
    calls = math.ceil(chosen.n / chosen.batch)
    ideal = math.ceil(calls / chosen.concurrency) * chosen.latency
    print(
        f"{chosen.n} entries, batches of {chosen.batch}, {chosen.concurrency} at once, "
        f"{chosen.latency} s a call: {calls} calls, ideal {ideal:.2f} s"
    )
    for title, how in {"in process": [], "-n 2": ["-n2"]}.items():
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            (directory / "tox.ini").write_text(INI)
            suite = write_suite(directory, chosen.n)
            log = directory / "calls.jsonl"
            method = write_method(directory, SLOW.format(latency=chosen.latency, log=str(log)))
            found = measure(
                [
                    *PYTEST,
                    suite.name,
                    f"--mt-method={method}",
                    f"--mt-batch-size={chosen.batch}",
                    f"--mt-concurrency={chosen.concurrency}",
                    "--mt-metrics=none",
                    *how,
                ],
                directory,
            )
            spans = [json.loads(line) for line in log.read_text().splitlines()]
        began, ended = min(s[0] for s in spans), max(s[1] for s in spans)
        sent = sum(span[2] for span in spans)
        print(
            f"{title:12} first call to last answer {ended - began:.2f} s = "
            f"{(ended - began) / ideal:.2f} x ideal; pytest says {_said(found):.2f} s = "
            f"{_said(found) / ideal:.2f} x; {len(spans)} calls, {sent} entries sent, "
            f"peak {_peak(spans)} in flight"
        )


def _peak(spans: list[list[float]]) -> int:
    events = sorted([(s[0], 1) for s in spans] + [(s[1], -1) for s in spans])
    peak = now = 0
    for _, change in events:
        now += change
        peak = max(peak, now)
    return peak


def _said(found: Measured) -> float:
    match = re.search(r"passed.* in ([0-9.]+)s", found.output)
    return float(match.group(1)) if match else math.nan


if __name__ == "__main__":
    main()
