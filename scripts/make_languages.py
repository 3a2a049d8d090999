"""Build the table of languages: ``pytest_mtarena/languages/languages.json``.

It is needed only when the sources have a new edition; the package reads the finished table and
depends on none of this::

    pip install langcodes==3.5.1 language-data==1.4.0
    python scripts/make_languages.py pytest_mtarena/languages/languages.json

The CLDR comes as npm packages, which are fetched with ``npm pack`` into a temporary directory, or
read from ``--cldr DIRECTORY`` when they lie there already (``cldr-core-48.2.0.tgz`` and so on).

Sources, and what is taken from each:

- CLDR 48.2 (``cldr-core``, ``cldr-misc-full``, ``cldr-localenames-full``; Unicode-3.0): exemplar
  letters, punctuation, quotation marks, English and own names, likely scripts, properties of
  scripts, which member of a macrolanguage stands for it.
- The IANA registry of language subtags, as language-data 1.4.0 (MIT) carries it: all languages of
  ISO 639-3, their names and macrolanguages, codes that are no longer used.
- langcodes 3.5.1 (MIT): ISO 639-1 to 639-3, the bibliographic codes of ISO 639-2.
- The tables below, written for this project, with a reason each.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

CLDR_VERSION = "48.2.0"
CLDR_PACKAGES = ("cldr-core", "cldr-misc-full", "cldr-localenames-full")

NO_SPACES = {"Tibt", "Java", "Bali"}
"""Scripts without spaces between words that the CLDR does not mark, since it marks where lines may
be broken between any two letters: Tibetan divides syllables by a dot, Javanese and Balinese
have no word divider either."""

SCRIPTS: dict[str, tuple[str, ...]] = {
    # Plains Cree is written in syllabics and, as much or more, in Standard Roman Orthography.
    "crk": ("Cans", "Latn"),
    "cre": ("Cans", "Latn"),
    # Serbo-Croatian, a macrolanguage that the CLDR replaces by Serbian.
    "hbs": ("Latn", "Cyrl"),
    "yue": ("Hant", "Hans"),
    "zho": ("Hans", "Hant"),
    "cmn": ("Hans", "Hant"),
    "kor": ("Kore",),
    "jpn": ("Jpan",),
}
"""Scripts of a language, the usual first, where the likely script alone misleads."""

STANDS_FOR = {
    # Tagalog: Filipino is its standard form, and the CLDR knows Filipino only.
    "tgl": "fil",
    # Dari: the CLDR has it as Persian in Afghanistan, written with the same letters.
    "prs": "fas",
    # Malay: the individual language and Standard Malay are written alike.
    "zlm": "msa",
}
"""Members whose written form is that of another code, beyond those that the CLDR lists."""

NAMES: dict[str, tuple[str, ...]] = {
    "arb": ("Modern Standard Arabic",),
    "cmn": ("Mandarin",),
    "sme": ("North Sami", "Davvisámegiella"),
    "cym": ("Cymraeg",),
    "crk": ("nêhiyawêwin",),
    "kur": ("Kurmanji Kurdish",),
    "fas": ("Farsi",),
    "mya": ("Myanmar",),
    "fry": ("Frisian",),
    "ell": ("Modern Greek",),
    "nya": ("Chichewa", "Chewa"),
    "hat": ("Haitian",),
    "msa": ("Malay",),
    "swa": ("Kiswahili",),
    "xho": ("isiXhosa",),
    "sna": ("chiShona",),
    "yor": ("Yorùbá",),
}
"""Names that people use for a language and that the sources lack or give to another entry only."""

PLACES: dict[str, str] = {"usa": "US", "us": "US", "uk": "GB", "great britain": "GB"}
"""Short names of regions, as in ``English (UK)``."""

XLMR_GIB: dict[str, float] = {
    "afr": 1.3, "amh": 0.8, "ara": 28.0, "asm": 0.1, "aze": 6.5, "bel": 4.3, "bul": 57.5,
    "ben": 8.4, "bre": 0.1, "bos": 0.1, "cat": 10.1, "ces": 16.3, "cym": 0.8, "dan": 45.6,
    "deu": 66.6, "ell": 46.9, "eng": 300.8, "epo": 0.9, "spa": 53.3, "est": 6.1, "eus": 2.0,
    "fas": 111.6, "fin": 54.3, "fra": 56.8, "fry": 0.2, "gle": 0.5, "gla": 0.1, "glg": 2.9,
    "guj": 1.9, "hau": 0.3, "heb": 31.6, "hin": 20.2, "hrv": 20.5, "hun": 58.4, "hye": 5.5,
    "ind": 148.3, "isl": 3.2, "ita": 30.2, "jpn": 69.3, "jav": 0.2, "kat": 9.1, "kaz": 6.4,
    "khm": 1.5, "kan": 3.3, "kor": 54.2, "kur": 0.4, "kir": 1.2, "lat": 2.5, "lao": 0.6,
    "lit": 13.7, "lav": 8.8, "mlg": 0.2, "mkd": 4.8, "mal": 7.6, "mon": 3.0, "mar": 2.8,
    "msa": 8.5, "mya": 2.0, "nep": 3.8, "nld": 29.3, "nor": 49.0, "nob": 49.0, "orm": 0.1,
    "ori": 0.6, "pan": 0.8, "pol": 44.6, "pus": 0.7, "por": 49.1, "ron": 61.4, "rus": 278.0,
    "san": 0.3, "snd": 0.4, "sin": 3.6, "slk": 23.2, "slv": 10.3, "som": 0.4, "sqi": 5.4,
    "srp": 9.1, "sun": 0.1, "swe": 85.0, "swa": 1.6, "tam": 12.2, "tel": 4.7, "tha": 71.7,
    "fil": 3.1, "tur": 20.9, "uig": 0.4, "ukr": 84.6, "urd": 5.7, "uzb": 0.7, "vie": 137.3,
    "xho": 0.1, "yid": 0.3, "zho": 63.5,
}  # fmt: skip
"""GiB of text that XLM-R was trained on: Conneau et al. (2020), table 6 of the appendix.

