"""People's own tests over a suite: ``mt_entry``, ``mt_attempt`` and ``mt_grade``.

A test function that asks for one of them runs once for each entry and contestant. Attempts are
those of the suite's own items: whoever needs an answer first has it made, and nobody pays twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_mtarena.errors import ArenaError
from pytest_mtarena.plugin.arena import Arena, file_nodeid
from pytest_mtarena.plugin.items import Need
from pytest_mtarena.plugin.keys import performer_key
from pytest_mtarena.plugin.names import node_name
from pytest_mtarena.records import Attempt, Grade, Language, SuiteEntry

if TYPE_CHECKING:
    from pytest_mtarena.plugin.arena import Run

NAMES = frozenset({"mt_entry", "mt_attempt", "mt_grade"})

graded_key: pytest.StashKey[tuple[Attempt, Grade]] = pytest.StashKey()


class Parametrizing:
    """Makes a test of every entry; registered when a contestant is named."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a function that asks for an entry once for each entry and contestant."""
        if not NAMES & set(metafunc.fixturenames):
            return
        try:
            runs = self._runs()
        except ArenaError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        needs = [Need.of(run, case) for run in runs for case in run.cases.values()]
        needs = [need for need in needs if need.is_sent]
        metafunc.parametrize(
            "mt_entry", needs, indirect=True, ids=[self._name(need) for need in needs]
        )

    def _runs(self) -> list[Run]:
        root = self._arena.config.rootpath
        return [
            run
            for path in self._arena.fixture_paths()
            for run in self._arena.runs_of(path, file_nodeid(path, root))
        ]

    def _name(self, need: Need) -> str:
        label = f"@{need.run.contestant.identity.label}" if self._arena.several else ""
        return f"{node_name(need.run.suite.id)}:{node_name(need.case.id)}{label}"


def entry_of(request: pytest.FixtureRequest) -> SuiteEntry:
    """Return the entry that a test is about; skips a test without a contestant."""
    need = getattr(request, "param", None)
    if not isinstance(need, Need):
        pytest.skip("needs a contestant: name it with --mt-method")
    case, run = need.case, need.run
    source, target = run.suite.languages.get(run.group, (Language(), Language()))
    return SuiteEntry(
        id=case.id,
        source=str(case.public.get("source") or ""),
        references=tuple(case.hidden.get("references") or ()),
        labels=case.labels,
        fields={**case.public, **(case.hidden.get("fields") or {})},
        suite=run.suite.id,
        group=run.group,
        contestant=run.contestant.identity.label,
        source_language=source,
        target_language=target,
    )


def graded(request: pytest.FixtureRequest) -> tuple[Attempt, Grade]:
    """Return attempt and grade of a test's entry; fails the test when the contestant failed."""
    item = request.node
    need = Need.of_item(item)
    assert need is not None
    if graded_key not in item.stash:
        item.stash[graded_key] = item.config.stash[performer_key].attempt_for(need)
    attempt, grade = item.stash[graded_key]
    if attempt.failure is not None:
        pytest.fail(need.run.referee.explain(need.case, attempt, grade), pytrace=False)
    return attempt, grade
