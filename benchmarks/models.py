"""Models over a server on this machine: wall time against the ideal, calls against the minimum.

The ideal is ceil(n / batch / concurrency) x latency, since models run side by side. With faults, of
every 20 answers to a model 4 are a 429 and one is a reset connection, in an order by chance; every
entry has to end translated, and none is paid twice.

python benchmarks/models.py [--n 1000 --batch 25 --concurrency 8 --latency 0.2]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import re
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from measuring import INI, PYTEST, measure, write_suite

MODELS = ("model-a", "model-b")
FAULTS = ("429", "429", "429", "429", "reset")


@dataclass
class Server:
    """An OpenAI-compatible endpoint that answers numbered lines with themselves."""

    latency: float
    faults: tuple[str, ...] = ()
    """What goes wrong within 20 answers: ``429``, ``reset``."""
    spans: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    url: str = ""
    _decks: dict[str, list[str]] = field(default_factory=dict)

    def start(self) -> None:
        """Serve in a thread of its own."""
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True).start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        application = web.Application(client_max_size=2**24)
        application.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"{site.name}/v1"
        self._random = random.Random(7)
        ready.set()
        await asyncio.Event().wait()

    def _next(self, model: str) -> str:
        deck = self._decks.setdefault(model, [])
        if not deck:
            deck += [*self.faults, *[""] * (20 - len(self.faults))]
            self._random.shuffle(deck)
        return deck.pop()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        clock = asyncio.get_running_loop().time
        began = clock()
        fault = self._next(body["model"])
        if fault == "429":
            self.spans.setdefault(body["model"], []).append((began, clock()))
            return web.json_response(
                {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0.2"}
            )
        await asyncio.sleep(self.latency)
        self.spans.setdefault(body["model"], []).append((began, clock()))
        if fault == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        asked = body["messages"][-1]["content"]
        lines = re.findall(r"^\d+\. .*$", asked, re.MULTILINE)
        for line in lines:
            self.answered[body["model"], line.partition(" ")[2]] += 1
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        events = [
            {"choices": [{"index": 0, "delta": {"content": "\n".join(lines)}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 600}},
        ]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        await stream.write(f"{text}data: [DONE]\n\n".encode())
        await stream.write_eof()
        return stream


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
        f"{chosen.n} entries, {len(MODELS)} models at once, batches of {chosen.batch}, "
        f"{chosen.concurrency} calls at once each, {chosen.latency} s a call: {calls} calls a "
        f"model, ideal {ideal:.2f} s"
    )
    for title, faults in {"no faults": (), "20 % 429, 5 % resets": FAULTS}.items():
        server = Server(chosen.latency, faults)
        server.start()
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            (directory / "tox.ini").write_text(INI)
            suite = write_suite(directory, chosen.n)
            measure(
                [
                    *PYTEST,
                    suite.name,
                    f"--mt-model={','.join(MODELS)}",
                    "--mt-provider=openai",
                    "--mt-target-lang=por",
                    f"--mt-base-url={server.url}",
                    f"--mt-batch-size={chosen.batch}",
                    f"--mt-concurrency={chosen.concurrency}",
                    "--mt-metrics=none",
                ],
                directory,
            )
            cards = [
                json.loads(path.read_text(encoding="utf-8"))
                for path in directory.glob("eval/logs/harness/*.json")
            ]
        for card in cards:
            model = card["model_slug"].partition("/")[2]
            spans = server.spans[model]
            wall = max(end for _, end in spans) - min(began for began, _ in spans)
            twice = sum(
                count > 1 for (whose, _), count in server.answered.items() if whose == model
            )
            print(
                f"{title:22} {model}: first call to last answer {wall:.2f} s = "
                f"{wall / ideal:.2f} x ideal; {len(spans)} calls = {len(spans) / calls:.2f} x the "
                f"minimum; peak {card['config']['peak_in_flight']}; translated "
                f"{sum(row['status'] == 'ok' for row in card['results'])} of {chosen.n}, "
                f"{twice} of them twice"
            )


if __name__ == "__main__":
    main()
