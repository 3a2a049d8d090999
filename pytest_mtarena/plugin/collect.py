"""Collection: a suite file is a test file, a language pair a class, an entry a test item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.errors import ArenaError
from pytest_mtarena.plugin.arena import Arena, Run, file_nodeid, item_name
from pytest_mtarena.plugin.items import CaseItem
from pytest_mtarena.plugin.names import node_name


class SuiteFile(pytest.File):
    """A suite file."""

    arena: Arena

    def collect(self) -> Iterable[pytest.Collector]:
        """Yield one collector per group, in the order of the file."""
        try:
            suite = self.arena.open(self.path)
            if suite is None:
                if self.session.isinitpath(self.path):
                    raise self.CollectError(f"{self._name()}: is no suite of any known kind")
                self.arena.notes.append(f"{self._name()}: passed over, it is no suite")
                return
            runs = self.arena.runs_of(self.path, self.nodeid)
        except ArenaError as error:
            raise self.CollectError(str(error)) from None
        groups: dict[str, list[Run]] = {}
        for run in runs:
            groups.setdefault(run.group, []).append(run)
        for group, group_runs in groups.items():
            collector = GroupCollector.from_parent(self, name=node_name(group))
            collector.runs = group_runs
            collector.several = self.arena.several
            collector.add_marker(suite.kind)
            yield collector

    def _name(self) -> str:
        return str(self.path)


class GroupCollector(pytest.Collector):
    """A group of cases: a language pair, a pack."""

    runs: list[Run]
    several: bool

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item per case and contestant, in the order of the file."""
        for index in self.runs[0].cases:
            for run in self.runs:
                case = run.cases[index]
                name = item_name(run, case, self.several)
                yield CaseItem.from_parent(self, name=name, run=run, case=case)


class Collecting:
    """The collection hooks; registered only when a contestant is given."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Take files that a kind of case recognises."""
        if not self._arena.recognises(file_path):
            return None
        nodeid = file_nodeid(file_path, parent.config.rootpath)
        collector: Any = SuiteFile.from_parent(parent, path=file_path, nodeid=nodeid)
        collector.arena = self._arena
        return collector  # type: ignore[no-any-return]
