"""Which cases of a suite are taken. The order of the file is kept, and so is every index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Case, Suite, SuiteSettings
from pytest_mtarena.suites.problems import listed

_RANGE = re.compile(r"([0-9]{1,18})\s*-\s*([0-9]{1,18})")
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def select(cases: Sequence[Case], settings: SuiteSettings, path: Path) -> list[Case]:
    """Return the cases that the settings ask for; explicit ids come before the data set."""
    taken: Iterable[Case]
    if settings.ids:
        ids = set(settings.ids)
        taken = (case for case in cases if case.id in ids)
    else:
        taken = _by_dataset(cases, settings.dataset, path)
    for label, wanted in (("domain", settings.domains), ("difficulty", settings.difficulties)):
        if wanted:
            taken = _by_label(taken, label, frozenset(value.strip().casefold() for value in wanted))
    return list(taken)


def missing_ids(suites: Iterable[Suite], ids: Iterable[str]) -> list[str]:
    """Return the ids that none of the suites has selected, in the order given."""
    have = {case.id for suite in suites for case in suite.cases}
    return [id for id in dict.fromkeys(ids) if id not in have]


def explain_empty(cases: Sequence[Case], settings: SuiteSettings, path: Path) -> str:
    """Return one line that says which filter left nothing."""
    asked = []
    if settings.ids:
        asked.append(f"--mt-ids {listed(settings.ids)}")
    elif settings.dataset != "all":
        asked.append(f"--mt-dataset {settings.dataset}")
    for option, label, wanted in (
        ("--mt-domain", "domain", settings.domains),
        ("--mt-difficulty", "difficulty", settings.difficulties),
    ):
        if wanted:
            found = listed(_values(cases, label)) or "none"
            asked.append(f"{option} {', '.join(wanted)} (there: {found})")
    return f"{path}: none of {len(cases)} entries fits {' and '.join(asked) or 'no filter at all'}"


def _by_label(cases: Iterable[Case], label: str, wanted: frozenset[str]) -> Iterable[Case]:
    return (case for case in cases if str(case.labels.get(label, "")).casefold() in wanted)


def _by_dataset(cases: Sequence[Case], dataset: str, path: Path) -> list[Case]:
    wanted = dataset.strip()
    if wanted.casefold() == "all":
        return list(cases)
    segments = _values(cases, "segment")
    if wanted.casefold() in {segment.casefold() for segment in segments}:
        return list(_by_label(cases, "segment", frozenset({wanted.casefold()})))
    one = [case for case in cases if case.id == wanted]
    if one:
        return one
    bounds = _RANGE.fullmatch(wanted)
    if bounds is None:
        raise UsageError(
            f"--mt-dataset: {dataset!r} is no segment, range of ids A-B or id of {path} "
            f"(segments: {listed(segments) or 'none'})"
        )
    low, high = int(bounds[1]), int(bounds[2])
    if low > high:
        raise UsageError(f"--mt-dataset: the range {dataset!r} ends before it begins")
    odd = next((case.id for case in cases if not _NUMBER.fullmatch(case.id)), None)
    if odd is not None:
        raise UsageError(
            f"--mt-dataset: {dataset!r} is a range, but the ids of {path} are not all numbers "
            f"({listed([odd])}): name the entries with --mt-ids"
        )
    return [case for case in cases if low <= int(case.id) <= high]


def _values(cases: Iterable[Case], label: str) -> list[str]:
    return list(dict.fromkeys(str(case.labels[label]) for case in cases if label in case.labels))
