"""The translation kind: suites of entries with references, scored by string metrics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pytest_mtarena.errors import ArenaError, CardError, ExtensionError, UsageError
from pytest_mtarena.protocols import Calibration, Metric, MetricInput, Referee, Report, Whole
from pytest_mtarena.records import (
    COUNTED,
    NO_REFERENCE,
    Attempt,
    Case,
    Grade,
    Json,
    Language,
    Scoring,
    Suite,
    SuiteSettings,
    base_row,
    status_of,
)
from pytest_mtarena.referee.composite import ID as COMPOSITE
from pytest_mtarena.referee.explain import explain_attempt
from pytest_mtarena.referee.fitting import Fitted, fit, restore
from pytest_mtarena.referee.inputs import (
    UNKNOWN,
    Languages,
    case_input,
    gold_of_cases,
    gold_of_rows,
    is_counted,
    kept_fields,
    references_of,
    row_input,
    row_references,
    was_cut,
)
from pytest_mtarena.referee.metrics.catalog import make_catalog, problem_of
from pytest_mtarena.referee.metrics.ids import EVERY_ID, LIMITS, MORE_IDS, RESOURCES_OF
from pytest_mtarena.referee.scores import (
    HEADLINE,
    NOTHING,
    RESERVED,
    TAKEN_ENDINGS,
    Panel,
    make_report,
)
from pytest_mtarena.referee.scripts import Tokenization, choose, tokenization_of
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.summary import summarise
from pytest_mtarena.referee.table import Table, make_table, stored_metrics
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

_TERMS = frozenset({"terminology_adherence", "consistency_score"})
"""The metrics that look for terms."""

_RESOURCES = {"semantic_model": "semantic_score", "comet_model": "comet_score"}
"""Resource that needs a package to the metric that uses it."""

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

    unscored = frozenset(
        {
            *("evidence", "metrics", "fst_accepted", "fst_analysis", "cut", "bleu_score"),
            *("chrf_score", "entry_chrf", "ter_score", "length_ratio"),
            *("exact_match", "exact_match_strict", "exact_match_lenient", "tool_calls"),
        }
    )
    """Fields of a row that scores are not made of."""

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        scoring: Scoring,
        tokenization: Tokenization,
        *,
        languages: Languages = UNKNOWN,
        gold: Callable[[], Sequence[MetricInput]] | None = None,
        calibration: Mapping[str, Mapping[str, Json]] | None = None,
        kept: Collection[str] = (),
        kept_signatures: Mapping[str, str] = MappingProxyType({}),
        reasons: Mapping[str, Json] = MappingProxyType({}),
        composite: bool = True,
        own: Collection[str] = (),
    ) -> None:
        """``own`` are the metrics of the contestant itself. They see references, so they are not
        shown an entry that it may be asked for again: one whose attempt failed.

        ``gold`` gives the suite's references to calibrate on, ``calibration`` a stored one;
        without both, the rows that are scored are what is calibrated on.

        ``kept`` are the metrics whose statistics are taken from the rows, ``kept_signatures``
        what the card says of how they were computed, ``reasons`` why its scores are null.
        """
        self.metrics = dict(metrics)
        """The selected metrics by id, built-in ones first."""
        self.scoring = scoring
        self.tokenization = tokenization
        self.languages = languages
        self._gold = gold
        self._calibration = calibration
        self._kept = frozenset(kept)
        self._kept_signatures = kept_signatures
        self._reasons = reasons
        self._composite = composite
        self._own = frozenset(own)
        self._fitted: Fitted | None = None

    def prepare(self) -> None:
        """Load every resource and calibrate; raises ArenaError for what cannot be used."""
        for resource, name in _RESOURCES.items():
            missing = getattr(self.metrics.get(name), "missing", None)
            given = getattr(self.scoring.resources, resource)
            if given and missing and "pip install" in missing:
                raise UsageError(f"--mt-{resource.replace('_', '-')}: {missing}")
        if self.scoring.resources.language_id:
            from pytest_mtarena.referee.language_id import missing as why_not

            if (missing := why_not()) is not None:
                raise UsageError(f"--mt-language-id: {missing}")
        self._fit(())
        for name, metric in self.metrics.items():
            if not getattr(metric, "missing", None) and (load := getattr(metric, "prepare", None)):
                _prepare(name, load)

    def grade(self, cases: Sequence[Case], attempts: Sequence[Attempt]) -> Sequence[Grade]:
        """Grade a batch; a failed attempt is scored as an empty output."""
        if not self.metrics:
            return [_NO_GRADE] * len(cases)
        made = [
            case_input(case, attempt, self.scoring.normalization, self.languages)
            for case, attempt in zip(cases, attempts, strict=True)
        ]
        inputs = [one for one in made if one is not None]
        found = iter(self._grades(self._judging(()), inputs) if inputs else ())
        grades: list[Grade] = []
        for case, attempt, one in zip(cases, attempts, made, strict=True):
            if one is None:
                grades.append(self._ungraded(case, attempt))
            else:
                grade = next(found)
                words = self._words(grade.scores, attempt)
                grades.append(grade.model_copy(update={"words": words}))
        return grades

    def row(self, case: Case, attempt: Attempt, grade: Grade) -> dict[str, Json]:
        """Return the card's row of a graded attempt."""
        references = references_of(case)
        row = base_row(case, attempt)
        row["source"] = case.public.get("source")
        row["reference"] = references[0] if references else None
        if len(references) > 1:
            row["references"] = references
        if fields := kept_fields(case):
            row["fields"] = fields
        if not self.metrics:
            return row  # a fifth of the time goes into writing that nothing was measured
        glossary = self.scoring.resources.glossary
        if glossary is not None and _TERMS & set(self.metrics):
            one = case_input(case, attempt, self.scoring.normalization)
            from pytest_mtarena.referee.metrics.terminology import terms_for_row

            terms = None if one is None else terms_for_row(one, glossary)
            if terms is not None:
                row["fields"] = {**fields, "glossary": terms}
        row |= _entry_fields(grade.scores)
        row |= _more_fields(grade)
        row |= _added_fields(grade)
        row["cut"] = []
        # Normalising may make a text longer, by a factor of three at most.
        if 3 * max(map(len, (attempt.output or "", *references))) > _LEAST_LIMIT:
            one = case_input(case, attempt, self.scoring.normalization)
            row["cut"] = [] if one is None else was_cut(one, self.metrics)
        if held := self._held(grade):
            row["metric_statistics"] = held
        return row

    def score(
        self,
        rows: Sequence[Mapping[str, Json]],
        statistics: Sequence[Mapping[str, Sequence[float]]] | None = None,
    ) -> Report:
        """Score rows in canonical order."""
        idle = {
            name: getattr(one, "missing", None) or NOTHING for name, one in self.metrics.items()
        }
        panel = Panel({}, self.metrics, idle, composite=self._composite)
        if rows:
            fitted = self._fit(rows)
            panel = Panel(
                {name: fitted.metrics[name] for name in self.metrics if name in fitted.metrics},
                self.metrics,
                fitted.unavailable,
                fitted.calibration,
                self._kept,
                self._kept_signatures,
                {name: str(self._reasons[name]) for name in self._kept if name in self._reasons},
                self.languages,
                self._composite,
                self._own,
            )
        return make_report(rows, statistics, panel, self.scoring, self.tokenization)

    def table(self, rows: Sequence[Mapping[str, Json]]) -> Table:
        """Return the statistics of the counted rows of a card, in their order.

        They are computed from the texts, with the metrics as the card fitted them; those of a
        metric that needed what is not here are taken from the rows.
        """
        fitted = self._fit(rows).metrics
        counted = [row for row in rows if is_counted(row)]
        chosen = self.scoring.metrics
        stored = [
            name
            for name in stored_metrics(counted)
            if name not in self.metrics
            and name not in RESERVED
            and (chosen is None or name in chosen)
        ]
        return make_table(
            counted,
            None,
            range(len(counted)),
            {name: fitted[name] for name in self.metrics if name in fitted},
            self.scoring.normalization,
            stored=stored,
            kept=self._kept,
            languages=self.languages,
        )

    def regrade(self, rows: Sequence[Mapping[str, Json]]) -> Iterator[dict[str, Json]]:
        """Yield for each stored row what the package's metrics say of its texts.

        Contributed metrics are left out, and those that needed what is not here.
        """
        if not self.metrics:  # then rows have no field that a metric fills
            yield from ({} for _ in rows)
            return
        from pytest_mtarena.referee.judging import judge

        metrics = {
            name: one
            for name, one in self._judging(rows).items()
            if name in EVERY_ID and name not in self._kept
        }
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            form = self.scoring.normalization
            inputs = [
                row_input(row, form, self.languages) if is_counted(row) else None for row in chunk
            ]
            known = [one for one in inputs if one is not None]
            judged = {name: judge(one, known) for name, one in metrics.items() if known}
            place = -1
            for row, one in zip(chunk, inputs, strict=True):
                held = self._held_values(row, one)
                told = dict(_pairs(row, "evidence", self._kept))
                # What contributed metrics found is as it stands, like their values.
                given = row.get("evidence") or {}
                told |= {name: what for name, what in given.items() if name not in EVERY_ID}
                if one is None:
                    yield {**_entry_fields({}), "cut": [], **_more_fields(_NO_GRADE)}
                    continue
                place += 1
                scores = {name: found.values[place] for name, found in judged.items()}
                told |= {
                    name: found.evidence[place]
                    for name, found in judged.items()
                    if found.evidence and found.evidence[place]
                }
                fresh = Grade.model_construct(scores={**scores, **held}, evidence=told)
                yield {
                    **_entry_fields(scores),
                    "cut": was_cut(one, self.metrics),
                    **_more_fields(fresh),
                    **self._right_statistics(row),
                }

    def _held_values(self, row: Mapping[str, Json], one: MetricInput | None) -> dict[str, Json]:
        """Return the values of a row that follow from the statistics that it brings."""
        found: dict[str, Json] = {}
        if one is None:
            return found
        import numpy as np

        for name, numbers in _pairs(row, "metric_statistics", self._kept):
            rows = np.asarray([numbers], np.float64)
            [value] = self.metrics[name].entry([one], rows)
            found[name] = value
        return found

    def _right_statistics(self, row: Mapping[str, Json]) -> dict[str, Json]:
        """Return those of a row's statistics that are the row's to bring, if it has others."""
        given = row.get("metric_statistics") or {}
        right = {
            name: numbers
            for name, numbers in given.items()
            if name in self._kept or name not in self.metrics
        }
        return {} if right == given else {"metric_statistics": right or None}

    def calibrate_again(self, rows: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Return what the package's metrics make of the references of all rows of a suite.

        Those that needed what is not here are left out.
        """
        own = {
            name: one
            for name, one in self.metrics.items()
            if name in EVERY_ID and name not in self._kept
        }
        fitted = fit(own, gold_of_rows(rows, self.scoring.normalization, self.languages))
        return {name: one.model_dump(mode="json") for name, one in fitted.calibration.items()}

    def rescore(
        self, rows: Sequence[Mapping[str, Json]]
    ) -> Iterator[tuple[dict[str, Json], Mapping[str, Sequence[float]]]]:
        """Yield each stored row as this referee's metrics judge it, with its statistics.

        What other metrics once said of it is dropped.
        """
        metrics = self._judging(rows)
        form = self.scoring.normalization
        for start in range(0, len(rows), _CHUNK):
            chunk = [self._with_terms(row) for row in rows[start : start + _CHUNK]]
            inputs = [
                row_input(row, form, self.languages) if is_counted(row) else None for row in chunk
            ]
            known = [one for one in inputs if one is not None]
            grades = iter(self._grades(metrics, known) if known else ())
            for row, one in zip(chunk, inputs, strict=True):
                grade = _NO_GRADE if one is None else next(grades)
                bare = {key: row[key] for key in row if key not in _JUDGED}
                fields = _entry_fields(grade.scores) | _more_fields(grade) | _added_fields(grade)
                if held := self._held(grade):
                    fields["metric_statistics"] = held
                cut_off = [] if one is None else was_cut(one, self.metrics)
                yield {**bare, **fields, "cut": cut_off}, grade.statistics

    def _with_terms(self, row: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return a stored row with the terms of today's glossary, if there is one."""
        glossary = self.scoring.resources.glossary
        if glossary is None or not _TERMS & set(self.metrics) or not is_counted(row):
            return row
        from pytest_mtarena.referee.metrics.terminology import terms_for_row

        terms = terms_for_row(row_input(row, self.scoring.normalization), glossary)
        if terms is None:
            return row
        return {**row, "fields": {**(row.get("fields") or {}), "glossary": terms}}

    def _grades(self, metrics: Mapping[str, Metric], inputs: Sequence[MetricInput]) -> list[Grade]:
        """Return what the metrics say of entries, without words."""
        from pytest_mtarena.referee.judging import judge, judge_said
        from pytest_mtarena.referee.metrics.base import present

        judged = {
            name: judge_said(metric, inputs) if name in self._own else judge(metric, inputs)
            for name, metric in metrics.items()
        }
        known = {name: present(one.rows).tolist() for name, one in judged.items()}
        rows = {name: one.rows.tolist() for name, one in judged.items()}
        telling = {name: one.evidence for name, one in judged.items() if any(one.evidence)}
        return [
            Grade.model_construct(
                scores={name: found.values[place] for name, found in judged.items()},
                reasons={
                    name: reason
                    for name, found in judged.items()
                    if (reason := found.kept_reason(place)) is not None
                },
                statistics={
                    name: tuple(rows[name][place]) for name in judged if known[name][place]
                },
                evidence={name: found[place] for name, found in telling.items() if found[place]},
            )
            for place in range(len(inputs))
        ]

    def _fit(self, rows: Sequence[Mapping[str, Json]]) -> Fitted:
        if self._fitted is None:
            # What the rows hold needs no fitting, and no resource.
            own = {name: one for name, one in self.metrics.items() if name not in self._kept}
            if self._calibration is not None:
                fitted = restore(own, self._calibration, self._reasons)
            elif self._gold is not None:
                fitted = fit(own, self._gold())
            else:
                form = self.scoring.normalization
                fitted = fit(own, gold_of_rows(rows, form, self.languages))
            for name in self._kept:
                if self._calibration is not None and name in self._calibration:
                    fitted.calibration[name] = Calibration.model_validate(self._calibration[name])
                if name in self._kept_signatures:
                    fitted.metrics[name] = self.metrics[name]
                else:  # it judged nothing: the resource did not fit the suite
                    fitted.unavailable[name] = str(self._reasons.get(name, NOTHING))
            self._fitted = fitted
        return self._fitted

    def _judging(self, rows: Sequence[Mapping[str, Json]]) -> dict[str, Metric]:
        """Return the metrics that judge entry by entry, in the order of the report."""
        fitted = self._fit(rows).metrics
        return {
            name: fitted[name]
            for name in self.metrics
            if name in fitted and not isinstance(fitted[name], Whole)
        }

    def _held(self, grade: Grade) -> dict[str, list[float]]:
        """Return the statistics that a stored card cannot be without."""
        if not self.metrics or self._fitted is None:
            return {}
        return {
            name: list(grade.statistics[name])
            for name, one in self._fitted.metrics.items()
            if name in grade.statistics and not getattr(one, "reproducible", True)
        }

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
            reasons=dict.fromkeys(self._judging(()), reason),
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

    def referee(
        self,
        suite: Suite,
        group: str,
        scoring: Scoring,
        metrics: Mapping[str, Metric] = MappingProxyType({}),
        /,
    ) -> Referee:
        """Return the referee for one language pair of a suite."""
        cases = [case for case in suite.cases if case.group == group]
        languages = _facts(suite.languages.get(group, (Language(), Language())), scoring)
        references = (text for case in cases for text in references_of(case))
        code = suite.languages.get(group, (Language(), Language()))[1].code
        tokenization = _tokenization(code, references, scoring)
        every = self._metrics(tokenization, scoring, languages, metrics)
        _check_asked(every, scoring)
        form = scoring.normalization
        return TranslationReferee(
            _selected(every, scoring),
            scoring,
            tokenization,
            languages=languages,
            gold=lambda: gold_of_cases(cases, form, languages),
            composite=_has_composite(scoring),
            own=metrics,
        )

    def referee_for_card(self, card: Mapping[str, Json]) -> Referee:
        """Return the referee that scored a stored card.

        A metric that is not installed here, or that needed a resource, is no error: the rows
        hold its values.
        """
        try:
            scoring = Scoring.model_validate(card["config"]["scoring"])
            named = card["dataset"]["languages"]
            pair = (
                Language(code=named["source_code"], name=named["source_name"]),
                Language(code=named["target_code"], name=named["target_name"]),
            )
            rows = cast("Sequence[Mapping[str, Json]]", card["results"])
        except (KeyError, TypeError, ValueError) as error:
            text = " ".join(str(error).split())
            raise CardError(f"the card does not say how it was scored: {text[:200]}") from error
        signatures = card.get("signatures") or {}
        tokenization = tokenization_of(
            signatures.get("bleu_tokenizer"),
            signatures.get("ter"),
            _tokenization(pair[1].code, _row_references(rows), scoring),
        )
        languages = _facts(pair, scoring)
        metrics = _selected(self._metrics(tokenization, scoring, languages), scoring)
        held = {name for row in rows for name in row.get("metric_statistics") or ()}
        valued = {name for row in rows for name in row.get("metrics") or ()}
        kept = {
            name
            for name, metric in metrics.items()
            if _may_be_held(name, metric, scoring)
            and (name in held or (name in _HELD_WITH and name not in valued))
        }
        return TranslationReferee(
            metrics,
            scoring,
            tokenization,
            languages=languages,
            calibration=card.get("detector_calibration"),
            kept=kept,
            kept_signatures={
                name: text for name, text in signatures.items() if isinstance(text, str)
            },
            reasons=card.get("metric_availability") or {},
            composite=_has_composite(scoring),
            own=_owned(card),
        )

    def referee_for_rows(
        self, pair: tuple[Language, Language], rows: Sequence[Mapping[str, Json]], scoring: Scoring
    ) -> Referee:
        """Return a referee that scores stored rows anew, with the resources that are here."""
        languages = _facts(pair, scoring)
        tokenization = _tokenization(pair[1].code, _row_references(rows), scoring)
        metrics = self._metrics(tokenization, scoring, languages)
        _check_asked(metrics, scoring)
        return TranslationReferee(
            _selected(metrics, scoring),
            scoring,
            tokenization,
            languages=languages,
            composite=_has_composite(scoring),
        )

    def catalog(self) -> dict[str, Metric]:
        """Return every metric that is known here, for people to look at."""
        return self._metrics(choose("", ()), Scoring(), UNKNOWN)

    def _metrics(
        self,
        tokenization: Tokenization,
        scoring: Scoring,
        languages: Languages,
        own: Mapping[str, Metric] = MappingProxyType({}),
    ) -> dict[str, Metric]:
        if scoring.metrics == ():
            return {}
        setting = Setting(*languages, tokenization.unsegmented, scoring.resources)
        metrics = make_catalog(tokenization, setting)
        extra = self.extra_metrics() if self.extra_metrics is not None else {}
        for name in own:
            if name in extra:
                raise ExtensionError(f"metric {name!r} is defined twice: by a plug-in and a method")
        for name, metric in {**extra, **own}.items():
            if name in RESERVED or name.endswith(TAKEN_ENDINGS):
                raise ExtensionError(
                    f"metric {name!r} has the name of a built-in score; give it another id"
                )
            if problem := problem_of(metric):
                raise ExtensionError(f"metric {printable(name)!r}: {problem}")
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


def _more_fields(grade: Grade) -> dict[str, Json]:
    """Return the fields of a row that hold what the other metrics of the package say."""
    tried = grade.evidence.get("fst_acceptance_rate") or {}
    fields: dict[str, Json] = {
        "fst_accepted": tried.get("accepted"),
        "fst_analysis": tried.get("rejected", []),
    }
    if values := {
        name: round(value, 6)
        for name, value in grade.scores.items()
        if value is not None and name in MORE_IDS
    }:
        fields["metrics"] = values
    if grade.evidence:
        fields["evidence"] = dict(grade.evidence)
    return fields


def _added_fields(grade: Grade) -> dict[str, Json]:
    """Return the fields of a row about contributed metrics, and about values that are lacking."""
    return {
        "plugin_metrics": {
            name: value for name, value in grade.scores.items() if name not in EVERY_ID
        },
        "metric_reasons": dict(grade.reasons),
    }


_JUDGED = frozenset(
    {
        *_ENTRY_KEYS,
        *_EXACT_KEYS,
        *("cut", "fst_accepted", "fst_analysis", "metrics", "evidence", "metric_statistics"),
        *("plugin_metrics", "metric_reasons"),
    }
)
"""The fields of a row that metrics fill."""


_HELD_WITH: dict[str, tuple[str, ...]] = {
    "spbleu": (),
    # The terms of a glossary stand in the rows.
    **{name: needed for name, needed in RESOURCES_OF.items() if "glossary" not in needed},
}
"""Metric to the resources without which its statistics follow from the texts of the rows.

No resource: what it needs is no option, so that no card says whether it was there.
"""


def _may_be_held(name: str, metric: Metric, scoring: Scoring) -> bool:
    """Say whether a card's rows may bring the statistics of a metric.

    All others are computed from the texts: who edits a card could else give it any score.
    """
    if name not in EVERY_ID:
        return not getattr(metric, "reproducible", True)
    needed = _HELD_WITH.get(name)
    return needed == () or any(one in scoring.resource_facts for one in needed or ())


def _prepare(name: str, load: Callable[[], object]) -> None:
    from pytest_mtarena.referee.metrics.base import FAULTS, fault

    try:
        load()
    except ArenaError:
        raise
    except FAULTS as error:
        raise ExtensionError(f"metric {name!r}: prepare failed: {fault(error)}") from error


def _pairs(row: Mapping[str, Json], key: str, names: Collection[str]) -> Iterator[tuple[str, Json]]:
    return ((name, value) for name, value in (row.get(key) or {}).items() if name in names)


def _selected(metrics: Mapping[str, Metric], scoring: Scoring) -> dict[str, Metric]:
    wanted = scoring.metrics
    return {name: one for name, one in metrics.items() if wanted is None or name in wanted}


def _owned(card: Mapping[str, Json]) -> list[str]:
    """Return the metrics of a card that its method brought along."""
    about = card.get("metrics") or {}
    return [name for name, one in about.items() if (one or {}).get("owner") == "method"]


def _has_composite(scoring: Scoring) -> bool:
    return scoring.metrics is None or COMPOSITE in scoring.metrics


def _check_asked(metrics: Mapping[str, Metric], scoring: Scoring) -> None:
    """Raise UsageError for a metric that was asked for by name and cannot be had."""
    asked = [name for name in scoring.metrics or () if name != COMPOSITE]
    if unknown := [name for name in asked if name not in metrics]:
        raise UsageError(
            f"there is no metric {', '.join(map(repr, unknown))} "
            f"(known: {', '.join([*metrics, COMPOSITE])})"
        )
    for name in asked:
        if missing := getattr(metrics[name], "missing", None):
            raise UsageError(f"metric {name}: {missing}")


def _facts(pair: tuple[Language, Language], scoring: Scoring) -> Languages:
    """Return what is known of both languages."""
    if scoring.metrics == ():
        return UNKNOWN
    from pytest_mtarena.languages.cards import load_cards
    from pytest_mtarena.languages.table import find_language

    directory = scoring.resources.cards_dir
    cards = None if directory is None else load_cards(directory)
    source, target = (find_language(one.code, one.name, cards=cards) for one in pair)
    return source, target


def _tokenization(code: str, references: Iterable[str], scoring: Scoring) -> Tokenization:
    """Return how words are found; without metrics nothing has to be found."""
    texts = () if scoring.metrics == () else references
    chosen = choose(code, texts, scoring.bleu_tokenize)
    if scoring.ter_asian is None:
        return chosen
    return chosen.model_copy(update={"asian": scoring.ter_asian})


def _row_references(rows: Iterable[Mapping[str, Json]]) -> Iterable[str]:
    return (text for row in rows for text in row_references(row))
