"""The hooks of the process that runs items: the only one, or an xdist worker."""

from __future__ import annotations

import atexit
import gc
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pytest_mtarena.plugin.arena import Arena
from pytest_mtarena.plugin.items import CaseItem, Need
from pytest_mtarena.plugin.keys import performer_key
from pytest_mtarena.plugin.perform import Performer
from pytest_mtarena.run.batches import Slot, take_shard

SELECTION = "selection.json"
FUNCTIONS = "functions.json"
DRAIN_SECONDS = 3.0
"""How long an interrupted session waits for what is in flight."""


class Performing:
    """Makes the performer once the items are known, and ends it with the session."""

    def __init__(
        self,
        arena: Arena,
        *,
        done: Callable[[], Mapping[Slot, str | None]],
        spool: Path | None = None,
        worker: str | None = None,
        on_selected: Callable[[set[Slot], set[Slot] | None], None] | None = None,
        on_row: Callable[[Slot, str], None] | None = None,
    ) -> None:
        self._arena = arena
        self._done = done
        self._spool = spool
        self._worker = worker
        self._on_selected = on_selected
        self._on_row = on_row
        self._before_shard: set[Slot] | None = None
        self._interrupted = False
        self.performer: Performer | None = None
        self._thresholds = gc.get_threshold()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the batches of this shard, after every other selection."""
        self._take_shard(config, items)
        self._name_functions(items)

    def _take_shard(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        shard = self._arena.settings.shard
        if shard is None:
            return
        needs = {item: need for item in items if (need := Need.of_item(item)) is not None}
        slots = {item.slot for item in items if isinstance(item, CaseItem)}
        slots = slots or {need.slot for need in needs.values()}
        batches = take_shard(self._arena.batches(slots), *shard)
        kept = {slot for batch in batches for slot in batch}
        dropped = [item for item, need in needs.items() if need.slot not in kept]
        items[:] = [item for item in items if item not in needs or needs[item].slot in kept]
        if dropped:
            config.hook.pytest_deselected(items=dropped)
        self._before_shard = slots
        if self._worker is not None and self._spool is not None:
            # Here, and not when collection is finished: xdist may tell the controller before us.
            _publish(self._spool, SELECTION, self._worker, sorted(slots))

    def _name_functions(self, items: list[pytest.Item]) -> None:
        """Tell the controller which cases test functions need: it has only their node ids."""
        if self._worker is None or self._spool is None:
            return
        functions = {
            item.nodeid: need.slot
            for item in items
            if not isinstance(item, CaseItem) and (need := Need.of_item(item)) is not None
        }
        if functions:
            _publish(self._spool, FUNCTIONS, self._worker, functions)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Set up the run-ahead: in a worker no later hook of ours is called before the items."""
        if session.config.option.collectonly or self._arena.settings.dry_run:
            self._tell(session)
            return
        self._tell(session)
        self.performer = Performer(
            self._arena,
            session,
            done=self._done(),
            spool=self._spool,
            worker=self._worker,
            record=self._on_row,
        )
        session.config.stash[performer_key] = self.performer
        # Items and reports live until the end: looking through them again and again for garbage
        # costs a tenth of a large session.
        gc.freeze()
        self._thresholds = gc.get_threshold()
        gc.set_threshold(max(50_000, self._thresholds[0]), *self._thresholds[1:])
        # Nor does the interpreter have to look through all of them before it ends.
        atexit.unregister(gc.freeze)
        atexit.register(gc.freeze)

    def _tell(self, session: pytest.Session) -> None:
        selected = {item.slot for item in session.items if isinstance(item, CaseItem)}
        if self._on_selected is not None:
            self._on_selected(selected, self._before_shard)

    def pytest_keyboard_interrupt(self) -> None:
        """Remember to save what is in flight."""
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Save the answers nobody has asked for yet, and stop."""
        if self.performer is None:
            return
        early = self._interrupted or session.shouldfail or session.shouldstop
        if early and self._on_row is not None:
            self.performer.harvest(DRAIN_SECONDS)
        self.performer.close()
        gc.unfreeze()
        gc.set_threshold(*self._thresholds)


def _publish(spool: Path, name: str, worker: str, value: object) -> None:
    draft = spool / f"{name}.{worker}"
    draft.write_text(json.dumps(value), encoding="utf-8")
    os.replace(draft, spool / name)
