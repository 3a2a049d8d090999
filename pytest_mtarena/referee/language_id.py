"""Which script and which language a text is in.

Scripts come from the Unicode script property, for every script there is. Languages come from
py3langid (extra ``langid``), a naive Bayes model of byte n-grams (Lui and Baldwin 2012); its
model is loaded on first use. Single sentences are short, so the identifier is used only to tell
the source language from everything else, among candidates that the suite's own texts suggest, and
only when it proves on the suite that it can.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import regex

from pytest_mtarena.errors import MissingExtra
from pytest_mtarena.records import Json, LanguageFacts

_CODES = (
    "Latn Cyrl Arab Deva Hani Hira Kana Hang Grek Hebr Thai Ethi Beng Taml Telu Knda Mlym Gujr "
    "Guru Orya Sinh Geor Armn Laoo Khmr Mymr Tibt Mong Thaa Syrc Nkoo Cher Cans Tfng Vaii Olck "
    "Adlm Aghb Ahom Armi Avst Bali Bamu Bass Batk Bhks Bopo Brah Brai Bugi Buhd Cakm Cari Cham "
    "Chrs Copt Cpmn Cprt Diak Dogr Dsrt Dupl Egyp Elba Elym Gara Glag Gong Gonm Goth Gran Gukh "
    "Hano Hatr Hluw Hmng Hmnp Hung Ital Java Kali Kawi Khar Khoj Kits Krai Kthi Lana Lepc Limb "
    "Lina Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Medf Mend Merc Mero Modi Mroo Mtei Mult "
    "Nagm Nand Narb Nbat Newa Nshu Ogam Onao Orkh Osge Osma Ougr Palm Pauc Perm Phag Phli Phlp "
    "Phnx Plrd Prti Rjng Rohg Runr Samr Sarb Saur Sgnw Shaw Shrd Sidd Sind Sogd Sogo Sora Soyo "
    "Sund Sunu Sylo Tagb Takr Tale Talu Tang Tavt Tglg Tirh Tnsa Todr Toto Tutg Ugar Vith Wara "
    "Wcho Xpeo Xsux Yezi Yiii Zanb Berf Chis Jurc Seal Sidt Tayo Tols"
)
"""ISO 15924 codes of the scripts of Unicode, the widely used ones first."""

_WRITING: Mapping[str, frozenset[str]] = {
    "Jpan": frozenset({"Hani", "Hira", "Kana"}),
    "Hrkt": frozenset({"Hira", "Kana"}),
    "Kore": frozenset({"Hang", "Hani"}),
    "Hans": frozenset({"Hani"}),
    "Hant": frozenset({"Hani"}),
    "Hanb": frozenset({"Hani", "Bopo"}),
    "Cyrs": frozenset({"Cyrl"}),
    "Aran": frozenset({"Arab"}),
    "Latf": frozenset({"Latn"}),
    "Latg": frozenset({"Latn"}),
    "Geok": frozenset({"Geor"}),
    "Syre": frozenset({"Syrc"}),
    "Syrj": frozenset({"Syrc"}),
    "Syrn": frozenset({"Syrc"}),
}
"""ISO 15924 codes that stand for a way of writing to the scripts that it uses."""

CHARACTER_SCRIPTS = frozenset({"Hani", "Hira", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"})
"""Scripts without spaces between words: their characters are counted one by one."""

_DECLARED, _OTHER, _UNKNOWN = 0.02, 0.4, 0.1
"""Share of the references' letters from which on a script is the target's: one that the language
is known to be written in, another, and any where nothing is known."""

_ASCII = {chr(code): "Latn" for code in (*range(65, 91), *range(97, 123))}


@cache
def _pattern() -> Any:
    known = []
    for code in _CODES.split():
        try:
            regex.compile(rf"\p{{sc={code}}}")
        except regex.error:  # an older table of Unicode
            continue
        known.append(rf"(?P<{code}>\p{{sc={code}}})")
    return regex.compile("|".join(known))


@cache
def _looked_up(char: str) -> str:
    match = _pattern().match(char)
    return "" if match is None else str(match.lastgroup)


def script_of(char: str) -> str:
    """Return the ISO 15924 code of a character's script; empty for what all scripts share."""
    return _ASCII.get(char) or _looked_up(char)


def scripts_of(text: str) -> Counter[str]:
    """Return how many letters of the text are in each script."""
    found: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if char.isalpha() and (script := script_of(char)):
            found[script] += count
    return found


def main_script(text: str) -> str:
    """Return the script that most letters of the text are in; empty when it has none."""
    if text.isascii():
        return "Latn" if any(map(str.isalpha, text)) else ""
    found = scripts_of(text)
    return max(found, key=found.__getitem__) if found else ""


def writing(codes: Iterable[str]) -> frozenset[str]:
    """Return the scripts that ISO 15924 codes stand for: ``Jpan`` is three scripts."""
    return frozenset(script for code in codes for script in _WRITING.get(code, (code,)))


def target_scripts(references: Iterable[str], declared: Iterable[str] = ()) -> frozenset[str]:
    """Return the scripts of the target language as the references use it.

    A script that holds few of the references' letters is taken for foreign names in them, unless
    it goes with another that holds more (kana and Han). A script that the language is known to be
    written in (``declared``), but not here, counts only when the references have no letters.
    """
    letters: Counter[str] = Counter()
    for reference in references:
        letters += scripts_of(reference)
    total = letters.total()
    known = writing(declared)
    if not total:
        return known
    other = _OTHER if known else _UNKNOWN
    usual = {
        script
        for script, count in letters.items()
        if count >= (_DECLARED if script in known else other) * total
    }
    if usual & {"Hira", "Kana"}:
        usual |= _WRITING["Jpan"]
    if "Hang" in usual and letters["Hani"]:
        usual |= _WRITING["Kore"]
    return frozenset(usual)


