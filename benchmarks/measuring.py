"""Measuring child processes: CPU seconds, wall seconds, peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    """What one child cost."""

    cpu: float
    """Seconds, user and system, of the child and of the children it waited for."""
    wall: float
    """Seconds."""
    rss: float
    """Peak resident memory of the largest process, MB."""
    output: str


def measure(arguments: Sequence[str], directory: Path, **environment: str) -> Measured:
    """Run Python with these arguments; stop everything when it fails."""
    # As on a user's machine: modules are compiled once, not at every start.
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=directory,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**inherited, **environment},
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}\n{text}\nexit code {child.returncode}")
    return Measured(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, text)


PYTEST = (
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:randomly",
    "-p",
    "no:hypothesispytest",
)
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


def write_suite(directory: Path, count: int, name: str = "suite.jsonl") -> Path:
    """Write a suite of ``count`` entries of 16 words; references differ in a third of them."""
    path = directory / name
    text = "the river rose in a cold night and people of this old town carried lamps until morning"
    words = text.split()
    with path.open("w", encoding="utf-8") as file:
        for index in range(count):
            picked = [words[(index * 7 + k * (1 + index % 5)) % len(words)] for k in range(15)]
            changed = [
                w if k % 3 else words[(index + k) % len(words)] for k, w in enumerate(picked)
            ]
            source, reference = " ".join(picked), " ".join(changed)
            file.write(f'{{"id": "e{index}", "src": "{index} {source}", "ref": "{reference}"}}\n')
    return path


def write_method(directory: Path, body: str) -> Path:
    """Write a method directory ``method`` whose class ``Method`` has this body."""
    method = directory / "method"
    method.mkdir(exist_ok=True)
    manifest = '{"name": "bench", "entry_point": "module:Method"}'
    (method / "method.json").write_text(manifest, encoding="utf-8")
    (method / "module.py").write_text(body, encoding="utf-8")
    return method


COPY = """
class Method:
    async def translate(self, entries, config):
        return [{"id": e["id"], "predicted": e["source"]} for e in entries]
"""