Both encodings of Burmese and both scripts of Chinese are added up, texts in Latin letters of
Indian languages are left out; Norwegian is counted for Bokmål, which is nearly all of it, and
what the paper calls Tagalog for Filipino.
"""

VENDOR_CODES: dict[str, dict[str, str]] = {
    "google": {
        "heb": "iw", "jav": "jw", "zho": "zh-CN", "zho-Hant": "zh-TW", "fil": "tl", "nor": "no",
        "nob": "no", "mni": "mni-Mtei", "kok": "gom", "pan-Arab": "pa-Arab", "por-PT": "pt-PT",
        "fra-CA": "fr-CA",
    },
    "deepl": {
        "eng": "EN-US", "eng-GB": "EN-GB", "por": "PT-PT", "por-BR": "PT-BR", "zho": "ZH-HANS",
        "zho-Hant": "ZH-HANT", "nor": "NB", "spa-419": "ES-419",
    },
    "microsoft": {
        "zho": "zh-Hans", "zho-Hant": "zh-Hant", "nor": "nb", "srp": "sr-Cyrl",
        "srp-Latn": "sr-Latn", "mon": "mn-Cyrl", "mon-Mong": "mn-Mong", "por-PT": "pt-PT",
        "fra-CA": "fr-CA", "ckb": "ku", "kur": "kmr", "iku-Latn": "iu-Latn", "tlh": "tlh-Latn",
        "kok": "gom", "nya": "nya", "lug": "lug", "run": "run", "hmn": "mww", "eng-GB": "en-GB",
    },
    "amazon": {
        "zho-Hant": "zh-TW", "fil": "tl", "nor": "no", "nob": "no", "prs": "fa-AF",
        "spa-MX": "es-MX", "fra-CA": "fr-CA", "por-PT": "pt-PT",
    },
}  # fmt: skip
"""Codes of services, from their documentation, where they are not the obvious ones: ISO 639-1, or
639-3 for a language without; in capitals for DeepL. A target's code: what DeepL wants for a source
is the part before the hyphen."""

NOT_ALIASES = {"zh-alt-long", "zh-alt-menu", "cr-alt-long", "ku-alt-menu"}
"""Names in the CLDR that belong to a member of the macrolanguage (Mandarin, Woods Cree)."""


def tier(gib: float) -> str:
    """Return ``high`` for 10 GiB and more, ``medium`` for 1 GiB and more, else ``low``."""
    return "high" if gib >= 10 else "medium" if gib >= 1 else "low"


class Cldr:
    """JSON files of the npm packages, read from their archives."""

    def __init__(self, directory: Path) -> None:
        self.files: dict[str, bytes] = {}
        wanted = re.compile(r"(characters|delimiters|layout|languages|scripts|territories)\.json$")
        for package in CLDR_PACKAGES:
            with tarfile.open(directory / f"{package}-{CLDR_VERSION}.tgz") as archive:
                for member in archive:
                    core = package == "cldr-core"
                    if member.isfile() and (core or wanted.search(member.name)):
                        stream = archive.extractfile(member)
                        assert stream is not None
                        self.files[member.name.removeprefix("package/")] = stream.read()

    def read(self, name: str) -> Any:
        """Return a file's content."""
        return json.loads(self.files[name])

    def locales(self) -> list[str]:
        """Return the locales that have characters, shortest first."""
        names = {name.split("/")[1] for name in self.files if name.endswith("/characters.json")}
        return sorted(names - {"und", "root"}, key=lambda name: (name.count("-"), name))