def missing() -> str | None:
    """Return why languages cannot be identified here; None when they can."""
    if find_spec("py3langid") is None:
        return "needs the extra langid: pip install 'pytest-mtarena[langid]'"
    return None


@cache
def _model() -> Any:
    if missing() is not None:
        raise MissingExtra("identifying languages", "langid")
    module: Any = importlib.import_module("py3langid.langid")
    return module.LanguageIdentifier.from_model_file(module.MODEL_FILE)


def known_languages() -> frozenset[str]:
    """Return the codes that the model knows (ISO 639-1, else 639-3); raises MissingExtra."""
    return frozenset(_model().labels)


def identify(texts: Iterable[str], candidates: Iterable[str] = ()) -> list[str]:
    """Return the likeliest language of each text among the candidates (none given: all).

    Languages are the model's codes. A text that gives the model nothing to go by, such as
    digits, has an empty code. Raises MissingExtra when py3langid is not installed, and ValueError
    when the model knows none of the candidates.
    """
    model = _model()
    wanted = frozenset(candidates)
    allowed = wanted & frozenset(model.labels) if wanted else frozenset(model.labels)
    if not allowed:
        raise ValueError(f"the model knows none of {', '.join(sorted(wanted))}")
    return [_best(model, text, allowed) for text in texts]


def _best(model: Any, text: str, allowed: frozenset[str]) -> str:
    text = text[:_CHARACTERS]
    if not any(map(str.isalpha, text)):
        return ""
    ranked = model.rank(text)
    if ranked[0][1] == ranked[-1][1]:  # no feature of the model occurs in the text
        return ""
    return next(str(language) for language, _ in ranked if language in allowed)


_CHARACTERS = 2_000
"""A longer text is cut before it is looked at."""

MAX_FALSE_ALARMS = 0.01
"""Share of the references that may be taken for the source language."""
MIN_FOUND = 0.5
"""Share of the sources that must be recognised."""
MIN_TEXTS = 20
_NEAR = 0.02
"""A language is near when this share of the suite's texts (and two of them) looks like it."""


@dataclass(frozen=True)
class SourceDetector:
    """Tells texts in the source language from others, as far as it does on one suite."""

    source: str = ""
    """The model's code of the source language."""
    candidates: tuple[str, ...] = ()
    false_alarms: float | None = None
    """Share of the references that it takes for the source language, 0-1."""
    found: float | None = None
    """Share of the sources that it recognises, 0-1."""
    reason: str | None = None
    """Why it is not used; None when it is."""

    def flags(self, text: str) -> bool:
        """Say whether the text is in the source language."""
        return self.reason is None and identify([text], self.candidates) == [self.source]

    def stored(self) -> dict[str, Json]:
        """Return it as JSON values."""
        return {
            "source": self.source,
            "candidates": list(self.candidates),
            "false_alarms": self.false_alarms,
            "found": self.found,
            "reason": self.reason,
        }


def restored_detector(stored: Mapping[str, Json]) -> SourceDetector:
    """Return the detector that ``stored`` was made from."""
    values = dict(stored)
    return SourceDetector(**{**values, "candidates": tuple(values["candidates"])})


def fit_detector(
    sources: Sequence[str],
    references: Sequence[str],
    source: LanguageFacts,
    target: LanguageFacts,
) -> SourceDetector:
    """Return a detector for a suite, with the reason when it must not be used.

    Candidates are the two languages and those that the model takes several of the suite's texts
    for: near ones, which would else be called by the name of the source. A target that the model
    does not know is no obstacle: only the source has to be told apart.
    """
    lacking = missing()
    if lacking is not None:
        return SourceDetector(reason=lacking)
    known = known_languages()
    code = _known(source, known)
    if not code:
        return SourceDetector(reason=f"the source language {_name(source)} is not in the model")
    if code == _known(target, known):
        return SourceDetector(reason="source and target are one language to the model")
    if len(references) < MIN_TEXTS:
        return SourceDetector(
            code, reason=f"needs {MIN_TEXTS} references to be tried on, has {len(references)}"
        )
    seen = Counter(identify([*sources, *references]))
    least = max(2.0, _NEAR * len(references))
    near = {language for language, count in seen.items() if language and count >= least}
    candidates = tuple(sorted(near | {code} | ({_known(target, known)} - {""})))
    if len(candidates) == 1:
        candidates = tuple(sorted(known))
    false_alarms = _share(identify(references, candidates), code)
    found = _share(identify(sources, candidates), code)
    reason = None
    if false_alarms > MAX_FALSE_ALARMS:
        reason = f"takes {false_alarms:.1%} of the references for the source language"
    elif found < MIN_FOUND:
        reason = f"recognises {found:.0%} of the sources only"
    return SourceDetector(code, candidates, false_alarms, found, reason)


def _known(language: LanguageFacts, known: frozenset[str]) -> str:
    plain = language.code.replace("_", "-").split("-")[0].lower()
    return next((code for code in (language.alpha2, plain) if code in known), "")


def _name(language: LanguageFacts) -> str:
    return language.name or language.code or "(unknown)"


def _share(found: Sequence[str], code: str) -> float:
    return found.count(code) / len(found) if found else 0.0
