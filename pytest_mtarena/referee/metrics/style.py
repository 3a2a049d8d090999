"""Writing style: whether outputs keep the register that they should have.

The register that is wanted comes from the user's profile, else from the entry's own label. The
register that is there comes from markers (``referee/style``): pronouns of address, verb forms,
honorifics, contractions, set phrases. Most short sentences show none; those say nothing and do not
count, and how many they are is shown beside the score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, cast

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Calibration, Finding, Metric, MetricInput
from pytest_mtarena.records import Json
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.style.markers import (
    MAX_CHARACTERS,
    Finder,
    Hits,
    Marker,
    code_of,
    load,
    tokens_of,
)
from pytest_mtarena.text import cut, printable

Register = Literal["formal", "informal", "neutral"]

NO_TARGET = "no target register"
NO_EVIDENCE = "no evidence of register"

FORMAL_FROM, INFORMAL_TO = 0.65, 0.35
"""Formality scores at which a text is formal, and informal."""
ENOUGH = 1.0
"""The weight of markers that a text needs to say anything."""
LABELS_NEEDED, AGREEMENT_NEEDED = 20, 0.6
"""The agreement with labels that is needed, and from how many references on it is asked for."""
MAX_RATIO = 2.0
MAX_SHOWN = 20

_REGISTERS: Mapping[str, Register] = {
    **dict.fromkeys(("formal", "official", "ceremonial", "legal"), "formal"),
    **dict.fromkeys(("informal", "casual", "conversational", "colloquial"), "informal"),
}
"""Register labels to what they ask for; all others are neutral."""
_SENTENCES = re.compile(r"(?<=[.!?…؟।])\s+|(?<=[。！？])")


@dataclass(frozen=True)
class Profile:
    """What the user wants of the writing style."""

    target_register: Register | None = None
    max_sentence_length: int | None = None
    """Words a sentence (letters and digits in languages written without spaces)."""
    prohibited_terms: tuple[str, ...] = ()
    required_terms: tuple[str, ...] = ()

    @property
    def has_rules(self) -> bool:
        """Whether it says more than a register; required terms are reported only."""
        return bool(self.prohibited_terms) or self.max_sentence_length is not None


@dataclass(frozen=True)
class WritingStyle(PooledMetric):
    """The share of entries that keep the target register and break no rule of the profile, 0 to 1.

    An entry counts when it has a target register and its output shows one. ``match``: the same
    register, or the target is neutral. ``mismatch``: another one, or markers of both. A prohibited
    term or too long a sentence is a mismatch in any case. A profile with such rules and without a
    register is judged by its rules alone: labels are not looked at, and every output counts.
    Everything else has no value: an empty output
    (a failed attempt, too) has no style. A required term that is missing is reported and counted,
    but is no mismatch: few sentences can hold all of them.
    """

    markers: str | None = None
    """The code of the marker file; None when the language has none."""
    profile: Profile = field(default_factory=Profile)
    unsegmented: bool = False

    @property
    def signature(self) -> str:
        """The id, the version, the markers and where targets come from."""
        source = "profile" if self.profile.target_register else "label"
        rules = "yes" if self.profile.has_rules else "no"
        return f"{super().signature}|markers:{self.markers}|target:{source}|rules:{rules}"

    def find(self, one: MetricInput) -> Finding:
        """Return what an output shows of register and rules."""
        if self.missing is not None:
            return nothing(self.missing)
        target = self._target(one)
        hits = self._hits(one.output)
        score, predicted = _formality(hits)
        prohibited = _found(self._prohibited, one.output)
        absent = _missing(self._required, self.profile.required_terms, one.output)
        too_long = self._too_long(one.output)
        verdict = _verdict(target, predicted)
        value = self._value(one.output, verdict, target, bool(prohibited) or too_long)
        statistics = (
            value or 0.0,
            float(value is not None),
            float(value == 0),
            float(value is None and target is not None),
            float(target is None),
            float(bool(prohibited)),
            float(bool(absent)),
            float(value is not None and target == "neutral"),
        )
        evidence = {
            "style_verdict": verdict,
            "style_predicted_register": predicted,
            "style_target_register": target,
            "style_formality_score": score,
            "style_sentence_length_ratio": self._length_ratio(one),
            "style_prohibited_terms_found": prohibited,
            "style_required_terms_missing": absent,
            "style_sentence_too_long": too_long,
            "style_markers": list(hits.texts[:MAX_SHOWN]),
        }
        reason = None
        if value is None:
            reason = NO_TARGET if target is None else NO_EVIDENCE
        # Most entries of most suites show nothing: their rows stay short.
        telling = value is not None or absent or hits.texts
        return Finding(statistics, value, reason, evidence if telling else None)

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Compare the markers with the register labels of the suite's own references.

        Neutral labels are left out: they would agree with anything. ``n`` is the number of
        references with a label and with evidence, ``rate`` the share that agrees. Below 0.6 of at
        least 20, labels and markers do not mean the same here, and labels are no target to judge
        by: the metric has no value, unless the profile gives the target.
        """
        wanted = [
            (one, label) for one in gold if (label := label_of(one)) in ("formal", "informal")
        ]
        seen = [(label, _formality(self._hits(one.output))[1]) for one, label in wanted]
        shown = [(label, predicted) for label, predicted in seen if predicted is not None]
        agreeing = sum(label == predicted for label, predicted in shown)
        rate = round(agreeing / len(shown), 4) if shown else None
        reason = None
        by_label = self.profile.target_register is None and not self._rules_alone
        if (
            by_label
            and rate is not None
            and len(shown) >= LABELS_NEEDED
            and rate < AGREEMENT_NEEDED
        ):
            reason = f"markers agree with only {rate:.0%} of {len(shown)} register labels"
        facts = {
            "labelled": len(wanted),
            "coverage": round(len(shown) / len(wanted), 4) if wanted else None,
            "agreement": rate,
            "formal_labels": sum(label == "formal" for label, _ in seen),
        }
        calibration = Calibration(n=len(shown), rate=rate, reason=reason, facts=facts)
        return self.restore(calibration), calibration

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric as it is: nothing is fitted."""
        return self

    @cached_property
    def _finder(self) -> Finder:
        return Finder.of(()) if self.markers is None else load(self.markers)

    @cached_property
    def _prohibited(self) -> Finder:
        return self._terms(self.profile.prohibited_terms)

    @cached_property
    def _required(self) -> Finder:
        return self._terms(self.profile.required_terms)

    def _terms(self, terms: Sequence[str]) -> Finder:
        how: Literal["anywhere", "word"] = "anywhere" if self.unsegmented else "word"
        return Finder.of(Marker(term, "formal", 1.0, how) for term in terms)

    def _hits(self, text: str) -> Hits:
        return self._finder.find(text)

    def _target(self, one: MetricInput) -> Register | None:
        if self._rules_alone:
            return None
        return self.profile.target_register or label_of(one)

    @property
    def _rules_alone(self) -> bool:
        return self.profile.target_register is None and self.profile.has_rules

    def _value(
        self, output: str, verdict: str, target: Register | None, broken: bool
    ) -> float | None:
        if not output:
            return None
        if broken:
            return 0.0
        if target is None:
            return 1.0 if self._rules_alone else None
        return None if verdict == "UNDETERMINED" else float(verdict != "REGISTER_MISMATCH")

    def _too_long(self, output: str) -> bool:
        limit = self.profile.max_sentence_length
        return limit is not None and max(self._lengths(output), default=0) > limit

    def _length_ratio(self, one: MetricInput) -> float | None:
        """Return words a sentence of the output over those of the first reference, at most 2."""
        own, wanted = self._lengths(one.output), self._lengths(one.references[0])
        if not own or not wanted:
            return None
        ratio = (sum(own) / len(own)) / (sum(wanted) / len(wanted))
        return round(min(ratio, MAX_RATIO), 3)

    def _lengths(self, text: str) -> list[int]:
        """Return the length of each sentence in words, or in letters without spaces."""
        sentences = _SENTENCES.split(text[:MAX_CHARACTERS])
        if self.unsegmented:
            sizes = [sum(map(str.isalnum, one)) for one in sentences]
        else:
            # A mark that stands alone, as in French, is no word.
            sizes = [sum(any(map(str.isalnum, w)) for w in one.split()) for one in sentences]
        return [size for size in sizes if size]


def make(setting: Setting) -> list[Metric]:
    """Return the metric. Raises UsageError for a profile that cannot be used."""
    path = setting.resources.style_profile
    profile = Profile() if path is None else read_profile(path)
    markers = code_of(setting.target.code)
    missing = None
    if markers is None and not profile.has_rules and not profile.required_terms:
        name = setting.target.name or setting.target.code or "the target language, which is unknown"
        missing = f"needs style markers: there are none for {name}"
    metric = WritingStyle(
        "style_consistency_rate",
        "style",
        role="informational",
        validation="heuristic",
        needs=("style markers of the target language", "a target register"),
        missing=missing,
        columns=(
            "matches",
            "entries",
            "mismatches",
            "no_evidence",
            "no_target",
            "prohibited",
            "required_missing",
            "neutral_target",
        ),
        reproducible=path is None and not setting.has_cards,
        markers=markers,
        profile=profile,
        unsegmented=setting.unsegmented,
    )
    return [metric]


def label_of(one: MetricInput) -> Register | None:
    """Return the register that the entry's label asks for; None when it has no label."""
    label = one.fields.get("register")
    if not isinstance(label, str) or not label.strip():
        return None
    return register_of(label)


