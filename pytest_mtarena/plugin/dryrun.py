"""``--mt-dry-run``: everything is checked and counted, nothing is called."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pytest_mtarena.plugin.arena import Arena
from pytest_mtarena.plugin.items import CaseItem
from pytest_mtarena.run.batches import cut_batches
from pytest_mtarena.text import printable


class DryRun:
    """Prints what would run, instead of running it."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print one line per run."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        terminal: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        items = [item for item in session.items if isinstance(item, CaseItem)]
        slots = {item.slot: None for item in items}
        batches = cut_batches(slots, self._arena.settings.batch_size)
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
        return True


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
