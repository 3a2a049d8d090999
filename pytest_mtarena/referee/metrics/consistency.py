"""Whether what a suite repeats is translated the same way each time."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pytest_mtarena.protocols import (
    Metric,
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
    Validation,
)
from pytest_mtarena.referee.glossary import BadTerm, cached_glossary
from pytest_mtarena.referee.metrics.base import finite_or_none, ratio
from pytest_mtarena.referee.metrics.terminology import glossaries_of
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.terms import Prose, digest, fold, found_terms, uses_of

_BLANK = 0
"""Stands for an output that says nothing: it agrees with nothing."""


@dataclass(frozen=True)
class Consistency:
    """The share of repeated segments and terms that are translated as they are most often, 0-1.

    A segment is a whole source, repeated when two entries or more have it (after NFC, without
    regard to case and white space); a term is one of the glossary with two entries or more. Of k
    repeats as many agree as have the most frequent target; the score is the sum of those over the
    sum of k. Of a term the target is which of the accepted ones an output has; none counts as one
    more. Where the references of a repeated source differ, outputs that differ in the same way
    agree too, if more of them do. A failed or blank output agrees with nothing.

    Statistics of an entry: (how many of its repeats agree, how many repeats it has); NaN without.
    """

    id: str = "consistency_score"
    title: str = "consistency"
    scale: str = "0-1"
    direction: MetricDirection = "higher"
    level: MetricLevel = "corpus"
    role: MetricRole = "diagnostic"
    validation: Validation = "heuristic"
    version: str = "1"
    needs: tuple[str, ...] = ("repeated sources, or a glossary",)
    missing: str | None = None
    columns: tuple[str, ...] = ("agrees", "repeated")
    nothing: str = "nothing repeats"
    """Why there may be no score."""
    path: Path | None = None
    """The file of the glossary; entries may carry terms of their own."""

    @property
    def signature(self) -> str:
        """The id, the version and how entries are put together."""
        return f"{self.id}|agrees/repeated|version:{self.version}"

    def prepare(self) -> None:
        """Read the glossary; raises UsageError for what is wrong in it."""
        if self.path is not None:
            cached_glossary(self.path)

    def statistics_of_all(self, inputs: Iterable[MetricInput]) -> Statistics:
        """Return one row per input; of the texts only hashes are kept (64 bits each)."""
        self.prepare()
        sources, outputs, references = array("Q"), array("Q"), array("Q")
        terms, targets, places = array("Q"), array("Q"), array("Q")
        for place, one in enumerate(inputs):
            sources.append(_key(one.source))
            outputs.append(_key(one.output))
            references.append(digest("\0".join(sorted(map(_folded, one.references)))))
            for term, target in self._terms(one):
                terms.append(term)
                targets.append(target)
                places.append(place)
        rows = np.zeros((len(sources), 2))
        for group in _groups(sources):
            agree = _agreeing([outputs[i] for i in group], [references[i] for i in group])
            for i, agrees in zip(group, agree, strict=True):
                rows[i] += agrees, 1
        for group in _groups(terms):
            agree = _alike([targets[i] for i in group])
            for i, agrees in zip(group, agree, strict=True):
                rows[places[i]] += agrees, 1
        rows[rows[:, 1] == 0] = np.nan
        return rows

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return the rows of inputs that are all there are."""
        return self.statistics_of_all(inputs)

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the ratios; NaN where nothing repeats."""
        return ratio(sums[:, 0], sums[:, 1])

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the share of each entry's repeats that agree; None where it has none."""
        return finite_or_none(ratio(rows[:, 0], rows[:, 1]))

    def _terms(self, one: MetricInput) -> Iterator[tuple[int, int]]:
        """Yield the entry's terms and which of the accepted targets each has, as hashes."""
        try:
            glossaries = glossaries_of(one, self.path)
        except BadTerm:  # the metric of terminology says so
            return
        if not glossaries:
            return
        found = found_terms(Prose(one.source), glossaries)
        for use in uses_of(found, Prose(one.output)):
            if use.term.accept:
                target = _BLANK if not one.output.strip() else digest(f"+{fold(use.target)}")
                yield digest(fold(use.term.source)), target


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


def _key(text: str) -> int:
    """Return what stands for a text; ``_BLANK`` for one that says nothing."""
    folded = _folded(text)
    return digest(folded) if folded else _BLANK


def _groups(keys: array[int]) -> Iterator[list[int]]:
    """Yield the places of every key that is there twice or more, in order."""
    if not keys:
        return
    found = np.array(keys, dtype=np.uint64)
    order = np.argsort(found, kind="stable")
    bounds = np.flatnonzero(np.diff(found[order])) + 1
    starts = np.concatenate([[0], bounds])
    ends = np.concatenate([bounds, [len(found)]])
    for start, end in zip(starts[ends - starts > 1], ends[ends - starts > 1], strict=True):
        yield order[start:end].tolist()


def _alike(targets: Sequence[int]) -> list[bool]:
    """Say which targets are the most frequent one; of several the first."""
    counts = Counter(target for target in targets if target != _BLANK)
    if not counts:
        return [False] * len(targets)
    usual = max(counts, key=counts.__getitem__)
    return [target == usual for target in targets]


def _agreeing(outputs: Sequence[int], references: Sequence[int]) -> list[bool]:
    """Say which outputs of one source agree: with one output for all, or one for each reference.

    The reading under which more of them agree counts. One output cannot stand for two references.
    """
    alike = _alike(outputs)
    if len(set(references)) == 1:
        return alike
    pairs = Counter(
        (reference, output)
        for reference, output in zip(references, outputs, strict=True)
        if output != _BLANK
    )
    chosen: dict[int, int] = {}
    used: set[int] = set()
    for (reference, output), _ in pairs.most_common():
        if reference not in chosen and output not in used:
            chosen[reference] = output
            used.add(output)
    varied = [
        chosen.get(reference) == output
        for reference, output in zip(references, outputs, strict=True)
    ]
    return varied if sum(varied) > sum(alike) else alike


def make(setting: Setting) -> list[Metric]:
    """Return the metric of this module."""
    return [Consistency(path=setting.resources.glossary)]