def register_of(label: str) -> Register:
    """Return what a register label asks for; one that is not known is neutral."""
    return _REGISTERS.get(label.strip().lower(), "neutral")


def read_profile(path: Path) -> Profile:
    """Read a profile of the writing style.

    A JSON object with any of ``target_register`` (``formal``, ``informal``, ``neutral`` or null),
    ``formality_level`` (a register label, or a number from 0, informal, to 1, formal: used when
    there is no target register), ``max_sentence_length`` (a number of words, at least 1),
    ``prohibited_terms`` and ``required_terms`` (lists of texts).

    Raises UsageError with what is wrong, the file, and the line when it is no JSON.
    """
    given = _read_json(path)
    if not isinstance(given, dict):
        raise UsageError(f"{path}: a style profile is a JSON object")
    known = {*_READERS, "max_sentence_length", "prohibited_terms", "required_terms"}
    if unknown := sorted(set(given) - known):
        keys = " ".join(sorted(known))
        raise UsageError(f"{path}: unknown key {printable(unknown[0])!r}; known: {keys}")
    registers = [read(path, given.get(key)) for key, read in _READERS.items()]
    return Profile(
        target_register=registers[0] or registers[1],
        max_sentence_length=_length(path, given.get("max_sentence_length")),
        prohibited_terms=_term_list(path, "prohibited_terms", given.get("prohibited_terms")),
        required_terms=_term_list(path, "required_terms", given.get("required_terms")),
    )