def main() -> None:
    """Build the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--cldr", type=Path, metavar="DIRECTORY", help="where the archives lie")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.cldr or fetch(Path(temporary))
        table = build(Cldr(directory))
    options.out.write_text(layout(table), encoding="utf-8", newline="\n")
    print(
        f"{options.out}: {options.out.stat().st_size} bytes, {len(table['languages'])} languages, "
        f"{sum('letters' in one for one in table['facts'].values())} with letters",
        file=sys.stderr,
    )


def fetch(directory: Path) -> Path:
    """Fetch the packages of the CLDR with npm."""
    wanted = [f"{package}@{CLDR_VERSION}" for package in CLDR_PACKAGES]
    subprocess.run(["npm", "pack", "--silent", *wanted], cwd=directory, check=True)
    return directory


def layout(table: Mapping[str, Any]) -> str:
    """Return the table as JSON with one language a line."""
    parts = []
    for key, block in table.items():
        lines = ",\n".join(f"{dumps(name)}:{dumps(value)}" for name, value in block.items())
        parts.append(f"{dumps(key)}:{{\n{lines}\n}}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def dumps(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build(cldr: Cldr) -> dict[str, Any]:
    """Return the table, see ``head`` for what its parts are."""
    from langcodes.data_dicts import LANGUAGE_ALPHA3, LANGUAGE_ALPHA3_BIBLIOGRAPHIC

    records = [one for one in registry() if one["Type"] == ["language"]]
    alpha3 = {two: three for two, three in LANGUAGE_ALPHA3.items() if len(two) == 2}
    living = [one for one in records if usable(one)]
    codes = {alpha3.get(one["Subtag"][0], one["Subtag"][0]): one for one in living}
    names = english(cldr, "languages")
    newer = {one for one in cldr.locales() if len(one) == 3 and one in names} - {*codes}
    codes |= {one: {"Description": [names[one]]} for one in newer}
    subtags = {one["Subtag"][0] for one in living}
    short = {full: two for two, full in alpha3.items() if two in subtags}

    def full(subtag: str) -> str:
        return alpha3.get(subtag, subtag)

    aliases = cldr.read("supplemental/aliases.json")["supplemental"]["metadata"]["alias"]
    aliases = aliases["languageAlias"]
    stands = {
        full(one): full(found["_replacement"])
        for one, found in aliases.items()
        if found["_reason"] == "macrolanguage"
    } | STANDS_FOR
    other = dict(alpha3)
    other |= {two: full(one) for one, two in LANGUAGE_ALPHA3_BIBLIOGRAPHIC.items()}
    other |= dict(replaced(records, aliases, full))
    other = {one: found for one, found in other.items() if found in codes and one not in codes}
    scripts = scripts_of(cldr, codes, full)
    facts = written_facts(cldr, full)
    for code, gib in XLMR_GIB.items():
        facts.setdefault(code, {})["xlmr"] = tier(gib)
    for service, given in VENDOR_CODES.items():
        for tag, theirs in given.items():
            facts.setdefault(tag, {}).setdefault("vendors", {})[service] = theirs
    unknown = {tag for tag in facts if tag.partition("-")[0] not in codes}
    assert not unknown, unknown
    rows = {}
    called = names_of(cldr, codes, full)
    for code, record in sorted(codes.items()):
        parent = ""
        macro = full(record.get("Macrolanguage", [""])[0])
        if code in stands and stands[code] in codes and not facts.get(code, {}).get("letters"):
            parent = "=" + stands[code]
        elif macro in codes:
            parent = "<" + macro
        name, *others = called[code]
        usual = "u" * (short.get(code, code) in names)
        fields = [short.get(code, ""), name, ";".join(others), " ".join(scripts[code]), parent]
        fields.append(usual)
        assert not any("|" in one for one in fields), fields
        rows[code] = "|".join(fields).rstrip("|")
    return {
        "about": about(cldr),
        "scripts": script_facts(cldr),
        "script_names": script_names(cldr, {one for each in scripts.values() for one in each}),
        "places": places(cldr),
        "regions": dict(sorted(likely_by_region(cldr, codes, full))),
        "codes": dict(sorted(other.items())),
        "tags": tag_names(cldr, codes, full),
        "languages": rows,
        "facts": dict(sorted(facts.items())),
    }


def about(cldr: Cldr) -> dict[str, Any]:
    """Return the sources with their licences, and what the parts of the table are."""
    return {
        "made_by": "scripts/make_languages.py",
        "parts": {
            "scripts": "ISO 15924 code: c has capital letters, r from right to left, u no spaces",
            "regions": "language-REGION: the script that is usual there",
            "codes": "other codes: the code in languages",
            "tags": "language-REGION or language-Script: its English name",
            "languages": "ISO 639-3: ISO 639-1|name|other names|scripts|relation|usual; the "
            "relation = is to a code with the same written form, < to the macrolanguage; u: the "
            "name is the CLDR's",
            "facts": "a-z is a range; marks and quotes are in the order of the source",
        },
        "sources": [
            {
                "name": "Unicode CLDR (npm: " + ", ".join(CLDR_PACKAGES) + ")",
                "version": CLDR_VERSION,
                "license": "Unicode-3.0",
                "notice": cldr.files["LICENSE"].decode(),
            },
            {
                "name": "IANA Language Subtag Registry, as carried by language-data",
                "version": f"{registry_date()} in language-data {version('language-data')}",
                "license": "public facts; the carrier is MIT, Copyright 2024 Robyn Speer",
            },
            {
                "name": "langcodes (ISO 639-1 and 639-2 to 639-3)",
                "version": version("langcodes"),
                "license": "MIT, Copyright Robyn Speer",
            },
            {
                "name": "Sizes of training data of XLM-R: Conneau et al. 2020, "
                "Unsupervised Cross-lingual Representation Learning at Scale, table 6",
                "version": "ACL 2020",
                "license": "facts; high: 10 GiB and more, medium: 1 GiB and more, low: less",
            },
        ],
    }


def registry_file() -> Path:
    """Return where language-data keeps the registry."""
    import language_data

    return Path(language_data.__file__).parent / "data" / "language-subtag-registry.txt"


def registry_date() -> str:
    """Return the registry's own date."""
    first = registry_file().read_text(encoding="utf-8").split("\n", 1)[0]
    return first.removeprefix("File-Date:").strip()


