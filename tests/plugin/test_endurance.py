"""Long-lived things: one connection, a program kept open, death, interrupts, journals."""

from __future__ import annotations

import json
import os
import time

import pytest

from pytest_mtarena.results.verify import verify
from tests.plugin.conftest import GOOD

# -- event loops ----------------------------------------------------------------------------

ONE_CONNECTION = """
import asyncio
import aiohttp
from aiohttp import web

class Method:
    session = None
    busy = peak = answered = 0

    async def open(self):
        app = web.Application()
        app.router.add_post("/", self.serve)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        self.session = aiohttp.ClientSession()
        self.loop = asyncio.get_running_loop()

    async def serve(self, request):
        self.busy += 1
        self.peak = max(self.peak, self.busy)
        await asyncio.sleep(0.05)
        self.busy -= 1
        return web.Response(text=(await request.text()).upper())

    async def translate(self, entries, config):
        if self.session is None:
            self.opening = getattr(self, "opening", None) or asyncio.ensure_future(self.open())
            await self.opening
        assert self.loop is asyncio.get_running_loop()
        [entry] = entries
        url = f"http://127.0.0.1:{self.port}/"
        async with self.session.post(url, data=entry["source"].encode()) as reply:
            text = await reply.text()
        self.answered += 1
        if self.answered == config.entry_count:
            await self.session.close()
            await self.runner.cleanup()
        return [{"id": entry["id"], "predicted": text, "metadata": {"peak": self.peak}}]
"""
OWN = """
import asyncio
import pytest

LOOPS = []

@pytest.mark.asyncio
async def test_mine():
    await asyncio.sleep(0)
    LOOPS.append(asyncio.get_running_loop())

def test_loop_was_not_the_runs():
    assert len(LOOPS) == 1
"""


@pytest.mark.parametrize("scope", ["function", "session"])
@pytest.mark.parametrize("asyncio_mode", ["strict", "auto"])
def test_one_connection_serves_a_session_beside_the_users_async_tests(
    arena, corpus, method, pytester, asyncio_mode, scope
):
    directory = method(ONE_CONNECTION)
    pytester.makeini(
        f"[pytest]\nasyncio_mode = {asyncio_mode}\nasyncio_default_fixture_loop_scope = {scope}\n"
    )
    pytester.makepyfile(test_own=OWN)
    path = str(corpus(6))
    options = ("--mt-batch-size=1", "--mt-concurrency=2")
    result = arena(path, "test_own.py", f"--mt-method={directory}", *options)
    assert result.code == 0, result.text
    result.outcomes(passed=8)
    assert "Warning" not in result.text
    assert "never awaited" not in result.text
    assert [row["predicted"] for row in result.rows] == [f"WORD NUMBER {n}" for n in range(1, 7)]
    assert max(row["metadata"]["peak"] for row in result.rows) == 2


# -- a program that gets out of step --------------------------------------------------------

TOOL = """
import os, sys
with open(sys.argv[1], "a") as file:
    print(os.getpid(), file=file)
waiting = []
for line in sys.stdin:
    label, _, text = line.rstrip("\\n").rpartition("\\t")
    if not text.strip():
        continue
    waiting += [f"{label}\\t<{part}>" if label else f"<{part}>" for part in text.split("||")]
    if len(waiting) >= 4:
        print("\\n".join(waiting), flush=True)
        waiting = []
print("\\n".join(waiting), flush=True)
"""
LABELLED = """
import asyncio, sys

class Method:
    '''Labels each line with its id: the program's trouble stays with its entry.'''

    async def translate(self, entries, config):
        process = await asyncio.create_subprocess_exec(
            sys.executable, {tool!r}, {pids!r},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        lines = "".join(f"{{e['id']}}\\t{{e['source']}}\\n" for e in entries)
        out, _ = await process.communicate(lines.encode())
        pairs = [line.split("\\t") for line in out.decode().splitlines() if line]
        return [{{"id": label, "predicted": text}} for label, text in pairs]
"""
COUNTED = """
import asyncio, sys

class Method:
    '''Trusts the order, but only when there is one line for each entry.'''

    async def translate(self, entries, config):
        process = await asyncio.create_subprocess_exec(
            sys.executable, {tool!r}, {pids!r},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate("".join(e["source"] + "\\n" for e in entries).encode())
        lines = out.decode().splitlines()
        if len(lines) != len(entries):
            raise RuntimeError(f"{{len(lines)}} lines for {{len(entries)}} entries")
        return [{{"id": e["id"], "predicted": x}} for e, x in zip(entries, lines)]
"""
KEPT_OPEN = """
import asyncio, sys

class Method:
    '''Keeps the program open and reads a line for a line: it waits for ever.'''
    process = None

    async def translate(self, entries, config):
        if self.process is None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, {tool!r}, {pids!r},
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        try:
            results = []
            for entry in entries:
                self.process.stdin.write(entry["source"].encode() + b"\\n")
                line = await self.process.stdout.readline()
                results.append({{"id": entry["id"], "predicted": line.decode().rstrip("\\n")}})
            return results
        finally:
            self.process.kill()
            await self.process.wait()
            self.process = None
"""