def _read_json(path: Path) -> Json:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--mt-style-profile: {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON that can be read: {error}") from error


def _target_register(path: Path, value: Json) -> Register | None:
    if value is None:
        return None
    if value in ("formal", "informal", "neutral"):
        return cast("Register", value)
    raise UsageError(f"{path}: target_register: formal, informal, neutral or null is needed")


def _formality_level(path: Path, value: Json) -> Register | None:
    if value is None:
        return None
    if isinstance(value, str) and value.strip():
        return register_of(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return _register(float(value))
    raise UsageError(f"{path}: formality_level: a register or a number from 0 to 1 is needed")


_READERS = {"target_register": _target_register, "formality_level": _formality_level}


def _length(path: Path, value: Json) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise UsageError(f"{path}: max_sentence_length: a whole number of at least 1 is needed")


def _term_list(path: Path, key: str, value: Json) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{path}: {key}: a list of texts is needed")
    for term in value:
        if not tokens_of(term):
            raise UsageError(f"{path}: {key}: an empty term; remove it")
    return tuple(dict.fromkeys(value))


def _formality(hits: Hits) -> tuple[float | None, Register | None]:
    """Return the share of formal evidence and the register; None without enough evidence."""
    if hits.weight < ENOUGH:
        return None, None
    score = hits.formal / hits.weight
    return round(score, 3), _register(score)


def _register(score: float) -> Register:
    if score >= FORMAL_FROM:
        return "formal"
    return "informal" if score <= INFORMAL_TO else "neutral"


def _verdict(target: Register | None, predicted: Register | None) -> str:
    if target is None or predicted is None:
        return "UNDETERMINED"
    if target == "neutral":
        return "INFORMAL_MATCH" if predicted == "informal" else "FORMAL_MATCH"
    return f"{target.upper()}_MATCH" if predicted == target else "REGISTER_MISMATCH"


def _found(finder: Finder, text: str) -> list[str]:
    return [cut(term, 200) for term in finder.find(text).texts[:MAX_SHOWN]]


def _missing(finder: Finder, terms: Sequence[str], text: str) -> list[str]:
    if not terms or not text:
        return []
    there = {term.lower() for term in finder.find(text).texts}
    return [cut(term, 200) for term in terms if term.lower() not in there][:MAX_SHOWN]
