"""Morphological accuracy: how many words of the reference come back as the same word form.

Each word of the reference, explained by a morphological analyser, needs a word of the output with
the same lemma and the same features, in any place; each word of the output serves once. A word
with several analyses agrees when any of them is one of the other's. The right lemma in a wrong
inflection does not agree and is counted beside the score.

An entry may bring its own analysis in the field ``gold_analysis`` (or ``analysis``): a list with
an item a word, in the analyser's own tags. An item is an analysis as the analyser writes it
(``casa<n><f><sg>``, ``tam+V+Sg``), or an object with ``lemma`` and ``features`` (a list, a text
with ``|`` or blanks between them, or an object such as ``{"Number": "Sing"}``), or an object with
``analyses`` (a list of texts, any of which will do). ``form`` is for people. Only what the
analyser finds in the reference itself is asked for, so that the reference always scores 1.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pytest_mtarena.protocols import (
    Calibration,
    Finding,
    Metric,
    MetricInput,
    MetricRole,
    Validation,
)
from pytest_mtarena.records import Json
from pytest_mtarena.referee.analysers import Analysis, Reader, parse_analysis
from pytest_mtarena.referee.metrics.fst import (
    MAX_LISTED,
    MAX_TEXT,
    NEEDS,
    calibration_of,
    reader_for,
)
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.words import words_of

GOLD_FIELDS = ("gold_analysis", "analysis")
"""Where an entry's own analysis may stand."""
NOT_KNOWN = "no word of the reference has an analysis"
GOLD_NOT_FOUND = "the analyser finds nothing of the gold analysis in the reference"
MAX_UNITS = 5_000
"""Words further on are not looked at, on either side."""
MAX_VISITS = 200_000
"""How long a better pairing is looked for. Ordinary texts are far from it."""

Analyses = tuple[Analysis, ...]
"""What a word may be; in an order, so that what is found is the same in every process."""

_parsed = lru_cache(maxsize=1 << 16)(parse_analysis)


class Side(NamedTuple):
    """The words of a text that have analyses."""

    forms: Sequence[str]
    analyses: Sequence[Analyses]
    unknown: int
    """Words without an analysis."""


def side(reader: Reader, text: str) -> Side:
    """Analyse the words of a text; parts that are words by themselves are taken singly."""
    forms: list[str] = []
    analyses: list[Analyses] = []
    unknown = 0
    words = (word for word in words_of(text) if word.kind == "word")
    for word in islice(words, MAX_UNITS):
        try:
            units = reader.units(word.text)
        except Exception:  # of a look-up, whatever it is: it says nothing of the word
            units = ()
        known = [(form, readings) for form, readings in units if readings]
        unknown += not known
        forms += [form[:MAX_TEXT] for form, _ in known]
        analyses += [tuple(map(_parsed, readings)) for _, readings in known]
    return Side(forms, analyses, unknown)


def pair(left: Sequence[Analyses], right: Sequence[Analyses]) -> list[int]:
    """Pair as many of the left as possible with one each of the right that it agrees with.

    Returns the right's index for each of the left, -1 for none. Words with the very same analyses
    are paired first, in time linear in their number; that is not always best, so each word left
    over looks for a chain of exchanges that makes room for it (an augmenting path, Berge 1957).
    When no chain is left the pairing is a largest one. After ``MAX_VISITS`` steps the search ends
    and what was found stands.
    """
    partner = [-1] * len(left)
    taken = [-1] * len(right)
    same: dict[frozenset[Analysis], list[int]] = defaultdict(list)
    by_analysis: dict[Analysis, list[int]] = defaultdict(list)
    for index in range(len(right) - 1, -1, -1):
        same[frozenset(right[index])].append(index)
        for analysis in dict.fromkeys(right[index]):
            by_analysis[analysis].append(index)
    for index, analyses in enumerate(left):
        equal = same.get(frozenset(analyses))
        if equal:
            partner[index] = equal.pop()
            taken[partner[index]] = index
    visits = MAX_VISITS
    for index, found in enumerate(partner):
        if found < 0 and visits > 0:
            visits -= _augment(index, left, by_analysis, partner, taken, visits)
    return partner


