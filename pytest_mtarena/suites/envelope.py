"""What a file says about itself around its entries."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mtarena.records import Json, Language, Record
from pytest_mtarena.suites.fields import (
    LANGUAGE_PAIR,
    NEVER_PUBLIC,
    SOURCE_LANGUAGE,
    TARGET_LANGUAGE,
)
from pytest_mtarena.suites.languages import BadLanguage, complete, read_language, read_pair
from pytest_mtarena.suites.problems import Problems


class Envelope(Record):
    """The head of a suite; everything is optional."""

    id: str = ""
    version: str = ""
    name: str = ""
    segment: str = ""
    """The segment of all entries that name none."""
    source: Language = Language()
    target: Language = Language()
    license: str = ""
    attribution: str = ""
    provenance: tuple[str, ...] = ()
    public_fields: tuple[str, ...] = ()
    entry_count: int | None = None
    """How many entries the file claims to hold."""
    notes: tuple[str, ...] = ()


def read_envelope(raw: Mapping[str, Json], problems: Problems) -> Envelope:
    """Read the head: a flat object, or one with a ``dataset`` object, whose fields come first."""
    reader = _Reader(raw, problems)
    source, target = reader.languages()
    tags, license, attribution = reader.provenance()
    version = reader.get("version")
    notes = []
    if isinstance(version, float):
        notes.append(
            f"version {version} is a number in the file: put it in quotes to keep its spelling"
        )
    count = reader.get("entry_count")
    return Envelope(
        id=reader.text("corpus_id") or reader.text("id"),
        version=reader.text("version", numbers=True),
        name=reader.text("name"),
        segment=reader.text("segment"),
        source=source,
        target=target,
        license=reader.text("license") or license,
        attribution=reader.text("attribution") or attribution,
        provenance=tags,
        public_fields=reader.public_fields(),
        entry_count=count if isinstance(count, int) and not isinstance(count, bool) else None,
        notes=tuple(notes),
    )


class _Reader:
    def __init__(self, raw: Mapping[str, Json], problems: Problems) -> None:
        self._problems = problems
        dataset = raw.get("dataset")
        if isinstance(dataset, str):
            dataset = {"id": dataset}
        if dataset is not None and not isinstance(dataset, Mapping):
            problems.add(f"dataset must be an object, not {_kind(dataset)}")
            dataset = None
        self._layers = [layer for layer in (dataset, raw) if layer]

    def get(self, name: str) -> Json:
        for layer in self._layers:
            if layer.get(name) is not None:
                return layer[name]
        return None

    def text(self, name: str, *, numbers: bool = False) -> str:
        value = self.get(name)
        if value is None:
            return ""
        if isinstance(value, str):
            return value.strip()
        if numbers and isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._problems.add(f"{name} must be text, not {_kind(value)}")
        return ""

    def languages(self) -> tuple[Language, Language]:
        source, target = Language(), Language()
        try:
            source, target = read_pair(self.get(LANGUAGE_PAIR))
            for name in SOURCE_LANGUAGE:
                source = complete(source, read_language(self.get(name)))
            for name in TARGET_LANGUAGE:
                target = complete(target, read_language(self.get(name)))
        except BadLanguage as error:
            self._problems.add(str(error))
        return source, target

    def provenance(self) -> tuple[tuple[str, ...], str, str]:
        """Return the tags, and license and attribution where they stand inside."""
        value = self.get("provenance")
        if value is None:
            return (), "", ""
        if isinstance(value, str):
            return (value,), "", ""
        if isinstance(value, list):
            return tuple(tag for tag in value if isinstance(tag, str)), "", ""
        if not isinstance(value, Mapping):
            self._problems.add(f"provenance must be tags or an object, not {_kind(value)}")
            return (), "", ""
        tags = value.get("tags")
        found = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        sources = (value.get(name) for name in ("source_adapter", "source_name"))
        found.extend(source for source in sources if isinstance(source, str) and source)
        license = value.get("license")
        attribution = value.get("attribution") or value.get("copyright")
        return (
            tuple(dict.fromkeys(found)),
            license if isinstance(license, str) else "",
            attribution if isinstance(attribution, str) else "",
        )

    def public_fields(self) -> tuple[str, ...]:
        value = self.get("public_fields")
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self._problems.add("public_fields must be a list of field names")
            return ()
        for name in value:
            if name.casefold() in NEVER_PUBLIC:
                self._problems.add(
                    f"public_fields names {name!r}, which a contestant must never see: take it out"
                )
        return tuple(value)


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    return {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}.get(
        type(value), "an object"
    )