def registry() -> Iterator[dict[str, list[str]]]:
    """Yield the registry's records: field to values."""
    text = registry_file().read_text(encoding="utf-8").replace("\n  ", " ")
    for block in text.split("\n%%\n")[1:]:
        record: dict[str, list[str]] = {}
        for line in block.strip().splitlines():
            key, _, value = line.partition(": ")
            record.setdefault(key, []).append(value.strip())
        yield record


def usable(record: Mapping[str, list[str]]) -> bool:
    """Say whether a record is a language of ISO 639-3 that is still in use as a code."""
    scope = record.get("Scope", [""])[0]
    return "Deprecated" not in record and scope in ("", "macrolanguage")


def replaced(
    records: Iterable[Mapping[str, list[str]]], aliases: Mapping[str, Any], full: Any
) -> Iterator[tuple[str, str]]:
    """Yield codes that are no longer used and the codes that took their place."""
    for one, found in aliases.items():
        if found["_reason"] == "deprecated" and re.fullmatch("[a-z]{2,3}", found["_replacement"]):
            yield one, full(found["_replacement"])
    for record in records:
        if "Deprecated" in record and "Preferred-Value" in record:
            yield record["Subtag"][0], full(record["Preferred-Value"][0])


def likely(cldr: Cldr) -> dict[str, str]:
    """Return the CLDR's likely subtags."""
    found: dict[str, str] = cldr.read("supplemental/likelySubtags.json")["supplemental"][
        "likelySubtags"
    ]
    return found


