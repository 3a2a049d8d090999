"""Which field of an entry is what: a table of names, in order, that nothing else extends.

Exactly one name of a role may stand in an entry; two are an error, because taking either would be
a guess. ``--mt-source-field`` and ``--mt-target-field`` name a field exactly and switch the table
off for that role. ``references`` (a list) may stand beside a single reference and is then appended
to it. Of several id fields the first of the table counts and the others are ordinary fields.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import SuiteSettings

SOURCE = ("source", "src", "source_text", "english")
REFERENCE = ("reference", "ref", "target", "target_text", "expected", "gold", "translation")
REFERENCES = "references"
ID = ("id", "entry_id", "key")

SOURCE_LANGUAGE = ("source_lang", "source_language")
TARGET_LANGUAGE = ("target_lang", "target_language", "lang")
LANGUAGE_PAIR = "language_pair"

PUBLIC = ("context", "register", "domain", "segment")
"""What a contestant sees of an entry beside its source, when it is there."""

NEVER_PUBLIC = frozenset(
    {
        *REFERENCE,
        REFERENCES,
        "acceptable_variants",
        "variants",
        "variant_class",
        "morphological_analysis",
        "notes",
        "metadata",
        "provenance",
    }
)
"""What ``public_fields`` must not name: these hold the answer, or tell where it is found."""


class Plan(NamedTuple):
    """Where the roles stand in entries with one and the same set of fields."""

    source: str | None
    reference: str | None
    references: str | None
    id: str | None
    public: tuple[str, ...]
    languages: bool
    """Whether the entry may name languages of its own."""
    conflict: str | None
    """What is wrong with the fields, for people."""


class Names:
    """The names of the roles, after the settings."""

    def __init__(
        self,
        settings: SuiteSettings,
        *,
        fold: bool = False,
        fixed: bool = False,
        public: Collection[str] = (),
    ) -> None:
        """Prepare; ``fold`` for case-folded columns, ``fixed`` for formats without field names."""
        source, target = settings.source_field, settings.target_field
        if source is not None and source == target:
            raise UsageError(
                f"--mt-source-field and --mt-target-field both name {source!r}: "
                "source and reference cannot be one field"
            )
        if fixed:
            source = target = None
        if fold:
            source = None if source is None else source.strip().casefold()
            target = None if target is None else target.strip().casefold()
        self.source: tuple[str, ...] = SOURCE if source is None else (source,)
        self.reference: tuple[str, ...] = REFERENCE if target is None else (target,)
        self.several = target is None or target == REFERENCES
        self.named_source, self.named_target = source, target
        if target == REFERENCES:
            self.reference = ()
        if source is not None:
            self.reference = tuple(name for name in self.reference if name != source)
        if target is not None:
            self.source = tuple(name for name in self.source if name != target)
        roles = {source, target}
        self.id = tuple(name for name in ID if name not in roles)
        self._public = tuple(dict.fromkeys([*PUBLIC, *public]))
        self._plans: dict[tuple[str, ...], Plan] = {}

    def has_source(self, columns: Collection[str]) -> bool:
        """Say whether one of the columns is a source."""
        return any(name in columns for name in self.source)

    def has_reference(self, columns: Collection[str]) -> bool:
        """Say whether one of the columns is a reference."""
        return any(name in columns for name in self.reference) or (
            self.several and REFERENCES in columns
        )

    def plan(self, columns: tuple[str, ...]) -> Plan:
        """Return the plan for entries with exactly these fields."""
        known = self._plans.get(columns)
        if known is None:
            known = self._plans[columns] = self._make_plan(columns)
        return known

    def _make_plan(self, columns: tuple[str, ...]) -> Plan:
        have = set(columns)
        sources = [name for name in self.source if name in have]
        references = [name for name in self.reference if name in have]
        conflict = None
        for role, found, option in (
            ("source", sources, "--mt-source-field"),
            ("reference", references, "--mt-target-field"),
        ):
            if len(found) > 1:
                conflict = f"two {role} fields, {' and '.join(found)}: name the right one with "
                conflict += option
                break
        ids = [name for name in self.id if name in have]
        taken = {*sources, *references, *ids[:1]}
        return Plan(
            source=sources[0] if sources else None,
            reference=references[0] if references else None,
            references=REFERENCES if self.several and REFERENCES in have else None,
            id=ids[0] if ids else None,
            public=tuple(name for name in self._public if name in have and name not in taken),
            languages=any(
                name in have and name not in taken
                for name in (*SOURCE_LANGUAGE, *TARGET_LANGUAGE, LANGUAGE_PAIR)
            ),
            conflict=conflict,
        )
