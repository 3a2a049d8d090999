"""``--mt-dry-run``: everything is checked and counted, nothing is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.plugin.arena import Arena, Run
from pytest_mtarena.plugin.items import CaseItem
from pytest_mtarena.protocols import public_entry
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.text import cut, printable


class DryRun:
    """Prints what would run, instead of running it."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print one line per run."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        verbose = session.config.get_verbosity() > 0
        terminal: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        items = [item for item in session.items if isinstance(item, CaseItem)]
        slots = {item.slot: None for item in items}
        batches = self._arena.batches(slots)
        entries = Counter(slot.run for slot in slots)
        calls = Counter(batch[0].run for batch in batches)
        if terminal is not None:
            terminal.write_line("")
            for key, count in entries.items():
                run = self._arena.runs[key]
                terminal.write_line(
                    printable(
                        f"would run   {run.title} ({_number(count, 'entry', 'entries')}) = "
                        f"{_number(calls[key], 'call', 'calls')}, "
                        f"{self._arena.share} at once"
                    )
                )
                for line in _of_a_config(run):
                    terminal.write_line(printable(line))
                mine = [batch for batch in batches if batch[0].run == key]
                for line in _of_a_model(run, mine, verbose=verbose):
                    terminal.write_line(printable(line))
        return True


def _of_a_config(run: Run) -> Iterator[str]:
    """Yield what a champollion config says here, and where each value is from."""
    told = run.settings.champollion
    if told is None:
        return
    asked = run.settings
    values = {
        "model": ",".join(asked.model.models),
        "method": ",".join(Path(one).name for one in asked.methods),
        "prompt": asked.model.prompt,
        "temperature": asked.temperature,
        "batch_size": asked.batch_size,
        "coaching_file": told.get("coaching_file")
        or (asked.model.coaching_file and asked.model.coaching_file.name)
        or asked.model.coaching
        or "none",
        "register": asked.model.tone or "none",
        "context": asked.model.context or "none",
    }
    yield f"            {told['file']}, sha256 {told['sha256'][:12]}"
    for name, origin in told["origin"].items():
        yield f"              {name.replace('_', ' ')}: {cut(str(values[name]), 80)} ({origin})"


def _of_a_model(run: Run, batches: Sequence[tuple[Slot, ...]], *, verbose: bool) -> Iterator[str]:
    """Yield the prompt of a language model and what its calls will cost."""
    model = run.model
    if model is None:
        return
    prompt = model.system_prompt(run.config)
    text = prompt.text if verbose else cut(prompt.text, 200)
    yield f"            prompt {prompt.name}, sha256 {prompt.sha256[:12]}: {text}"
    for note in model.notes(run.config):
        yield f"            {note}"
    found = model.estimate(
        ([public_entry(run.cases[slot.position]) for slot in batch] for batch in batches),
        run.config,
    )
    if found.kept:
        yield (
            f"            {_number(found.kept, 'entry is', 'entries are')} in the cache: "
            f"{_number(found.calls, 'call', 'calls')} left"
        )
    yield (
        f"            about {_round(found.prompt_tokens)} tokens in, "
        f"{_round(found.completion_tokens)} out"
    )
    if found.usd is None:
        yield "            cost unknown: the model has no known price (--mt-prices)"
        return
    if found.usd == found.most_usd == 0:
        yield "            costs nothing"
        return
    most = "" if found.most_usd is None else f", at most ${found.most_usd:.4f}"
    yield f"            about ${found.usd:.4f}{most}, if every call is answered at once"
    limit = run.settings.model.max_cost
    if limit is not None and found.dearest_usd > limit:
        yield (
            f"            a call may cost ${found.dearest_usd:.4f}, more than --mt-max-cost="
            f"{limit:g}: it would not be sent; a lower --mt-max-tokens lets it through"
        )


def _round(count: int) -> str:
    """Return a number of tokens to two digits: it is an estimate."""
    return f"{float(f'{count:.2g}'):,.0f}"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
