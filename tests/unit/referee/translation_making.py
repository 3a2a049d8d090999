"""Small translation suites and runs, made in a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_mtarena.protocols import MetricInput
from pytest_mtarena.records import Attempt, Case, Failure, Language, Scoring, Suite
from pytest_mtarena.referee.translation import TranslationKind, TranslationReferee

GROUP = "eng-sme"


def case(
    index: int,
    source: str,
    references: str | Sequence[str],
    *,
    id: str | None = None,
    problem: str | None = None,
    fields: Mapping[str, Any] | None = None,
    **labels: str | int,
) -> Case:
    """Return a case; a lone reference may be given as a string."""
    several = [references] if isinstance(references, str) else list(references)
    return Case(
        id=id or f"e{index + 1}",
        index=index,
        group=GROUP,
        kind="translation",
        public={"source": source},
        hidden={"references": several, "fields": dict(fields or {})},
        labels=labels,
        problem=problem,
    )


def said(case: Case, output: str) -> Attempt:
    """Return an attempt with an output."""
    return Attempt(id=case.id, output=output, raw_output=output)


def failed(case: Case, message: str = "HTTP 500") -> Attempt:
    """Return a failed attempt."""
    return Attempt(id=case.id, failure=Failure(kind="exception", message=message))


def suite_of(cases: Iterable[Case], code: str = "sme") -> Suite:
    """Return a suite of one language pair."""
    every = tuple(cases)
    return Suite(
        kind="translation",
        id="small",
        path=Path("small.json"),
        format="json",
        sha256="",
        content_sha256="",
        cases=every,
        entry_count=len(every),
        languages={GROUP: (Language(code="eng"), Language(code=code))},
    )


class Run:
    """A graded run: cases, attempts, grades, rows, statistics and the referee."""

    def __init__(
        self,
        pairs: Sequence[tuple[Case, Attempt]],
        scoring: Scoring | None = None,
        *,
        code: str = "sme",
        kind: TranslationKind | None = None,
        batch: int = 3,
    ) -> None:
        self.scoring = scoring or Scoring(n_bootstrap=50)
        self.kind = kind or TranslationKind()
        self.cases = [one for one, _ in pairs]
        self.attempts = [one for _, one in pairs]
        referee = self.kind.referee(suite_of(self.cases, code), GROUP, self.scoring)
        assert isinstance(referee, TranslationReferee)
        self.referee = referee
        self.grades = [
            grade
            for start in range(0, len(pairs), batch)
            for grade in referee.grade(
                self.cases[start : start + batch], self.attempts[start : start + batch]
            )
        ]
        self.rows = [
            strict(referee.row(*one))
            for one in zip(self.cases, self.attempts, self.grades, strict=True)
        ]
        self.statistics = [strict(dict(grade.statistics)) for grade in self.grades]
        self.report = referee.score(self.rows, self.statistics)
        self.scores = strict(dict(self.report.scores))

    def card(self, **changes: Any) -> dict[str, Any]:
        """Return as much of a card as the referee reads."""
        card = {
            "kind": "translation",
            "complete": True,
            "dataset": {
                "entry_count": len(self.cases),
                "languages": {
                    "group": GROUP,
                    "source_code": "eng",
                    "source_name": "",
                    "target_code": "sme",
                    "target_name": "",
                },
            },
            "config": {"scoring": self.scoring.model_dump(mode="json")},
            "scores": self.scores,
            "signatures": dict(self.report.signatures),
            "headline": self.report.headline,
            "metrics": {name: dict(one) for name, one in self.report.metrics.items()},
            "detector_calibration": {
                name: dict(one) for name, one in self.report.calibration.items()
            },
            "caveats": list(self.report.caveats),
            "metric_availability": dict(self.report.availability),
            "results": self.rows,
        }
        return strict({**card, **changes})


def run_of(*triples: tuple[str, str | Sequence[str], str], **settings: Any) -> Run:
    """Return a run of (source, references, output)."""
    cases = [case(index, source, refs) for index, (source, refs, _) in enumerate(triples)]
    outputs = [output for _, _, output in triples]
    pairs = [(one, said(one, output)) for one, output in zip(cases, outputs, strict=True)]
    return Run(pairs, **settings)


def strict(value: Any) -> Any:
    """Return a value as it comes back from strict JSON; fails for what JSON has not."""
    return json.loads(json.dumps(value, allow_nan=False))


def inputs_of(*pairs: tuple[str, Sequence[str]]) -> list[MetricInput]:
    """Return what metrics see of (output, references)."""
    return [
        MetricInput(id=str(i), source="", output=output, references=tuple(references))
        for i, (output, references) in enumerate(pairs)
    ]


def streams(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """Return references entry by entry as sacreBLEU's streams, None where an entry has fewer."""
    most = max(map(len, references))
    return [
        [several[i] if i < len(several) else None for several in references] for i in range(most)
    ]