def scripts_of(cldr: Cldr, codes: Iterable[str], full: Any) -> dict[str, list[str]]:
    """Return the scripts of each language, the usual one first."""
    found: dict[str, list[str]] = {code: list(SCRIPTS.get(code, ())) for code in codes}
    for tag, whole in likely(cldr).items():
        if "-" not in tag and full(tag) in found:
            found[full(tag)].append(whole.split("-")[1])
    data = cldr.read("supplemental/languageData.json")["supplemental"]["languageData"]
    for tag, more in data.items():
        if "-" not in tag and full(tag) in found and full(tag) not in SCRIPTS:
            found[full(tag)] += more.get("_scripts", [])
    for locale in cldr.locales():
        language, *rest = locale.split("-")
        if rest and len(rest[0]) == 4 and full(language) in found:
            found[full(language)].append(rest[0])
    return {
        code: [one for one in dict.fromkeys(each) if one not in ("Zxxx", "Zyyy")]
        for code, each in found.items()
    }


def likely_by_region(cldr: Cldr, codes: Mapping[str, Any], full: Any) -> Iterator[tuple[str, str]]:
    """Yield ``zho-TW`` and the script that is usual there."""
    for tag, whole in likely(cldr).items():
        language, _, region = tag.partition("-")
        if re.fullmatch("[A-Z]{2}|[0-9]{3}", region) and full(language) in codes:
            yield f"{full(language)}-{region}", whole.split("-")[1]


def script_facts(cldr: Cldr) -> dict[str, str]:
    """Return script to its properties as letters."""
    metadata = cldr.read("scriptMetadata.json")["scriptMetadata"]
    found = {}
    for script, one in sorted(metadata.items()):
        signs = "c" * (one["hasCase"] == "YES") + "r" * (one["rtl"] == "YES")
        found[script] = signs + "u" * (one["lbLetters"] == "YES" or script in NO_SPACES)
    found |= {"Kore": found["Hang"], "Hrkt": found["Hira"], "Aran": found["Arab"]}
    return dict(sorted(found.items()))


def script_names(cldr: Cldr, used: set[str]) -> dict[str, str]:
    """Return the English names of the scripts that are used, in small letters."""
    names = english(cldr, "scripts")
    return {
        names[code].casefold(): code for code in sorted(names) if code in used and "-" not in code
    } | {"simplified": "Hans", "traditional": "Hant"}


def places(cldr: Cldr) -> dict[str, str]:
    """Return the English names of regions in small letters."""
    names = english(cldr, "territories")
    return {
        name.casefold(): code
        for code, name in names.items()
        if re.fullmatch("[A-Z]{2}|419", code) and code not in ("ZZ", "XA", "XB", "EU", "EZ", "UN")
    } | PLACES


def english(cldr: Cldr, what: str) -> dict[str, str]:
    """Return a list of names from the English locale."""
    found: dict[str, str] = cldr.read(f"main/en/{what}.json")["main"]["en"]["localeDisplayNames"][
        what
    ]
    return found


def names_of(
    cldr: Cldr, codes: Mapping[str, Mapping[str, list[str]]], full: Any
) -> dict[str, list[str]]:
    """Return the names of each language, first the CLDR's English name, else the registry's."""
    found: dict[str, list[str]] = {code: [] for code in codes}
    listed = english(cldr, "languages")
    for tag, name in listed.items():
        if "-" not in tag and full(tag) in found:
            found[full(tag)].append(name)
    for code, record in codes.items():
        found[code] += record["Description"]
    for tag, name in listed.items():
        language, _, rest = tag.partition("-")
        wanted = rest in ("alt-short", "alt-long", "alt-variant", "alt-menu", "alt-official")
        if wanted and tag not in NOT_ALIASES and full(language) in found:
            found[full(language)].append(name)
    with open(registry_file().parent / "extra_language_names.csv", encoding="utf-8") as stream:
        for spoken, tag, name in csv.reader(stream):
            if spoken == "en" and full(tag) in found:
                found[full(tag)].append(name)
    for locale in cldr.locales():
        file = f"main/{locale}/languages.json"
        if "-" not in locale and full(locale) in found and file in cldr.files:
            names = cldr.read(file)["main"][locale]["localeDisplayNames"]["languages"]
            own = names.get(locale, "")
            found[full(locale)] += [own] if own != locale else []
    for code, extra in NAMES.items():
        found[code] += extra
    for each in found.values():
        each[:] = dict.fromkeys(one.replace(";", ",") for one in each if one)
        plain = (re.sub(r"\s*\([^()]*\)$", "", one) for one in list(each))
        each[:] = dict.fromkeys([*each, *plain])
    return found


