"""What a translation of user-interface texts must keep: variables, tags, messages, quotes, case."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from pytest_mtarena.protocols import (
    Calibration,
    Finding,
    Metric,
    MetricInput,
    MetricRole,
    Validation,
)
from pytest_mtarena.records import Json, LanguageFacts
from pytest_mtarena.referee.icu import (
    IcuError,
    Part,
    arguments_of,
    flat,
    has_branches,
    keywords_of,
    parse_message,
)
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.placeholders import (
    Placeholder,
    blanked,
    find_placeholders,
    is_nested,
    same_variables,
    tags_of,
    variables_of,
    written,
)
from pytest_mtarena.referee.quotes import Pair, find_pairs
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.text import cut

PARTS = ("variables", "tags", "icu", "quotes", "casing")
"""What is looked at, each kept or broken as a whole."""

CODE = ("variables", "tags", "icu")
"""The parts that break a program; they share one weight."""

WEIGHTS = {"code": 0.6, "quotes": 0.2, "casing": 0.2}
"""Weights of the index, scaled to those parts that an entry has."""

USUAL = 0.05
"""Share of a suite's quotations from which on their marks are a style of the suite."""
SEEN = 3
"""How often these marks have to be seen at least."""

LISTED = 20
"""Items of a list of evidence, at most."""

