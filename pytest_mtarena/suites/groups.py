"""The language pairs of a suite, which group its cases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Json, Language, SuiteSettings
from pytest_mtarena.suites.envelope import Envelope
from pytest_mtarena.suites.fields import LANGUAGE_PAIR, SOURCE_LANGUAGE, TARGET_LANGUAGE
from pytest_mtarena.suites.formats.document import RawEntry
from pytest_mtarena.suites.languages import (
    BadLanguage,
    complete,
    group_name,
    handle,
    override,
    read_language,
    read_pair,
)
from pytest_mtarena.suites.problems import Problems, listed


class Groups:
    """The language pairs of a suite, found entry by entry."""

    def __init__(self, envelope: Envelope, problems: Problems) -> None:
        self._envelope = envelope
        self._problems = problems
        self._pairs: dict[str, tuple[Language, Language]] = {}
        self._known: dict[str, str] = {}

    @cached_property
    def default(self) -> str:
        """The group of the suite's own languages."""
        return self._add(self._envelope.source, self._envelope.target)

    def of(self, entry: RawEntry) -> str:
        """Return the group of an entry with languages of its own."""
        fields = entry.fields
        named = {
            name: fields[name]
            for name in (*SOURCE_LANGUAGE, *TARGET_LANGUAGE, LANGUAGE_PAIR)
            if fields.get(name) not in (None, "")
        }
        if not named:
            return self.default
        key = repr(named)
        if key not in self._known:
            try:
                self._known[key] = self._add(*self._read(named))
            except BadLanguage as error:
                self._problems.add(str(error), line=entry.line, entry=entry.ordinal)
                return self.default
        return self._known[key]

    def _read(self, named: Mapping[str, Json]) -> tuple[Language, Language]:
        source, target = read_pair(named.get(LANGUAGE_PAIR))
        for name in SOURCE_LANGUAGE:
            source = complete(source, read_language(named.get(name)))
        for name in TARGET_LANGUAGE:
            target = complete(target, read_language(named.get(name)))
        return _inherit(source, self._envelope.source), _inherit(target, self._envelope.target)

    def _add(self, source: Language, target: Language) -> str:
        group = group_name(source, target)
        have = self._pairs.setdefault(group, (source, target))
        if [side.code or side.name for side in have] != [
            side.code or side.name for side in (source, target)
        ]:
            self._problems.add(
                f"two language pairs would both be called {group}: give them clearer codes"
            )
        self._pairs[group] = complete(have[0], source), complete(have[1], target)
        return group

    def finish(
        self, settings: SuiteSettings
    ) -> tuple[dict[str, str], dict[str, tuple[Language, Language]]]:
        """Apply the user's languages; return new names by old ones (if any), and the languages."""
        for side, option, value in (
            (0, "--mt-source-lang", settings.source_lang),
            (1, "--mt-target-lang", settings.target_lang),
        ):
            every = list(dict.fromkeys(handle(pair[side]) for pair in self._pairs.values()))
            if value is not None and len(every) > 1:
                raise UsageError(
                    f"{option}: {self._problems.path} has several languages on that side "
                    f"({listed(every)}): they cannot all be {value!r}"
                )
        renamed: dict[str, str] = {}
        languages: dict[str, tuple[Language, Language]] = {}
        for group, (source, target) in self._pairs.items():
            pair = override(source, settings.source_lang), override(target, settings.target_lang)
            renamed[group] = group_name(*pair)
            languages[renamed[group]] = pair
        return ({} if all(old == new for old, new in renamed.items()) else renamed), languages


def _inherit(own: Language, suite: Language) -> Language:
    """Return the entry's language, with the suite's name where it is the same language."""
    if not own.code and not own.name:
        return suite
    same = own.code.casefold() == suite.code.casefold() or not own.code
    return complete(own, suite) if same and (own.code or not own.name) else own