def tag_names(cldr: Cldr, codes: Mapping[str, Any], full: Any) -> dict[str, str]:
    """Return the English names of varieties: ``por-BR`` is Brazilian Portuguese."""
    found = {}
    for tag, name in english(cldr, "languages").items():
        language, _, rest = tag.partition("-")
        if re.fullmatch("[A-Z]{2}|419|[A-Z][a-z]{3}", rest) and full(language) in codes:
            found[f"{full(language)}-{rest}"] = name
    return found


def written_facts(cldr: Cldr, full: Any) -> dict[str, dict[str, Any]]:
    """Return letters, marks and quotes by language, and what its varieties change."""
    whole: dict[str, dict[str, Any]] = {}
    found: dict[str, dict[str, Any]] = {}
    for locale in cldr.locales():
        language, *rest = locale.split("-")
        if rest and len(rest[-1]) > 4:
            continue  # variants of spelling, such as valencia
        one = one_locale(cldr, locale)
        tag = "-".join([full(language), *rest])
        whole[tag] = one
        parent = tag.rpartition("-")[0]
        base = whole.get(parent, {})
        changed = {key: value for key, value in one.items() if base.get(key) != value}
        if changed:
            found[tag] = changed
    return found


def one_locale(cldr: Cldr, locale: str) -> dict[str, Any]:
    """Return what a locale says of its writing."""
    characters = cldr.read(f"main/{locale}/characters.json")["main"][locale]["characters"]
    delimiters = cldr.read(f"main/{locale}/delimiters.json")["main"][locale]["delimiters"]
    order = cldr.read(f"main/{locale}/layout.json")["main"][locale]["layout"]["orientation"]
    letters = unicode_set(characters.get("exemplarCharacters", "[]"))
    auxiliary = unicode_set(characters.get("auxiliary", "[]"))
    auxiliary = [char for char in auxiliary if char not in set(letters)]
    quotes = [
        (delimiters[f"{which}Start"], delimiters[f"{which}End"])
        for which in ("quotation", "alternateQuotation")
    ]
    return {
        "letters": ranges(char for char in letters if is_letter(char)),
        "auxiliary": ranges(char for char in auxiliary if is_letter(char)),
        "marks": "".join(
            char
            for char in unicode_set(characters.get("punctuation", "[]"))
            if not char.isspace() and not is_letter(char)
        )
        + "".join(char for char in letters if not is_letter(char) and char.isprintable()),
        "quotes": [list(pair) for pair in dict.fromkeys(quotes)],
        "rtl": order["characterOrder"] == "right-to-left",
    }


def is_letter(char: str) -> bool:
    """Say whether a character is a letter or a combining mark."""
    return unicodedata.category(char)[0] in "LM"


def unicode_set(text: str) -> list[str]:
    """Return the characters of a set in UnicodeSet notation: letters, ranges, escapes, {strings}.

    What is combined comes in NFC, taken apart where there is no composed form.
    """
    items: list[str] = []
    position, end = 1, len(text) - 1
    assert text[0] + text[end] == "[]", text
    pending = False
    while position < end:
        char = text[position]
        position += 1
        if char == "{":
            close = text.index("}", position)
            items.append(unescaped(text[position:close]))
            position = close + 1
        elif char == "-":
            pending = True
        elif char != " ":
            if char == "\\":
                char, position = escape(text, position)
            if pending:
                items += map(chr, range(ord(items[-1]) + 1, ord(char) + 1))
                pending = False
            else:
                items.append(char)
    assert not pending, text
    flat = (char for item in items for char in unicodedata.normalize("NFC", item))
    return list(dict.fromkeys(flat))


def escape(text: str, position: int) -> tuple[str, int]:
    """Return the escaped character behind a backslash and the position behind it."""
    char = text[position]
    if char in "uU":
        size = 4 if char == "u" else 8
        return chr(int(text[position + 1 : position + 1 + size], 16)), position + 1 + size
    return char, position + 1


def unescaped(text: str) -> str:
    """Return a text without its escapes."""
    found, position = "", 0
    while position < len(text):
        char = text[position]
        position += 1
        if char == "\\":
            char, position = escape(text, position)
        found += char
    return found


def ranges(chars: Iterable[str]) -> str:
    """Return characters sorted, with ``a-z`` for three or more that follow each other."""
    found = ""
    run: list[str] = []
    for char in [*sorted(set(chars)), ""]:
        if char and run and ord(char) == ord(run[-1]) + 1:
            run.append(char)
            continue
        found += f"{run[0]}-{run[-1]}" if len(run) > 2 else "".join(run)
        run = [char]
    return found


if __name__ == "__main__":
    main()
