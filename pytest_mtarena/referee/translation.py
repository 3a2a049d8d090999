"""The translation kind: suites of entries with references, scored by string metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from pytest_mtarena.errors import CardError, ExtensionError, UsageError
from pytest_mtarena.protocols import Metric, Referee, Report
from pytest_mtarena.records import (
    COUNTED,
    NO_REFERENCE,
    Attempt,
    Case,
    Grade,
    Json,
    Scoring,
    Suite,
    SuiteSettings,
    base_row,
    status_of,
)
from pytest_mtarena.referee.explain import explain_attempt
from pytest_mtarena.referee.inputs import (
    case_input,
    is_counted,
    references_of,
    row_input,
    row_references,
)
from pytest_mtarena.referee.judging import judge, was_cut
from pytest_mtarena.referee.metrics.base import present
from pytest_mtarena.referee.metrics.builtin import IDS, LIMITS, make_builtin
from pytest_mtarena.referee.scores import HEADLINE, RESERVED, make_report
from pytest_mtarena.referee.scripts import Tokenization, choose, tokenization_of
from pytest_mtarena.referee.summary import summarise
from pytest_mtarena.text import cut, printable

_ENTRY_KEYS = {
    "entry_chrf": ("chrf_plus_plus", 2),
    "chrf_score": ("chrf", 2),
    "bleu_score": ("bleu", 2),
    "ter_score": ("ter", 2),
    "length_ratio": ("length_ratio", 4),
}
"""Key of a row to the metric and the decimals of its value."""

_CHUNK = 256

_NO_GRADE = Grade(scores={})
"""The grade of everything when no metric is selected."""
_LEAST_LIMIT = min(LIMITS.values())

_EXACT_KEYS = {
    "exact_match": "exact_match_rate",
    "exact_match_strict": "exact_match_strict",
    "exact_match_lenient": "exact_match_lenient",
}


class TranslationReferee:
    """Grades and scores the attempts at the entries of one language pair."""

    def __init__(
        self, metrics: Mapping[str, Metric], scoring: Scoring, tokenization: Tokenization
    ) -> None:
        self.metrics = dict(metrics)
        """The selected metrics by id, built-in ones first."""
        self.scoring = scoring
        self.tokenization = tokenization

    def grade(self, cases: Sequence[Case], attempts: Sequence[Attempt]) -> Sequence[Grade]:
        """Grade a batch; a failed attempt is scored as an empty output."""
        if not self.metrics:
            return [_NO_GRADE] * len(cases)
        made = [
            case_input(case, attempt, self.scoring.normalization)
            for case, attempt in zip(cases, attempts, strict=True)
        ]
        inputs = [one for one in made if one is not None]
        judged = {name: judge(metric, inputs) for name, metric in self.metrics.items() if inputs}
        known = {name: present(one.rows).tolist() for name, one in judged.items()}
        rows = {name: one.rows.tolist() for name, one in judged.items()}
        grades: list[Grade] = []
        place = -1
        for case, attempt, one in zip(cases, attempts, made, strict=True):
            if one is None:
                grades.append(self._ungraded(case, attempt))
                continue
            place += 1
            scores = {name: found.values[place] for name, found in judged.items()}
            reasons = {
                name: reason
                for name, found in judged.items()
                if (reason := found.reasons[place]) is not None
            }
            grades.append(
                Grade.model_construct(
                    scores=scores,
                    reasons=reasons,
                    statistics={
                        name: tuple(rows[name][place]) for name in judged if known[name][place]
                    },
                    words=self._words(scores, attempt),
                )
            )
        return grades

    def row(self, case: Case, attempt: Attempt, grade: Grade) -> dict[str, Json]:
        """Return the card's row of a graded attempt."""
        references = references_of(case)
        row = base_row(case, attempt)
        row["source"] = case.public.get("source")
        row["reference"] = references[0] if references else None
        if len(references) > 1:
            row["references"] = references
        row |= _entry_fields(grade.scores)
        row["fst_accepted"] = None
        row["fst_analysis"] = []
        row["plugin_metrics"] = {
            name: value for name, value in grade.scores.items() if name not in IDS
        }
        row["metric_reasons"] = dict(grade.reasons)
        row["cut"] = []
        # Normalising may make a text longer, by a factor of three at most.
        if 3 * max(map(len, (attempt.output or "", *references))) > _LEAST_LIMIT:
            one = case_input(case, attempt, self.scoring.normalization)
            row["cut"] = [] if one is None else was_cut(one, self.metrics)
        return row

    def score(
        self,
        rows: Sequence[Mapping[str, Json]],
        statistics: Sequence[Mapping[str, Sequence[float]]] | None = None,
    ) -> Report:
        """Score rows in canonical order."""
        return make_report(rows, statistics, self.metrics, self.scoring, self.tokenization)

    def regrade(self, rows: Sequence[Mapping[str, Json]]) -> Iterator[dict[str, Json]]:
        """Yield for each stored row what the built-in metrics say of its texts.

        Contributed metrics are left out: they may need fields that rows do not have.
        """
        builtin = {name: one for name, one in self.metrics.items() if name in IDS}
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            form = self.scoring.normalization
            inputs = [row_input(row, form) if is_counted(row) else None for row in chunk]
            known = [one for one in inputs if one is not None]
            judged = {name: judge(one, known).values for name, one in builtin.items() if known}
            place = -1
            for one in inputs:
                if one is None:
                    yield {**_entry_fields({}), "cut": []}
                    continue
                place += 1
                scores = {name: values[place] for name, values in judged.items()}
                yield {**_entry_fields(scores), "cut": was_cut(one, self.metrics)}

    def explain(self, case: Case, attempt: Attempt, grade: Grade | None) -> str:
        """Return source, references, output and what differs; for a failure why."""
        source = str(case.public.get("source") or "")
        return explain_attempt(source, references_of(case), attempt)

    def summary(self, card: Mapping[str, Json], *, verbosity: int, width: int) -> list[str]:
        """Return the lines of the end-of-session block for a card, headline first."""
        return summarise(card, verbosity=verbosity, width=width)

    def _ungraded(self, case: Case, attempt: Attempt) -> Grade:
        status = status_of(case, attempt)
        reason = case.problem or (NO_REFERENCE if status in COUNTED else status)
        return Grade(
            scores=dict.fromkeys(self.metrics),
            reasons=dict.fromkeys(self.metrics, reason),
            words=f"not scored: {reason}",
        )

    def _words(self, scores: Mapping[str, float | None], attempt: Attempt) -> str:
        if attempt.failure is not None:
            return f"{attempt.failure.status}: {cut(printable(attempt.failure.message), 60)}"
        name = HEADLINE if HEADLINE in scores else next(iter(scores), None)
        if name is None:
            return ""
        value = scores[name]
        title = printable(self.metrics[name].title)
        if value is None:
            return f"{title} –"
        return f"{title} {value:.1f}" if name == HEADLINE else f"{title} {value:.4g}"