_MAY_BRANCH = re.compile(r",\s*(?:plural|select)")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]+")
_BROKEN_ENTITY = re.compile(
    r"&\s{1,9}(?:amp|lt|gt|quot|apos|nbsp|\#\s{0,9}\d{1,7})\s{0,9};"
    r"|&(?:(?:amp|lt|gt|quot|apos|nbsp)|\#\d{1,7})\s{1,9};",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Verdict:
    """What became of the parts of one text."""

    parts: dict[str, bool]
    """Part to whether it was kept; without those that the entry does not have."""
    missing: tuple[str, ...] = ()
    """Variables and tags that are lacking."""
    extra: tuple[str, ...] = ()
    """Variables and tags that are too many, and words in a wrong script."""
    problem: str = ""
    """Why a message cannot be read."""

    @property
    def broken(self) -> list[str]:
        """The parts that were broken."""
        return [name for name, kept in self.parts.items() if not kept]

    @property
    def index(self) -> float | None:
        """The weighted share of parts that were kept, 0-1; None when there are none."""
        code = [kept for name, kept in self.parts.items() if name in CODE]
        shares = [(WEIGHTS["code"], sum(code) / len(code))] if code else []
        shares += [(WEIGHTS[n], float(kept)) for n, kept in self.parts.items() if n in WEIGHTS]
        if not shares:
            return None
        return sum(weight * share for weight, share in shares) / sum(w for w, _ in shares)

    def evidence(self) -> dict[str, Json]:
        """Return the parts, and what is wrong with them, as JSON."""
        told: dict[str, Json] = dict(self.parts)
        for name, items in (("missing", self.missing), ("extra", self.extra)):
            if items:
                told[name] = [cut(one, 200) for one in items[:LISTED]]
        if self.problem:
            told["problem"] = self.problem
        return told


class _Text:
    """A text and what it holds, found when it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def message(self) -> tuple[Part, ...] | None:
        """The parts of an ICU message; None when the text is none that has branches."""
        if _MAY_BRANCH.search(self.text) is None:
            return None
        try:
            parts = parse_message(self.text)
        except IcuError:
            return None
        return parts if has_branches(parts) else None

    def plain(self) -> _Text:
        """Return the text as it reads with the branch ``other`` taken everywhere."""
        return self if self.message is None else _Text(flat(self.message))

    @cached_property
    def variables(self) -> list[str]:
        return variables_of(self.found)

    @cached_property
    def tags(self) -> list[tuple[str, str]]:
        return tags_of(self.found)

    @cached_property
    def has_entities(self) -> bool:
        return any(one.kind == "entity" for one in self.found)

    @cached_property
    def pairs(self) -> list[Pair] | None:
        return find_pairs(self.prose)

    @cached_property
    def prose(self) -> str:
        return blanked(self.text, self.found, "x")

    @cached_property
    def found(self) -> list[Placeholder]:
        return find_placeholders(self.text)


def judge_text(
    source: str,
    output: str,
    references: Sequence[str],
    target: LanguageFacts,
    styles: Collection[Pair] = (),
) -> Verdict:
    """Return what an output keeps of its source.

    ``styles`` are pairs of quotation marks that are right beside the target language's own.
    What one of the references does to a part is right as well: a singular without its number, a
    tag that the language has no use for. An empty output breaks every part that the source has.
    """
    return _Judge(source, output, references, target, styles).verdict()


class _Judge:
    """Looks at the parts of one output in turn."""

    def __init__(
        self,
        source: str,
        output: str,
        references: Sequence[str],
        target: LanguageFacts,
        styles: Collection[Pair],
    ) -> None:
        self.target = target
        self.styles = styles
        self.empty = not output.strip()
        self.whole = _Text(source)
        self.given = _Text(output)
        self.models = [_Text(reference) for reference in references]
        self.parts: dict[str, bool] = {}
        self.missing: list[str] = []
        self.extra: list[str] = []
        self.problem = ""

    def verdict(self) -> Verdict:
        readable = self._icu()
        # The texts as they are read: of a message, one branch of each plural.
        self.source, self.output = self.whole.plain(), self.given.plain()
        if readable:
            self._variables()
            self._tags()
            self._quotes()
        self._casing()
        if self.empty:
            self.parts = dict.fromkeys(self.parts, False)
        return Verdict(
            {name: self.parts[name] for name in PARTS if name in self.parts},
            tuple(self.missing),
            tuple(self.extra),
            self.problem,
        )

    def _icu(self) -> bool:
        """Judge the message; return whether the rest of the text can be judged."""
        wanted = self.whole.message
        if wanted is None:
            return True
        parts = self.given.message
        if parts is None:
            # A reference that is a plain text says that one will do.
            plain = any(model.message is None for model in self.models) and not self.empty
            if plain and "{" not in self.given.text:
                return True
            self.parts["icu"] = False
            self.problem = _problem(self.given.text)
            return self.empty
        mine = (arguments_of(parts), keywords_of(parts))
        theirs = [(arguments_of(wanted), keywords_of(wanted))]
        theirs += [
            (arguments_of(model.message), keywords_of(model.message))
            for model in self.models
            if model.message is not None
        ]
        self.parts["icu"] = mine in theirs
        if mine not in theirs:
            for place in (0, 1):
                lost, new = theirs[0][place] - mine[place], mine[place] - theirs[0][place]
                self.missing += sorted("{" + ", ".join(filter(None, one)) + "}" for one in lost)
                self.extra += sorted("{" + ", ".join(filter(None, one)) + "}" for one in new)
        return True

    def _variables(self) -> None:
        wanted, given = self.source.variables, self.output.variables
        broken = self._broken_entities()
        if not (wanted or given or broken or (self.empty and self._source_has_entities())):
            return
        right = same_variables(wanted, given) or any(
            same_variables(model.plain().variables, given) for model in self.models
        )
        self.parts["variables"] = right and not broken
        self.extra += broken
        if not right:
            self._differ(wanted, given)

    def _source_has_entities(self) -> bool:
        return "&" in self.source.text and self.source.has_entities

    def _broken_entities(self) -> list[str]:
        """Return entities that were torn apart; one that is translated or left out is no fault."""
        if "&" not in self.output.text or not self._source_has_entities():
            return []
        return _BROKEN_ENTITY.findall(self.output.text)

    def _tags(self) -> None:
        wanted, given = self.source.tags, self.output.tags
        if not (wanted or given):
            return
        models = [wanted, *(model.plain().tags for model in self.models)] if given != wanted else []
        self.parts["tags"] = right = given == wanted or any(
            sorted(given) == sorted(model) and (is_nested(given) or not is_nested(model))
            for model in models
        )
        if not right:
            self._differ(list(written(wanted)), list(written(given)))

    def _quotes(self) -> None:
        wanted = self.source.pairs
        if not wanted:  # none, or a source that is not clear itself
            return
        models = [model.plain().pairs for model in self.models]
        known = [pairs for pairs in models if pairs is not None]
        counts = {len(wanted), *map(len, known)}
        if self.target.quotes:
            allowed = {*self.target.quotes, *self.styles, *wanted, *chain.from_iterable(known)}
            found = find_pairs(self.output.prose, allowed)
            styles = len(allowed)
        else:
            found = self.output.pairs
            styles = len(set(wanted))
        self.parts["quotes"] = (
            found is not None and len(found) in counts and len(set(found)) <= styles
        )

    def _casing(self) -> None:
        """Look for words in Latin letters where the language has no capital letters.

        The only sign of a wrong case that can be told from the text alone.
        """
        if self.target.has_case is not False or "Latn" in self.target.scripts:
            return
        words = _latin(blanked(self.output.text, self.output.found))
        strange = words.keys() - _latin(self.whole.text).keys()
        for model in self.models if strange else ():
            strange -= _latin(model.text).keys()
        self.parts["casing"] = not strange
        self.extra += sorted(strange)

    def _differ(self, wanted: Sequence[str], given: Sequence[str]) -> None:
        need, have = Counter(wanted), Counter(given)
        self.missing += (need - have).elements()
        self.extra += (have - need).elements()


def _latin(text: str) -> dict[str, None]:
    return dict.fromkeys(word.casefold() for word in _LATIN.findall(text))


def _problem(text: str) -> str:
    try:
        parse_message(text)
    except IcuError as error:
        return str(error)
    return "no plural or select"


@dataclass(frozen=True)
class _Complying(PooledMetric):
    """What both metrics share: whose language it is, and how references fare."""

    target: LanguageFacts = field(default_factory=LanguageFacts)
    """The target language, for entries that do not say theirs."""

    styles: tuple[Pair, ...] = ()
    """Pairs of quotation marks that the suite's references use beside those of the language."""

    def judged(self, one: MetricInput, output: str) -> Verdict:
        """Return what an output of the entry keeps."""
        return judge_text(one.source, output, one.references, self._language(one), self.styles)

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Return the metric for the suite's quotation marks, and how often references are flagged.

        Each reference is judged by the source and the entry's *other* references alone, so that
        the rate is that of false alarms on good translations that no reference resembles.
        """
        fitted = replace(self, styles=house_styles(gold))
        broken: Counter[str] = Counter()
        flagged = checked = 0
        for one in gold:
            others = [reference for reference in one.references if reference != one.output]
            found = fitted.judged(one.model_copy(update={"references": others}), one.output)
            checked += bool(found.parts)
            flagged += bool(found.broken)
            broken.update(found.broken)
        facts: dict[str, Json] = {"entries_with_parts": checked, "flagged": flagged}
        facts |= {f"{name}_broken": broken[name] for name in PARTS}
        rate = round(flagged / len(gold), 6) if gold else None
        fit = {"quotes": [list(pair) for pair in fitted.styles]}
        return fitted, Calibration(n=len(gold), rate=rate, fit=fit, facts=facts)

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric for the quotation marks of the suite that the calibration saw."""
        return replace(self, styles=tuple((a, b) for a, b in calibration.fit.get("quotes", ())))

    def _language(self, one: MetricInput) -> LanguageFacts:
        own = one.target_language
        return own if own.code or own.quotes or own.has_case is not None else self.target


def house_styles(gold: Sequence[MetricInput]) -> tuple[Pair, ...]:
    """Return the pairs of quotation marks that references use where their source has some.

    A pair counts when it is one in ``USUAL`` or more, and was seen ``SEEN`` times: a suite's
    translators may all write straight marks, but a slip is no style.
    """
    seen: Counter[Pair] = Counter()
    for one in gold:
        if _Text(one.source).plain().pairs:
            seen.update(_Text(one.output).plain().pairs or ())
    least = max(SEEN, USUAL * seen.total())
    return tuple(sorted(pair for pair, count in seen.items() if count >= least))


@dataclass(frozen=True)
class ComplianceIndex(_Complying):
    """The weighted share of what an output had to keep and has kept, 0-1, mean over entries.

    Parts: the variables are those of the source, each as often, in any order; tags too, balanced
    and nested; an ICU message can be read and has the same arguments; quotation marks come in as
    many pairs, of the target language's marks or the source's; a language without capital letters
    has no Latin words that neither source nor reference has. An entry without any of them has no
    value. A failed or blank output keeps nothing.
    """

    id: str = "compliance_index"
    title: str = "compliance"
    validation: Validation = "heuristic"
    columns: tuple[str, ...] = ("index", "entries", *(f"{name}_broken" for name in PARTS))

    def find(self, one: MetricInput) -> Finding:
        """Return the index of an entry and its broken parts."""
        found = self.judged(one, one.output)
        index = found.index
        if index is None:
            return nothing("nothing to keep")
        flags = [float(found.parts.get(name) is False) for name in PARTS]
        evidence = found.evidence() if found.broken else None
        return Finding((index, 1.0, *flags), index, None, evidence)


@dataclass(frozen=True)
class RepairEffectiveness(_Complying):
    """The share of violations in raw outputs that the post-translation hooks have mended, 0-1.

    A violation is a broken part of the compliance index. An entry has a value when its raw output
    has a violation; violations that the hooks have introduced are counted beside it. A failed
    attempt has nothing to repair and no value.
    """

    id: str = "repair_effectiveness"
    title: str = "repaired"
    role: MetricRole = "informational"
    validation: Validation = "heuristic"
    columns: tuple[str, ...] = ("repaired", "violations", "regressions")

    def find(self, one: MetricInput) -> Finding:
        """Return how many violations of an entry were repaired and introduced."""
        if one.failed:
            return nothing("no output before the hooks")
        raw = unicodedata.normalize("NFC", one.raw_output)
        before = set(self.judged(one, raw).broken)
        after = before if raw == one.output else set(self.judged(one, one.output).broken)
        repaired, new = len(before - after), len(after - before)
        if not before and not new:
            return nothing("no violation before the hooks")
        evidence = {
            name: sorted(parts)
            for name, parts in (("repaired", before - after), ("introduced", after - before))
            if parts
        }
        value = repaired / len(before) if before else None
        reason = None if before else "no violation before the hooks"
        return Finding((repaired, len(before), new), value, reason, evidence or None)


def make(setting: Setting) -> list[Metric]:
    """Return the metrics of this module."""
    known = not setting.has_cards  # quotation marks and case are then those of every machine
    return [
        ComplianceIndex(target=setting.target, reproducible=known),
        RepairEffectiveness(target=setting.target, reproducible=known),
    ]