def _augment(
    start: int,
    left: Sequence[Analyses],
    by_analysis: Mapping[Analysis, Sequence[int]],
    partner: list[int],
    taken: list[int],
    limit: int,
) -> int:
    """Make room for one of the left if that is possible; return the number of steps it took."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    steps = 0
    while queue and steps < limit:
        index = queue.popleft()
        for analysis in left[index]:
            for other in by_analysis.get(analysis, ()):
                steps += 1
                if other in came_from:
                    continue
                came_from[other] = index
                if taken[other] >= 0:
                    queue.append(taken[other])
                    continue
                _exchange(other, came_from, partner, taken)
                return steps
    return steps


def _exchange(
    free: int, came_from: Mapping[int, int], partner: list[int], taken: list[int]
) -> None:
    """Pair along the chain that ended at a free one of the right."""
    other = free
    while other >= 0:
        index = came_from[other]
        before = partner[index]
        partner[index], taken[other] = other, index
        other = before


def same_lemmas(left: Sequence[Analyses], right: Sequence[Analyses]) -> list[int]:
    """Return which of the left have a lemma of one of the right, each of these serving once."""
    free: dict[str, list[int]] = defaultdict(list)
    for index in range(len(right) - 1, -1, -1):
        for lemma in {analysis.lemma for analysis in right[index]}:
            free[lemma].append(index)
    used: set[int] = set()
    found: list[int] = []
    for index, analyses in enumerate(left):
        for lemma in sorted({analysis.lemma for analysis in analyses}):
            candidates = free.get(lemma, [])
            while candidates and candidates[-1] in used:
                candidates.pop()
            if candidates:
                used.add(candidates.pop())
                found.append(index)
                break
    return found


class _Result(NamedTuple):
    agreeing: int
    wanted: Side
    lemma_only: list[int]
    missed: list[int]

    @property
    def rate(self) -> float:
        return self.agreeing / len(self.wanted.forms)


def _compare(wanted: Side, output: Side) -> _Result:
    partner = pair(wanted.analyses, output.analyses)
    missed = [index for index, found in enumerate(partner) if found < 0]
    served = set(partner)
    free = [each for index, each in enumerate(output.analyses) if index not in served]
    lemmas = same_lemmas([wanted.analyses[index] for index in missed], free)
    return _Result(len(partner) - len(missed), wanted, [missed[n] for n in lemmas], missed)


@dataclass(frozen=True)
class MorphologicalAccuracy(PooledMetric):
    """The share of the reference's analysed words that the output has as the same form, 0-1.

    Over all entries: agreeing words over analysed words. With several references the best one
    counts. An empty output misses every word.
    """

    id: str = "morphological_accuracy"
    title: str = "morphological accuracy"
    role: MetricRole = "secondary"
    validation: Validation = "proxy"
    needs: tuple[str, ...] = NEEDS
    columns: tuple[str, ...] = (
        "agreeing_words",
        "analysed_words",
        "entries",
        "lemma_only",
        "unanalysed_words",
    )
    reproducible: bool = False
    reader: Reader | None = None
    """None when there is no analyser; ``missing`` says why."""

    def find(self, one: MetricInput) -> Finding:
        """Compare the output with the gold analysis, else with each reference.

        The evidence names the words of the reference that are missing, and those of them that
        are there in another inflection (``lemma_only``).
        """
        if self.reader is None:
            return nothing(self.missing or NEEDS[0])
        gold = gold_analyses(one.fields)
        references = [side(self.reader, each) for each in one.references]
        if gold:
            references = [_found_in_reference(gold, references[0])]
        references = [each for each in references if each.forms]
        if not references:
            return nothing(GOLD_NOT_FOUND if gold else NOT_KNOWN)
        output = side(self.reader, one.output)
        best = max((_compare(each, output) for each in references), key=lambda each: each.rate)
        counts = (
            best.agreeing,
            len(best.wanted.forms),
            1,
            len(best.lemma_only),
            best.wanted.unknown,
        )
        return Finding(tuple(map(float, counts)), best.rate, evidence=_evidence(best))

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Measure how many words of the references are known; nothing is fitted."""
        return self, calibration_of(self.reader, gold)

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric itself: nothing was fitted."""
        return self


def _evidence(result: _Result) -> Json:
    if not result.missed:
        return None
    forms = result.wanted.forms
    found: dict[str, Json] = {"missed": [forms[index] for index in result.missed[:MAX_LISTED]]}
    if result.lemma_only:
        found["lemma_only"] = [forms[index] for index in result.lemma_only[:MAX_LISTED]]
    return found


def _found_in_reference(gold: Side, reference: Side) -> Side:
    """Return what of a gold analysis the analyser finds in the reference itself."""
    partner = pair(gold.analyses, reference.analyses)
    kept = [index for index, found in enumerate(partner) if found >= 0]
    forms = [gold.forms[index] for index in kept]
    return Side(forms, [gold.analyses[index] for index in kept], len(partner) - len(kept))


def gold_analyses(fields: Mapping[str, Json]) -> Side | None:
    """Return an entry's own analysis, None if it has none.

    Raises ValueError for items that cannot be read. A field that is no list (nor the JSON text of
    one, as in a table) is something else and not looked at.
    """
    for name in GOLD_FIELDS:
        value = fields.get(name)
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = json.loads(value)
        if isinstance(value, list) and value:
            items = [_gold_item(name, item) for item in value[:MAX_UNITS]]
            return Side([form for form, _ in items], [found for _, found in items], 0)
    return None


def _gold_item(name: str, item: Json) -> tuple[str, Analyses]:
    if isinstance(item, str) and item:
        return item[:MAX_TEXT], (parse_analysis(item),)
    if isinstance(item, Mapping):
        form = str(item.get("form") or item.get("lemma") or "")[:MAX_TEXT]
        texts = item.get("analyses", item.get("analysis"))
        texts = [texts] if isinstance(texts, str) else texts
        if isinstance(texts, list) and texts and all(isinstance(each, str) for each in texts):
            return form or texts[0][:MAX_TEXT], tuple(map(parse_analysis, texts))
        if isinstance(item.get("lemma"), str):
            return form, (Analysis(item["lemma"], _features(name, item)),)
    raise ValueError(f"{name}: an item needs an analysis, or lemma and features")


def _features(name: str, item: Mapping[str, Json]) -> frozenset[str]:
    given = item.get("features") or []
    if isinstance(given, str):
        given = given.replace("|", " ").split()
    if isinstance(given, Mapping):
        given = [f"{key}={value}" for key, value in given.items()]
    if not isinstance(given, list):
        raise ValueError(f"{name}: features must be a list, a text or an object")
    return frozenset(map(str, given))


def make(setting: Setting) -> list[Metric]:
    """Return the metric for a run; the analyser's tables are read with the first word."""
    reader, missing = reader_for(setting, union=True)
    return [MorphologicalAccuracy(missing=missing, reader=reader)]
