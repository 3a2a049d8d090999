"""The item: one case, attempted by one contestant."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_mtarena.plugin.arena import Run
from pytest_mtarena.plugin.keys import performer_key
from pytest_mtarena.records import NO_REFERENCE, Case
from pytest_mtarena.run.batches import Slot


class CaseFailed(Exception):
    """Why an item is red: text that is ready to print."""


class Need(NamedTuple):
    """What an item needs done: one case, attempted in one run."""

    slot: Slot
    run: Run
    case: Case

    @classmethod
    def of(cls, run: Run, case: Case) -> Need:
        """Return the need of a case."""
        return cls(Slot(run.key, case.index), run, case)

    @classmethod
    def of_item(cls, item: pytest.Item) -> Need | None:
        """Return the need of a suite's item, or of a test function with our fixtures."""
        if isinstance(item, CaseItem):
            return cls(item.slot, item.run, item.case)
        callspec = getattr(item, "callspec", None)
        found = None if callspec is None else callspec.params.get("mt_entry")
        return found if isinstance(found, Need) else None

    @property
    def is_sent(self) -> bool:
        """Whether contestants are asked for the case at all."""
        return self.case.problem is None or self.case.problem == NO_REFERENCE


class CaseItem(pytest.Item):
    """A case as a test item.

    A case that was attempted and graded passes, whatever its score. It fails when the contestant
    broke, when the referee could not grade it, or when it misses a limit the user has set.
    """

    payload: str | None = None
    """What is shipped with the report of the call: one JSON object as text."""
    words: str | None = None
    """What ``-v`` shows."""

    def __init__(self, *, run: Run, case: Case, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.run = run
        self.case = case
        self.slot = Slot(run.key, case.index)

    @property
    def extra_keyword_matches(self) -> set[str]:
        """What ``-k`` sees beside the names; built when asked for, to keep items small."""
        labels = self.case.labels
        words = {str(value) for key, value in labels.items() if key != "difficulty"}
        if "difficulty" in labels:
            words.add(f"difficulty_{labels['difficulty']}")
        words.update(language.code for language in self.run.languages)
        words.update((self.case.id, self.case.kind))
        words.discard("")
        return words

    @extra_keyword_matches.setter
    def extra_keyword_matches(self, value: set[str]) -> None:
        """Accept the empty set that every node starts with."""

    def runtest(self) -> None:
        """Wait for the attempt and have it graded."""
        self.config.stash[performer_key].perform(self)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say why, without a traceback: rendering one costs 70 ms an item and tells nothing."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the item stands, and the title of its failure."""
        # Under -v pytest turns the dots of a node id that ends with the title into colons, and
        # such an id selects nothing. The blank keeps the two apart.
        return self.path, 0, f"{self.nodeid} "
