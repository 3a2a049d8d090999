"""What the metrics see of an entry: made from a case and its attempt, or from a stored row.

Both ways give the same texts, so that a stored card can be scored again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TypeVar

from pytest_mtarena.protocols import Metric, MetricInput
from pytest_mtarena.records import COUNTED, Attempt, Case, Json, LanguageFacts, status_of
from pytest_mtarena.referee.jsonvalue import storable
from pytest_mtarena.referee.metrics.ids import LIMITS
from pytest_mtarena.referee.normalization import Normalization, is_blank, normalise

_T = TypeVar("_T")

Languages = tuple[LanguageFacts, LanguageFacts]
"""Source and target."""

UNKNOWN: Languages = (LanguageFacts(), LanguageFacts())

MAX_GOLD = 1000
"""References that a metric is calibrated on, at most."""

_ROW_FIELDS = ("segment", "domain", "difficulty", "register", "provenance")


def references_of(case: Case) -> list[str]:
    """Return the references of a case that are not blank."""
    given = case.hidden.get("references") or []
    return [text for text in given if isinstance(text, str) and not is_blank(text)]


def row_references(row: Mapping[str, Json]) -> list[str]:
    """Return the references of a row that are not blank."""
    if row.get("references") is None:
        only = row.get("reference")
        return [only] if isinstance(only, str) and not is_blank(only) else []
    given = row.get("references") or [row.get("reference")]
    return [text for text in given if isinstance(text, str) and not is_blank(text)]


def is_counted(row: Mapping[str, Json]) -> bool:
    """Say whether a row counts in ``n``."""
    return row.get("status") in COUNTED and bool(row_references(row))


def case_input(
    case: Case, attempt: Attempt, form: Normalization, languages: Languages = UNKNOWN
) -> MetricInput | None:
    """Return what the metrics see of an attempt; None when it is not scored."""
    references = references_of(case)
    if status_of(case, attempt) not in COUNTED or not references:
        return None
    fields = {**case.labels, **case.public, **(case.hidden.get("fields") or {})}
    return _input(
        case.id,
        str(case.public.get("source") or ""),
        attempt.output,
        references,
        raw=attempt.raw_output,
        failed=attempt.failure is not None,
        fields={**fields, "id": case.id, "references": references},
        form=form,
        languages=languages,
    )


def kept_fields(case: Case) -> dict[str, Json]:
    """Return the fields of the suite's entry that a row has no other place for."""
    every = {**case.public, **(case.hidden.get("fields") or {})}
    return {
        key: storable(value)
        for key, value in every.items()
        if key != "source" and value not in (None, "") and case.labels.get(key) != value
    }


def gold_of_cases(
    cases: Iterable[Case], form: Normalization, languages: Languages
) -> list[MetricInput]:
    """Return entries with their first reference as the output, ``MAX_GOLD`` at most."""
    known = [case for case in cases if case.problem is None and references_of(case)]
    return [
        one
        for case in spread(known, MAX_GOLD)
        if (one := case_input(case, _gold_attempt(case), form, languages)) is not None
    ]


def gold_of_rows(
    rows: Iterable[Mapping[str, Json]], form: Normalization, languages: Languages
) -> list[MetricInput]:
    """Return the same of stored rows."""
    known = [row for row in rows if is_counted(row)]
    return [
        row_input(
            {
                **row,
                "status": "ok",
                "predicted": row_references(row)[0],
                "raw_predicted": row_references(row)[0],
            },
            form,
            languages,
        )
        for row in spread(known, MAX_GOLD)
    ]


def own_copies(inputs: Iterable[MetricInput]) -> list[MetricInput]:
    """Return inputs that a foreign metric may change without anybody else seeing it.

    The fields of an entry are those of the suite itself, for all metrics and for the card.
    """
    return [
        MetricInput.model_construct(**{**vars(one), "fields": deepcopy(dict(one.fields))})
        for one in inputs
    ]


def was_cut(one: MetricInput, metrics: Mapping[str, Metric]) -> list[str]:
    """Return the ids of the metrics that looked only at the beginning of a side."""
    longest = max(map(len, (one.output, *one.references)))
    return [name for name in metrics if longest > LIMITS.get(name, longest)]


def spread(items: Sequence[_T], most: int) -> Sequence[_T]:
    """Return at most so many of the items, evenly spread, in their order."""
    if len(items) <= most:
        return items
    return [items[place * len(items) // most] for place in range(most)]


def _gold_attempt(case: Case) -> Attempt:
    text = references_of(case)[0]
    return Attempt(id=case.id, output=text, raw_output=text)


def row_input(
    row: Mapping[str, Json], form: Normalization, languages: Languages = UNKNOWN
) -> MetricInput:
    """Return what the metrics see of a counted row."""
    references = row_references(row)
    fields = {key: row[key] for key in _ROW_FIELDS if row.get(key) is not None}
    fields.update(row.get("fields") or {})
    source = str(row.get("source") or "")
    return _input(
        str(row.get("entry_id")),
        source,
        row.get("predicted"),
        references,
        raw=row.get("raw_predicted"),
        failed=row.get("status") != "ok",
        fields={**fields, "id": row.get("entry_id"), "source": source, "references": references},
        form=form,
        languages=languages,
    )


def _input(
    id: str,
    source: str,
    output: str | None,
    references: list[str],
    *,
    raw: str | None,
    failed: bool,
    fields: Mapping[str, Json],
    form: Normalization,
    languages: Languages,
) -> MetricInput:
    # A failed attempt and a blank output are the same miss for every metric.
    text = "" if failed or output is None or is_blank(output) else normalise(output, form)
    # The values are known to be right: a check of each would cost more than the metrics.
    return MetricInput.model_construct(
        id=id,
        source=normalise(source, form),
        output=text,
        references=tuple(normalise(reference, form) for reference in references),
        raw_output=raw or "",
        failed=failed,
        fields=fields,
        source_language=languages[0],
        target_language=languages[1],
    )