def test_a_program_out_of_step_gives_nobody_anothers_text(arena, method, pytester):
    texts = {"t1": "one", "t2": " ", "t3": "two||three", "t4": "four", "t5": "five"}
    rows = [{"id": id, "src": text, "ref": f"<{text}>"} for id, text in texts.items()]
    (pytester.path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tool, pids = pytester.path / "tool.py", pytester.path / "pids.data"
    tool.write_text(TOOL)
    bodies = {"labelled": LABELLED, "counted": COUNTED, "open": KEPT_OPEN}
    methods = [
        f"--mt-method={method(body.format(tool=str(tool), pids=str(pids)), name)}"
        for name, body in bodies.items()
    ]
    began = time.monotonic()
    result = arena("s.jsonl", *methods, "--mt-batch-size=5", "--mt-timeout=3")
    assert time.monotonic() - began < 25
    assert result.code == 1, result.text
    seen = {}
    for card in result.cards:
        found = {row["entry_id"]: row for row in card["results"]}
        seen[card["model_slug"].partition("@")[0]] = found
        assert found["t2"]["status"] == "invalid"
        for id in ("t1", "t3", "t4", "t5"):
            right = found[id]["status"] == "ok" and found[id]["predicted"] == f"<{texts[id]}>"
            assert right or found[id]["status"] in ("error", "timeout"), found[id]
    statuses = {
        name: [found[id]["status"] for id in ("t1", "t3", "t4", "t5")]
        for name, found in seen.items()
    }
    assert statuses == {
        "method/labelled": ["ok", "error", "ok", "ok"],
        "method/counted": ["error"] * 4,
        "method/open": ["timeout"] * 4,
    }
    started = [int(line) for line in pids.read_text().split()]
    assert len(started) == 3
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# -- death and interruption -----------------------------------------------------------------


def test_an_entry_that_kills_its_worker_is_one_miss(arena, corpus, method, pytester):
    log = pytester.path / "calls.data"
    directory = method(
        f"""
import os
class Method:
    def translate(self, entries, config):
        [entry] = entries
        with open({str(log)!r}, "a") as file:
            print(entry["id"], file=file)
        if entry["id"] == "e3":
            os._exit(1)
        text = entry["source"].replace("word number", "palavra número")
        return [{{"id": entry["id"], "predicted": text}}]
"""
    )
    options = ("--mt-batch-size=1", "--mt-concurrency=2", "-n2")
    result = arena(str(corpus(6)), f"--mt-method={directory}", *options)
    assert result.code == 1, result.text
    assert [row["status"] for row in result.rows] == ["ok"] * 2 + ["crashed"] + ["ok"] * 3
    scores = result.card["scores"]
    assert (scores["evaluated"], scores["exact_matches"]) == (6, 5)
    assert scores["exact_match_rate"] == round(5 / 6, 4)
    assert log.read_text().split().count("e3") == 1


def test_what_was_paid_before_an_interrupt_is_kept(arena, corpus, method, pytester):
    directory = method(
        """
import os, signal, time
class Method:
    def translate(self, entries, config):
        number = int(entries[0]["id"][1:])
        if number == 4:
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGINT)
        if number >= 4:
            time.sleep(30)
        return [{"id": e["id"], "predicted": "x", "cost_usd": 0.25,
                 "usage": {"prompt_tokens": 10, "completion_tokens": 5}} for e in entries]
"""
    )
    began = time.monotonic()
    result = arena(str(corpus(6)), f"--mt-method={directory}", "--mt-batch-size=1")
    assert time.monotonic() - began < 20
    assert result.code == 2, result.text
    card = result.card
    assert card["interrupted"]
    assert not card["complete"]
    assert [row["entry_id"] for row in card["results"]] == ["e1", "e2", "e3"]
    assert [row["cost_usd"] for row in card["results"]] == [0.25] * 3
    assert [row["usage"]["prompt_tokens"] for row in card["results"]] == [10] * 3
    assert card["totals"]["prompt_tokens"] == 30
    assert card["scores"]["chrf_plus_plus"] is None


def test_a_journal_that_lacks_nothing_becomes_a_card_without_a_call(
    arena, corpus, method, pytester
):
    log = pytester.path / "calls.data"
    directory = method(
        f"""
class Method:
    def translate(self, entries, config):
        open({str(log)!r}, "a").close()
        return [{{"id": e["id"], "predicted": "x"}} for e in entries]
"""
    )
    arguments = (str(corpus(4)), f"--mt-method={directory}")
    keep = "import pathlib\npathlib.Path.unlink = lambda *a, **k: None\n"
    pytester.makeconftest(keep)
    [journal] = arena(*arguments).journals
    (pytester.path / "conftest.py").unlink()
    log.unlink()
    part = arena(*arguments, f"--mt-resume={journal}", "-k", "e1")
    assert part.code == 0, part.text
    assert part.journals == [journal], "it holds rows of entries that were not selected"
    whole = arena(*arguments, f"--mt-resume={journal}")
    assert whole.code == 0, whole.text
    assert whole.card["complete"]
    assert len(whole.rows) == 4
    assert not log.exists()
    assert whole.journals == []


@pytest.mark.parametrize(("name", "workers"), [("SIGINT", []), ("SIGTERM", ["-n2"])])
def test_an_interrupt_while_the_card_is_made_waits_for_the_card(
    arena, corpus, good, pytester, name, workers
):
    pytester.makeconftest(
        f"""
import os, signal

def mtarena_run_card(card):
    os.kill(os.getpid(), signal.{name})
"""
    )
    result = arena(str(corpus(3)), f"--mt-method={good}", *workers)
    assert result.code == 2, result.text
    assert result.card["complete"]
    assert "3 passed" in result.text
    assert "Traceback" not in result.text
    assert result.journals == []


def test_a_large_session_makes_the_same_card_from_rows_on_disk(arena, corpus, method, pytester):
    changed = GOOD.replace(
        'e["source"].replace("word number", "palavra número")',
        '{"e3": e["source"], "e5": "sim 😀 sim sim sim sim sim sim"}.get('
        'e["id"], e["source"].replace("word number", "palavra número"))',
    )
    arguments = (str(corpus(30)), f"--mt-method={method(changed)}", "--mt-batch-size=7")
    small = arena(*arguments).card
    pytester.makeconftest(
        "import pytest_mtarena.plugin.controller as controller, pytest_mtarena.run.rows as rows\n"
        "import pytest_mtarena\n"
        "controller.MANY = rows.MANY = 5\n"
        "@pytest_mtarena.hookimpl\n"
        "def mtarena_run_card(card):\n"
        "    card['extra']['last'] = card['results'][-1]['evidence'] if "
        "'evidence' in card['results'][-1] else len(card['results'][2]['evidence'])\n"
    )
    large = arena(*arguments, "--mt-batch-size=7").card
    assert large["extra"]["last"]
    assert verify(large) == []
    for row in (*small["results"], *large["results"]):
        for key in ("latency_seconds", "request_seconds"):
            row.pop(key)
    assert large["results"] == small["results"]
    for key in ("signatures", "metric_availability", "detector_calibration", "caveats"):
        assert large[key] == small[key], key
    speed = ("latency", "per_minute", "per_second")
    kept = [k for k in small["scores"] if not any(word in k for word in speed)]
    assert {k: large["scores"][k] for k in kept} == {k: small["scores"][k] for k in kept}
