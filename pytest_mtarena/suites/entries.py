"""From raw entries to cases: ids, texts, languages and labels, each checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_mtarena.records import EMPTY_SOURCE, NO_REFERENCE, Case, Json, Language, SuiteSettings
from pytest_mtarena.suites.envelope import Envelope
from pytest_mtarena.suites.fields import Names, Plan
from pytest_mtarena.suites.formats.document import Document, RawEntry
from pytest_mtarena.suites.groups import Groups
from pytest_mtarena.suites.problems import Problems, counted, listed, shown

KIND = "translation"

DOMAINS = frozenset(
    {
        *("conv", "ecommerce", "edu", "financial", "gov", "legal", "literary", "marketing"),
        *("medical", "news", "religious", "scientific", "subtitles", "support", "tech", "ui"),
    }
)
"""The domain codes that have a meaning; others are noted."""

LONG = 20_000
"""Characters of a source or reference beyond which a note names the entry."""


class Cases(NamedTuple):
    """All entries of a file as cases, and what belongs to them."""

    cases: list[Case]
    languages: dict[str, tuple[Language, Language]]
    notes: list[str]


def make_cases(
    document: Document,
    envelope: Envelope,
    names: Names,
    settings: SuiteSettings,
    problems: Problems,
) -> Cases:
    """Check every entry and return the cases, in the order of the file.

    Takes the fields out of the raw entries: they are used up.
    """
    plans = [names.plan(tuple(entry.fields)) for entry in document.entries]
    _check_roles(document.entries, plans, names, settings, problems)
    ids = _read_ids(document, plans, problems)
    groups = Groups(envelope, problems)
    notes = _Notes()
    cases: list[Case] = []
    for index, (entry, plan, id) in enumerate(zip(document.entries, plans, ids, strict=True)):
        case = _make_case(entry, plan, id, index, groups, envelope, problems)
        notes.see(case)
        cases.append(case)
    renamed, languages = groups.finish(settings)
    if renamed:
        cases = [case.model_copy(update={"group": renamed[case.group]}) for case in cases]
    if notes.without_reference and not settings.allow_missing_reference:
        number = counted(len(notes.without_reference), "entry has", "entries have")
        problems.add(
            f"{number} no reference: {listed(notes.without_reference)}; "
            "add one, or pass --mt-allow-missing-reference"
        )
    problems.check()
    return Cases(cases, languages, notes.lines())


def is_blank(text: str) -> bool:
    """Say whether a text shows nothing: blanks of any kind, control and format characters."""
    if text[:1].isalnum():  # nearly always, and all that has to be looked at
        return False
    return all(sign.isspace() or unicodedata.category(sign) in ("Cf", "Cc") for sign in text)


def _check_roles(
    entries: Sequence[RawEntry],
    plans: Sequence[Plan],
    names: Names,
    settings: SuiteSettings,
    problems: Problems,
) -> None:
    """Raise when entries have no source, two fields for one role, or none has a reference."""
    for entry, plan in zip(entries, plans, strict=True):
        if plan.conflict is not None:
            problems.add(plan.conflict, line=entry.line, entry=entry.ordinal)
    problems.check()
    lacking = []
    if all(plan.source is None for plan in plans):
        lacking.append(("source", "--mt-source-field", names.named_source))
    if all(plan.reference is None and plan.references is None for plan in plans) and (
        names.named_target is not None or not settings.allow_missing_reference
    ):
        lacking.append(("reference", "--mt-target-field", names.named_target))
    if lacking:
        have = listed(dict.fromkeys(name for entry in entries[:100] for name in entry.fields))
        for role, option, named in lacking:
            wanted = f"a {role} field" if named is None else f"the field {named!r}"
            problems.add(f"no entry has {wanted} (fields: {have}): name it with {option}")
        problems.check()
    for entry, plan in zip(entries, plans, strict=True):
        if plan.source is None:
            problems.add(
                f"no source field (fields: {listed(entry.fields)})",
                line=entry.line,
                entry=entry.ordinal,
            )
    problems.check()


def _read_ids(document: Document, plans: Sequence[Plan], problems: Problems) -> list[str]:
    """Return an id an entry; positions when no entry has one."""
    entries = document.entries
    without = [entry.where for entry, plan in zip(entries, plans, strict=True) if plan.id is None]
    if len(without) == len(entries):
        return [str(document.first_id + index) for index in range(len(entries))]
    if without:
        problems.add(
            f"{counted(len(without), 'entry has', 'entries have')} no id while others have: "
            f"{listed(without)}; give every entry an id or none"
        )
    ids: list[str] = []
    first: dict[str, RawEntry] = {}
    for entry, plan in zip(entries, plans, strict=True):
        value = None if plan.id is None else entry.fields.pop(plan.id)
        id = ""
        if plan.id is None:
            pass
        elif isinstance(value, bool) or not isinstance(value, str | int):
            problems.add(
                f"{plan.id} must be text or a whole number, not {value!r:.40}",
                line=entry.line,
                entry=entry.ordinal,
            )
        else:
            id = str(value)
            if is_blank(id):
                problems.add(f"{plan.id} is empty", line=entry.line, entry=entry.ordinal)
            elif id in first:
                problems.add(
                    f"id {shown(id)} stands twice: {first[id].where} and {entry.where}",
                    line=entry.line,
                    entry=entry.ordinal,
                )
            else:
                first[id] = entry
        ids.append(id)
    problems.check()
    return ids


_CASE_FIELDS = set(Case.model_fields)
"""One set for all cases: a set each would be a quarter of what a case needs in memory."""


def _make_case(
    entry: RawEntry,
    plan: Plan,
    id: str,
    index: int,
    groups: Groups,
    envelope: Envelope,
    problems: Problems,
) -> Case:
    fields = entry.fields
    source = fields.pop(plan.source) if plan.source is not None else ""
    if not isinstance(source, str):
        _refuse(problems, entry, id, f"{plan.source} must be text, not {source!r:.40}")
        source = ""
    references = list(_references(fields, plan, entry, id, problems))
    problem = EMPTY_SOURCE if is_blank(source) else NO_REFERENCE if not references else None
    public: dict[str, Json] = {"source": source}
    for name in plan.public:
        if name in fields and fields[name] not in (None, ""):
            public[name] = fields[name]
    return Case.model_construct(
        _CASE_FIELDS,
        id=id,
        index=index,
        group=groups.of(entry) if plan.languages else groups.default,
        kind=KIND,
        public=public,
        hidden={"references": references, "fields": fields},
        labels=_labels(fields, envelope, entry, id, problems),
        problem=problem,
        where=entry.where,
    )


def _references(
    fields: dict[str, Json], plan: Plan, entry: RawEntry, id: str, problems: Problems
) -> Iterator[str]:
    if plan.reference is not None:
        value = fields.pop(plan.reference)
        if not isinstance(value, str):
            hint = "; several stand in references" if isinstance(value, list) else ""
            _refuse(problems, entry, id, f"{plan.reference} must be text, not {value!r:.40}{hint}")
        elif not is_blank(value):
            yield value
    if plan.references is not None:
        several = fields.pop(plan.references)
        if not isinstance(several, list):
            _refuse(problems, entry, id, f"references must be a list of texts, not {several!r:.40}")
            return
        for place, value in enumerate(several):
            if not isinstance(value, str) or is_blank(value):
                what = "is blank" if isinstance(value, str) else f"must be text, not {value!r:.40}"
                _refuse(problems, entry, id, f"references[{place}] {what}")
            else:
                yield value


def _labels(
    fields: Mapping[str, Json], envelope: Envelope, entry: RawEntry, id: str, problems: Problems
) -> dict[str, str | int]:
    labels: dict[str, str | int] = {}
    if envelope.segment:
        labels["segment"] = envelope.segment
    for name in ("segment", "difficulty", "domain", "register"):
        value = fields.get(name)
        if value is None or value == "":
            continue
        if name == "difficulty" and isinstance(value, str | float):
            labels[name] = _difficulty(value)
        elif isinstance(value, str):
            labels[name] = value
        elif isinstance(value, int) and not isinstance(value, bool):
            labels[name] = value if name == "difficulty" else str(value)
        else:
            _refuse(problems, entry, id, f"{name} must be a label, not {value!r:.40}")
    tag = fields.get("provenance")
    if isinstance(tag, Mapping):
        tag = next((tag[key] for key in ("source_name", "source", "name") if tag.get(key)), None)
    elif isinstance(tag, list):
        tag = ", ".join(one for one in tag if isinstance(one, str))
    if isinstance(tag, str) and tag:
        labels["provenance"] = tag
    return labels


def _difficulty(value: str | float) -> str | int:
    if isinstance(value, float):
        return int(value) if value.is_integer() else str(value)
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) < 10:
        return int(value)
    return value


def _refuse(problems: Problems, entry: RawEntry, id: str, text: str) -> None:
    problems.add(f"{text} (id {shown(id)})", line=entry.line, entry=entry.ordinal)


class _Notes:
    """What is worth knowing about the entries."""

    def __init__(self) -> None:
        self.without_reference: list[str] = []
        self._empty: list[str] = []
        self._long: list[str] = []
        self._domains: dict[str, None] = {}

    def see(self, case: Case) -> None:
        """Look at one case."""
        if case.problem == EMPTY_SOURCE:
            self._empty.append(f"{case.id} ({case.where})")
        elif case.problem == NO_REFERENCE:
            self.without_reference.append(f"{case.id} ({case.where})")
        if len(case.public["source"]) > LONG or any(
            len(reference) > LONG for reference in case.hidden["references"]
        ):
            self._long.append(case.id)
        domain = case.labels.get("domain")
        if domain is not None and domain not in DOMAINS:
            self._domains[str(domain)] = None

    def lines(self) -> list[str]:
        """Return the notes, one line each."""
        lines = []
        if self._empty:
            lines.append(
                f"{counted(len(self._empty), 'entry has', 'entries have')} an empty source, not "
                f"sent and not scored: {listed(self._empty)}"
            )
        if self.without_reference:
            number = counted(len(self.without_reference), "entry has", "entries have")
            lines.append(f"{number} no reference, not scored: {listed(self.without_reference)}")
        if self._long:
            lines.append(f"very long texts (over {LONG} characters): {listed(self._long, 5)}")
        if self._domains:
            lines.append(f"domain codes without a common meaning: {listed(self._domains)}")
        return lines
