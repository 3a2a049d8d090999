"""The pytest plugin: its options, and the door to the rest.

pytest imports this module at every start in every project that has the package installed. It
therefore imports nothing but the options; the rest is loaded when a contestant is named.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mtarena.plugin.options import OPTIONS, add_options

if TYPE_CHECKING:
    from pytest_mtarena.records import Attempt, Grade, SuiteEntry

MARKERS = {
    "translation": "an entry of a translation suite",
    "code": "a case that runs a program",
    "tools": "a tool dialogue",
    "agent": "an agent task",
    "chat": "a chat session",
    "bonus": "a case of a bonus pack",
    "overrefusal": "a harmless request that a model should not refuse",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ``--mt-*`` options and the ini key ``mt_suites``."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers that items of suites carry."""
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning} (pytest-mtarena)")


@pytest.fixture
def mt_entry(request: pytest.FixtureRequest) -> SuiteEntry:
    """An entry of the suite: the test runs once for each, and for each contestant."""
    from pytest_mtarena.plugin.fixtures import entry_of

    return entry_of(request)


@pytest.fixture
def mt_attempt(mt_entry: SuiteEntry, request: pytest.FixtureRequest) -> Attempt:
    """What the contestant made of ``mt_entry``; the test fails when the contestant failed."""
    from pytest_mtarena.plugin.fixtures import graded

    return graded(request)[0]


@pytest.fixture
def mt_grade(mt_entry: SuiteEntry, request: pytest.FixtureRequest) -> Grade:
    """What the referee says of the attempt at ``mt_entry``: ``mt_grade.scores["chrf"]``."""
    from pytest_mtarena.plugin.fixtures import graded

    return graded(request)[1]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Activate the plugin when a contestant is named; tell what is missing when it is not."""
    option = config.option
    named = option.mt_method or option.mt_model or option.mt_champollion_config
    if named and not option.help and not option.version:
        from pytest_mtarena.plugin.session import activate

        activate(config)
    elif not named:
        for each in OPTIONS:
            if getattr(option, each.dest) != each.keywords["default"]:
                raise pytest.UsageError(
                    f"{each.pytest_flag} needs a contestant: --mt-method or --mt-model"
                )
    return (yield)
