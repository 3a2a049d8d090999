"""Whether the terms of a glossary are translated as the glossary says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mtarena.protocols import Calibration, Finding, Metric, MetricInput, Validation
from pytest_mtarena.records import Json
from pytest_mtarena.referee.glossary import (
    BadTerm,
    cached_glossary,
    own_glossary,
)
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.terms import Glossary, Prose, Use, found_terms, uses_of
from pytest_mtarena.text import cut

NO_GLOSSARY = "needs --mt-glossary PATH, or entries with a glossary"
NO_TERMS = "no term of the glossary in the source"
LISTED = 20
"""Items of a list of evidence, at most."""


@dataclass(frozen=True)
class TerminologyAdherence(PooledMetric):
    """The share of the sources' terms whose translation is one that the glossary accepts, 0-1.

    Counted are occurrences, over all entries together: an output keeps a term as often as it has
    one of its targets, as often as the source has the term at most. A target counts in other
    forms of its words too (see ``is_form``); a term of the source must stand as it is written but
    for case. A forbidden target is a miss, and named. A failed or blank output keeps no term.
    An entry without terms has no value.
    """

    id: str = "terminology_adherence"
    title: str = "terminology"
    validation: Validation = "heuristic"
    needs: tuple[str, ...] = ("a glossary",)
    columns: tuple[str, ...] = ("kept", "occurrences", "forbidden")
    path: Path | None = None
    """The file of the glossary; entries may carry terms of their own, which come first."""

    def prepare(self) -> None:
        """Read the glossary; raises UsageError for what is wrong in it."""
        if self.path is not None:
            cached_glossary(self.path)

    def examine(self, inputs: Sequence[MetricInput]) -> Sequence[Finding]:
        """Return one finding per input; raises UsageError for a broken glossary."""
        self.prepare()  # a broken file is a fault of the run, not of each entry
        return super().examine(inputs)

    def find(self, one: MetricInput) -> Finding:
        """Return how many of an entry's terms were kept."""
        try:
            glossaries = glossaries_of(one, self.path)
        except BadTerm as error:  # what the suite says, not a fault of the metric
            return nothing(str(error))
        if not glossaries:
            return nothing(NO_GLOSSARY)
        uses = uses_of(found_terms(Prose(one.source), glossaries), Prose(one.output))
        if not uses:
            return nothing(NO_TERMS)
        kept = sum(use.kept for use in uses)
        count = sum(use.times for use in uses)
        forbidden = sum(len(use.forbidden) for use in uses)
        return Finding((kept, count, forbidden), kept / count, None, _evidence(uses))

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Return the metric, and the share of references with terms that miss one of them."""
        found = [one for one in self.examine(gold) if one.statistics is not None]
        missed = sum(one.value != 1 for one in found)
        kept, count, forbidden = (
            (sum(column) for column in zip(*(one.statistics or () for one in found), strict=True))
            if found
            else (0, 0, 0)
        )
        facts = {"kept": kept, "occurrences": count, "forbidden": forbidden, "entries": len(found)}
        rate = round(missed / len(found), 6) if found else None
        return self, Calibration(n=len(gold), rate=rate, facts=facts)

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric: nothing of it is fitted."""
        return self


def terms_for_row(one: MetricInput, path: Path) -> dict[str, Json] | None:
    """Return the terms that count in an entry's source, as an entry's own glossary.

    With them in its row a stored card needs no glossary to be scored again. Empty when none does;
    None when the entry's own glossary is broken.
    """
    try:
        found = found_terms(Prose(one.source), glossaries_of(one, path))
    except BadTerm:  # the metric says so
        return None
    return {
        each.term.source: {"accept": list(each.term.accept), "forbid": list(each.term.forbid)}
        for each in found
    }


def glossaries_of(one: MetricInput, path: Path | None) -> list[Glossary]:
    """Return the glossaries that count for an entry, its own first; raises BadTerm."""
    try:
        own = own_glossary(one.fields)
    except BadTerm as error:
        raise BadTerm(f"the entry's glossary: {error}") from None
    shared = None if path is None else cached_glossary(path)
    return [glossary for glossary in (own, shared) if glossary is not None]


def _evidence(uses: Sequence[Use]) -> Json:
    missed = [
        {
            "term": cut(use.term.source, 200),
            "expected": [cut(target, 200) for target in use.term.accept[:5]],
            "occurrences": use.times,
            "kept": use.kept,
        }
        for use in uses
        if use.kept < use.times
    ]
    forbidden = [
        {"term": cut(use.term.source, 200), "found": cut(target, 200)}
        for use in uses
        for target in use.forbidden
    ]
    told = {"missed": missed[:LISTED], "forbidden": forbidden[:LISTED]}
    return {name: items for name, items in told.items() if items} or None


def make(setting: Setting) -> list[Metric]:
    """Return the metric of this module."""
    return [TerminologyAdherence(path=setting.resources.glossary)]
