"""Sudden death at random moments: is the resumed run the run that nobody disturbed?

python benchmarks/chaos.py [--repeats 20] [--seed 1]

Each repeat starts a real session on a suite of 60 entries and, at a random moment, kills one
worker, kills everything, or sends SIGINT or SIGTERM. Every whole line that the journal then holds
must be a right row. A run that did not complete is resumed; the final card must equal the card of
an undisturbed run, but for what tells runs apart and how long they took. Exits 1 on a difference.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from measuring import INI, PYTEST, write_method, write_suite

ENTRIES = 60
BATCH = 5
METHOD = """
import asyncio, zlib

class Method:
    async def translate(self, entries, config):
        await asyncio.sleep(0.2)
        return [{"id": e["id"], "predicted": answer(e["source"])} for e in entries]

def answer(source):
    words = source.split()
    keep = 1 + zlib.crc32(source.encode()) % len(words)
    return " ".join(words[:1] + words[:0:-1][:keep])
"""
OF_THE_RUN = {
    "run_id",
    "timestamp",
    "elapsed_seconds",
    "run_card_hash",
    "run_card_digest",
    "notes",
    "peak_in_flight",
    "workers",
}
"""Keys that tell runs apart."""
OF_THE_CALL = {"latency_seconds", "request", "request_seconds"}
"""Keys of a row that say in which request its entry travelled, and how long that took."""
TIMES = ("latency_seconds", "per_minute")
"""What the keys of measured times in the scores end with."""

FAULTS = ("kill a worker", "kill everything", "SIGINT", "SIGTERM")


@dataclass(frozen=True)
class Moment:
    """When to harm: once the journal holds so many rows, and so many seconds later."""

    rows: int
    """0 means from the start of the session."""
    seconds: float


class Difference(Exception):
    """Something is not as in the undisturbed run; the text says what."""


def start(directory: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start a session in a process group of its own."""
    options = (f"--mt-batch-size={BATCH}", "--mt-concurrency=2", "--mt-method=method")
    with (directory / "output.txt").open("ab") as output:
        return subprocess.Popen(
            [
                sys.executable,
                *PYTEST,
                "-W",
                "error",
                "-W",
                "ignore::pytest_mtarena.ArenaWarning",
                "suite.jsonl",
                *options,
                *more,
            ],
            cwd=directory,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def finish(process: subprocess.Popen[bytes]) -> int:
    """Wait for a session; none of its processes may outlive it."""
    try:
        code = process.wait(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise Difference("the session does not end") from None
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return code
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    raise Difference("processes are left behind")


def harm(process: subprocess.Popen[bytes], fault: str, chance: random.Random) -> bool:
    """Do one harm; False when there was nothing left, or nothing yet, to harm."""
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        if fault == "kill a worker":
            # execnet starts a worker as `python -c`; other children are passing (git).
            children = psutil.Process(process.pid).children()
            workers = [c.pid for c in children if "-c" in c.cmdline()]
            if not workers or process.poll() is not None:
                return False
            os.kill(chance.choice(workers), signal.SIGKILL)
        elif process.poll() is not None:
            return False
        elif fault == "kill everything":
            os.killpg(process.pid, signal.SIGKILL)
        elif fault == "SIGINT" and chance.random() < 0.5:  # a terminal sends it to the group
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(getattr(signal, fault))
        return True
    return False


def logs(directory: Path, ending: str) -> list[Path]:
    """Return the cards or journals of a directory."""
    return sorted((directory / "eval/logs/harness").glob(f"*{ending}"))


def cards(directory: Path) -> list[dict[str, Any]]:
    """Return all cards of a directory."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in logs(directory, ".json")]


def check_journal(path: Path, right: dict[str, Any]) -> int:
    """Check each whole line against the undisturbed rows; return how many entries have a row."""
    lines = path.read_bytes().split(b"\n")
    rows = right["results"]
    held = set()
    for number, line in enumerate(lines[1:-1], start=2):
        try:
            payload = json.loads(line)
            row = payload["row"]
            index = payload["index"]
        except (ValueError, KeyError, TypeError) as error:
            raise Difference(f"journal, line {number} is no row: {error}") from error
        wrong = next(differences(row, rows[index], "row", OF_THE_CALL), None)
        if row["status"] == "ok" and wrong:
            raise Difference(f"journal, line {number}, {row['entry_id']}: {wrong}")
        held.add(index)
    return len(held)


def differences(ours: Any, right: Any, where: str, skipped: set[str]) -> Iterator[str]:
    """Yield each place where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(right, dict):
        for key in sorted(ours.keys() | right.keys()):
            if key in skipped or key.endswith(TIMES):
                continue
            if key not in ours or key not in right:
                yield f"{where}.{key} is {'missing' if key in right else 'too much'}"
            else:
                yield from differences(ours[key], right[key], f"{where}.{key}", skipped)
    elif isinstance(ours, list) and isinstance(right, list):
        if len(ours) != len(right):
            yield f"{where} has {len(ours)} elements, not {len(right)}"
        for index, pair in enumerate(zip(ours, right, strict=False)):
            yield from differences(*pair, f"{where}[{index}]", skipped)
    elif ours != right:
        yield f"{where} is {ours!r}, not {right!r}"


def furnish(directory: Path) -> None:
    """Write suite, method and ini file."""
    (directory / "pytest.ini").write_text(INI, encoding="utf-8")
    write_suite(directory, ENTRIES)
    write_method(directory, METHOD).joinpath("method.json").write_text(
        '{"name": "steady", "entry_point": "module:Method"}', encoding="utf-8"
    )


def wait_for_rows(directory: Path, process: subprocess.Popen[bytes], count: int) -> None:
    """Wait until the journal holds so many rows, or the session has ended."""
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            journals = logs(directory, ".journal.jsonl")
            if journals and journals[0].read_bytes().count(b"\n") > count:
                return
        time.sleep(0.01)


@dataclass(frozen=True)
class Course:
    """When things happen in a run that nobody disturbs, in seconds from its start."""

    first_row: float
    last_row: float
    end: float


def draw(course: Course, fault: str, chance: random.Random) -> Moment:
    """Return a random moment; counted in rows where it can be, since the load of a machine varies.

    One in five lies anywhere, one in five after the last row, where the card is made.
    """
    phase = chance.random()
    if phase < 0.2:
        return Moment(0, chance.uniform(0, course.end))
    if phase < 0.4 and fault != "kill a worker":  # there is none any more
        return Moment(ENTRIES, chance.uniform(0, course.end - course.last_row))
    step = (course.last_row - course.first_row) / (ENTRIES / BATCH)
    return Moment(chance.randrange(1, ENTRIES - BATCH), chance.uniform(0, step))


def undisturbed(directory: Path, *workers: str) -> tuple[Course, dict[str, Any]]:
    """Run in peace; return the course of the run and its card."""
    directory.mkdir()
    furnish(directory)
    began = time.monotonic()
    process = start(directory, *workers)
    wait_for_rows(directory, process, 1)
    first = time.monotonic() - began
    wait_for_rows(directory, process, ENTRIES)
    last = time.monotonic() - began
    code = finish(process)
    course = Course(first, last, time.monotonic() - began)
    found = cards(directory)
    if code != 0 or len(found) != 1 or not found[0]["complete"]:
        raise SystemExit((directory / "output.txt").read_text(encoding="utf-8"))
    return course, found[0]


def disturb(
    directory: Path, fault: str, workers: list[str], moment: Moment, chance: random.Random
) -> tuple[str, dict[str, Any]]:
    """Run once with a harm at a moment; return what happened and the final card."""
    directory.mkdir()
    furnish(directory)
    right: dict[str, Any] = json.loads((directory.parent / "right.json").read_text("utf-8"))
    process = start(directory, *workers)
    began = time.monotonic()
    if moment.rows:
        wait_for_rows(directory, process, moment.rows)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=moment.seconds)
    done = harm(process, fault, chance)
    harmed = time.monotonic() - began
    code = finish(process)
    journals = logs(directory, ".journal.jsonl")
    held = check_journal(journals[0], right) if journals else 0
    complete = [card for card in cards(directory) if card["complete"]]
    if not done:
        fault = f"nothing to harm ({fault})"
    story = f"{fault} at {harmed:.2f} s: exit {code}"
    if not complete:
        if not done:
            raise Difference(f"undisturbed, but no complete card (exit {code})")
        if fault.startswith("SIG") and held and not cards(directory):
            raise Difference(f"{story}, {held} rows, but no card")
        # Without a journal nothing was finished: the run is simply started anew.
        resume = [f"--mt-resume={journals[0].relative_to(directory)}"] if journals else []
        code, done = finish(start(directory, *workers, *resume)), False
        complete = [card for card in cards(directory) if card["complete"]]
        story += f", {held} rows kept, " + ("resumed" if resume else "started anew")
    if len(complete) != 1:
        raise Difference(f"{story}; at the end {len(complete)} complete cards")
    # Harm after the card is written may still cost the exit code, and leave the journal.
    if not done and (code != 0 or logs(directory, ".journal.jsonl")):
        raise Difference(f"{story}; at the end exit {code}, or a journal beside a complete card")
    if "rows kept" not in story:  # an interrupt that cost nothing is still one
        complete[0]["interrupted"] = False
    return story, complete[0]


def main() -> None:
    """Run, harm, resume, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    began, failed, resumed = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        alone, right = undisturbed(root / "alone")
        distributed, again = undisturbed(root / "distributed", "-n2")
        for title, course in (("undisturbed", alone), ("with -n2", distributed)):
            print(
                f"{title}: first row after {course.first_row:.2f} s, "
                f"last {course.last_row:.2f} s, end {course.end:.2f} s"
            )
        if found := list(differences(again, right, "card", OF_THE_RUN | OF_THE_CALL)):
            raise SystemExit("the undisturbed runs differ:\n" + "\n".join(found))
        (root / "right.json").write_text(json.dumps(right), encoding="utf-8")
        for number in range(options.repeats):
            fault = FAULTS[number % len(FAULTS)]
            workers = ["-n2"] if fault == "kill a worker" or chance.random() < 0.5 else []
            course = distributed if workers else alone
            moment = draw(course, fault, chance)
            directory = root / f"repeat-{number}"
            try:
                story, card = disturb(directory, fault, workers, moment, chance)
                found = list(differences(card, right, "card", OF_THE_RUN | OF_THE_CALL))
            except Difference as difference:
                story, found = str(difference), [str(difference)]
            resumed += "resumed" in story
            failed += bool(found)
            verdict = "DIFFERENT" if found else "same"
            print(f"{number + 1:3} {' '.join(workers) or '   '} {story}: {verdict}", flush=True)
            if found:
                print("\n".join(f"      {line}" for line in found[:10]))
                print((directory / "output.txt").read_text(encoding="utf-8", errors="replace"))
    print(
        f"{options.repeats} repeats, {resumed} resumed, {failed} different "
        f"({time.monotonic() - began:.0f} s)"
    )
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
