"""Every error this package raises on purpose.

ArenaError                    what the user sees is one message: what, where, what to do
├── UsageError                an option, a path or a combination that cannot work
│   ├── MissingExtra          a feature whose optional dependency is not installed
│   └── ResumeError           a journal that belongs to another setup
├── SuiteError                a suite file that cannot be read, with file and line or entry
├── MethodError               a method directory that cannot be loaded, with all its problems
├── ExtensionError            a broken plug-in, a misspelt hook, two plug-ins with one name
├── ContractError             an answer of a contestant that breaks the contract
└── CardError                 a run card that cannot be read
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class ArenaWarning(UserWarning):
    """Base of the warnings about a run's outputs; ``-W error::pytest_mtarena.ArenaWarning``
    makes each of them a failure."""


class CopyWarning(ArenaWarning):
    """Outputs that equal their source."""


class RepetitionWarning(ArenaWarning):
    """One output for many different sources."""


class LengthWarning(ArenaWarning):
    """Outputs that are much longer or shorter than the references."""


class LeakWarning(ArenaWarning):
    """Entries of the suite that stand in what the contestant was given (glossary, coaching)."""


class ArenaError(Exception):
    """Base of all errors of this package: its text is meant for the user, without a traceback."""


class UsageError(ArenaError):
    """An option, a path or a combination of options that cannot work."""


class MissingExtra(UsageError):
    """A feature whose optional dependency is not installed; names the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'pytest-mtarena[{extra}]'")
        self.extra = extra


class ResumeError(UsageError):
    """A journal given to ``--mt-resume`` that belongs to another setup or cannot be read."""


class SuiteError(ArenaError):
    """A suite that cannot be read.

    ``line`` counts from 1, ``entry`` is an id or an ordinal as people would say it. All problems
    found in one file are reported together when that is possible.
    """

    def __init__(
        self,
        path: Path | str,
        problem: str,
        *,
        line: int | None = None,
        more: Sequence[str] = (),
    ) -> None:
        where = f"{path}:{line}" if line is not None else f"{path}"
        text = "\n".join([f"{where}: {problem}", *(f"{path}: {other}" for other in more)])
        super().__init__(text)
        self.path = str(path)
        self.line = line
        self.problem = problem


class MethodError(ArenaError):
    """A method that cannot be loaded; ``problems`` holds all of them, the message shows all."""

    def __init__(self, where: Path | str, problems: Sequence[str] | str) -> None:
        found = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(f"{where}: {problem}" for problem in found))
        self.where = str(where)
        self.problems = found


class ExtensionError(ArenaError):
    """A plug-in that cannot be used: broken import, misspelt hook, clash of names."""


class ContractError(ArenaError):
    """An answer of a contestant that breaks the contract, said in the contract's own words."""


class CardError(ArenaError):
    """A run card that cannot be read: not JSON, another schema, missing keys."""