class TranslationKind:
    """Reads translation suites and makes their referees."""

    name = "translation"

    def __init__(self, extra_metrics: Callable[[], Mapping[str, Metric]] | None = None) -> None:
        self.extra_metrics = extra_metrics
        """Returns the contributed metrics by id; asked each time a referee is made."""

    def recognises(self, path: Path) -> bool:
        """Say by the suffix alone whether a file may be a translation suite."""
        from pytest_mtarena.suites.corpus import recognises

        return recognises(path)

    def open(self, path: Path, settings: SuiteSettings) -> Suite | None:
        """Read and check a suite, filters applied; None for a file of another sort."""
        from pytest_mtarena.suites.corpus import open_corpus

        return open_corpus(path, settings)

    def referee(self, suite: Suite, group: str, scoring: Scoring) -> Referee:
        """Return the referee for one language pair of a suite."""
        _, target = suite.languages.get(group, (None, None))
        references = (
            text for case in suite.cases if case.group == group for text in references_of(case)
        )
        tokenization = choose(
            target.code if target is not None else "", references, scoring.bleu_tokenize
        )
        metrics = self._metrics(tokenization)
        unknown = [name for name in scoring.metrics or () if name not in metrics]
        if unknown:
            raise UsageError(
                f"there is no metric {', '.join(map(repr, unknown))} "
                f"(known: {', '.join(metrics) or 'none'})"
            )
        return TranslationReferee(_selected(metrics, scoring), scoring, tokenization)

    def referee_for_card(self, card: Mapping[str, Json]) -> Referee:
        """Return the referee that scored a stored card.

        A metric that is not installed here is no error: the rows hold its values.
        """
        try:
            scoring = Scoring.model_validate(card["config"]["scoring"])
            code = str(card["dataset"]["languages"]["target_code"])
            rows = cast("Sequence[Mapping[str, Json]]", card["results"])
        except (KeyError, TypeError, ValueError) as error:
            text = " ".join(str(error).split())
            raise CardError(f"the card does not say how it was scored: {text[:200]}") from error
        signatures = card.get("signatures") or {}
        tokenization = tokenization_of(
            signatures.get("bleu_tokenizer"),
            signatures.get("ter"),
            choose(code, _row_references(rows), scoring.bleu_tokenize),
        )
        return TranslationReferee(
            _selected(self._metrics(tokenization), scoring), scoring, tokenization
        )

    def _metrics(self, tokenization: Tokenization) -> dict[str, Metric]:
        metrics = make_builtin(tokenization.bleu, asian=tokenization.asian)
        extra = self.extra_metrics() if self.extra_metrics is not None else {}
        for name, metric in extra.items():
            if name in RESERVED:
                raise ExtensionError(
                    f"metric {name!r} has the name of a built-in score; give it another id"
                )
            metrics[name] = metric
        return metrics


def _entry_fields(scores: Mapping[str, float | None]) -> dict[str, Json]:
    """Return the fields of a row that hold values of built-in metrics."""
    fields: dict[str, Json] = {}
    for key, name in _EXACT_KEYS.items():
        value = scores.get(name)
        fields[key] = None if value is None else value == 1.0
    for key, (name, decimals) in _ENTRY_KEYS.items():
        value = scores.get(name)
        fields[key] = None if value is None else round(value, decimals)
    return fields


def _selected(metrics: Mapping[str, Metric], scoring: Scoring) -> dict[str, Metric]:
    wanted = scoring.metrics
    return {name: one for name, one in metrics.items() if wanted is None or name in wanted}


def _row_references(rows: Iterable[Mapping[str, Json]]) -> Iterable[str]:
    return (text for row in rows for text in row_references(row))
