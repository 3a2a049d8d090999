"""What an item costs: the plugin against bare pytest, in one run.

python benchmarks/items.py [--n 10000]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from measuring import COPY, INI, PYTEST, Measured, measure, write_method, write_suite

FUNCTIONS = """
import pytest

@pytest.mark.parametrize("n", range({n}))
def test_nothing(n):
    pass
"""

BARE = """
import json
import pytest

class Item(pytest.Item):
    def runtest(self):
        pass
    def reportinfo(self):
        return self.path, 0, self.name

class Suite(pytest.File):
    def collect(self):
        with self.path.open() as file:
            for line in file:
                yield Item.from_parent(self, name=json.loads(line)["id"])

def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".jsonl":
        return Suite.from_parent(parent, path=file_path)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    n = parser.parse_args().n
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "tox.ini").write_text(INI)
        (directory / "test_functions.py").write_text(FUNCTIONS.format(n=n))
        (directory / "bare").mkdir()
        (directory / "bare" / "tox.ini").write_text(INI)
        (directory / "bare" / "conftest.py").write_text(BARE)
        write_suite(directory / "bare", n)
        write_suite(directory, 1, "one.jsonl")
        suite = write_suite(directory, n)
        method = write_method(directory, COPY)
        ours = [*PYTEST, suite.name, f"--mt-method={method}"]
        asked = measure(["-m", "pytest", "--help"], directory)
        unasked = measure(["-m", "pytest", "--help", "-p", "no:mtarena"], directory)
        start = measure([*PYTEST, "one.jsonl", f"--mt-method={method}"], directory)
        functions = measure([*PYTEST, "test_functions.py"], directory)
        bare = measure([*PYTEST, "suite.jsonl"], directory / "bare")
        off = measure([*ours, "--mt-metrics=none"], directory)
        chrf = measure([*ours, "--mt-metrics=chrf_plus_plus", "--mt-no-ci"], directory)
        every = measure(ours, directory)
    print(f"{n} items                      CPU s   wall s  items/s  RSS MB  us/item over bare")
    rows = {
        "parametrised functions": functions,
        "bare custom items": bare,
        "mtarena, metrics off": off,
        "mtarena, chrF++": chrf,
        "mtarena, all metrics": every,
    }
    for title, found in rows.items():
        over = (found.cpu - bare.cpu) / n * 1e6
        print(
            f"{title:24} {found.cpu:11.2f} {found.wall:8.2f} {n / found.wall:8.0f} "
            f"{found.rss:7.0f} {over:10.0f}"
        )
    print(f"pytest --help: {asked.cpu:.2f} s CPU, without the plugin {unasked.cpu:.2f} s")
    print(f"one item, the plugin's start-up: {start.cpu:.2f} s CPU")
    print(f"items/s against parametrised functions: {_ratio(functions, off):.2f} x")


def _ratio(other: Measured, ours: Measured) -> float:
    return other.wall / ours.wall


if __name__ == "__main__":
    main()
