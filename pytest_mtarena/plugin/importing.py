"""What a run takes from a champollion config and from a language card, and from where.

One rule for every value: a flag that was given, then the pair, then the language, then the top
level of the config, then the default. The config is looked into for every pair of languages that
is run, so that each suite has the values of its own language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pytest_mtarena.errors import UsageError
from pytest_mtarena.languages.cards import Card, Cards, load_cards
from pytest_mtarena.languages.table import find_language
from pytest_mtarena.llm.champollion import TOP, Block, ChampollionConfig, pick, read_config
from pytest_mtarena.plugin.settings import Settings
from pytest_mtarena.records import Json, Language
from pytest_mtarena.text import cut, printable

FLAG, DEFAULT, CARD = "flag", "default", "language card"
"""Origins of values beside those in a config."""
_NO_COACHING = ("naive",)
"""Prompts that have no place for coaching."""
_T = TypeVar("_T")
_Named = tuple[str, Block]


@dataclass(frozen=True)
class _Where:
    """Where a config is looked into for one pair of languages."""

    pair: _Named | None
    language: _Named | None


class Importing:
    """Makes the settings of a pair of languages out of those of a session."""

    def __init__(self, settings: Settings, methods: Collection[str]) -> None:
        """Read config and cards; ``methods`` are the names that plug-ins contribute.

        Raises UsageError.
        """
        self._settings = settings
        self._methods = methods
        path, cards = settings.champollion_config, settings.scoring.resources.cards_dir
        self.config: ChampollionConfig | None = None if path is None else read_config(path)
        self._cards: Cards | None = None if cards is None else load_cards(cards)
        self._pinned: str | None = None

    @staticmethod
    def is_needed(settings: Settings) -> bool:
        """Say whether the settings of a run depend on its languages."""
        return settings.champollion_config is not None or settings.model.prompt == "champollion"

    @property
    def notes(self) -> list[str]:
        """What the user should hear of the config."""
        if self.config is None or not self.config.unknown:
            return []
        keys = self.config.unknown
        more = f" and {len(keys) - 20} more" if len(keys) > 20 else ""
        listed = ", ".join(cut(printable(key), 60) for key in keys[:20])
        return [f"{self.config.path.name} has keys that are not used here: {listed}{more}"]

    def settings_for(self, source: Language, target: Language) -> Settings:
        """Return the settings for a pair of languages; raises UsageError."""
        settings = self._settings
        code = self._target(target)
        named = Language(code=code) if code else target
        card = find_language(named.code, named.name, cards=self._cards).card
        if self.config is None:
            prompted = replace(settings.model, gender=_gender(card))
            return replace(settings, model=prompted)
        where = self._where(self.config, source, target)
        return _Import(settings, self.config, where, card, self._methods).settings(
            self._shown(source, target)
        )

    def _target(self, target: Language) -> str | None:
        """Return the code that was given, which may only stand for one language of a session."""
        code = self._settings.target_code
        if code is None:
            return None
        own = _base(target)
        if self._pinned is not None and own and self._pinned != own:
            raise UsageError(
                f"--mt-target-lang-code={code} would hold for suites into {self._pinned} and into "
                f"{own}: run them apart, or leave it out"
            )
        self._pinned = own or self._pinned
        return code.strip()

    def _where(self, config: ChampollionConfig, source: Language, target: Language) -> _Where:
        wanted = _tag(self._target(target) or _code(target))
        spoken = _tag(_code(source) or config.source)
        languages = {_tag(code): code for code in config.languages}
        self._check_once(config, config.languages, "languages")
        language = _first(languages, _shorter(wanted)) if wanted else None
        pairs: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for one in config.pairs:
            pairs.setdefault(_tag(one[1]), []).append(one)
        pair = None
        for tag in _shorter(wanted) if wanted else ():
            of_target = {_tag(a): (a, b) for a, b in pairs.get(tag, ())}
            if len(of_target) < len(pairs.get(tag, ())):
                raise UsageError(_twice(config, [":".join(one) for one in pairs[tag]], "pairs"))
            pair = pair or _first(of_target, _shorter(spoken))
        known = [*config.languages, *(b for _, b in config.pairs)]
        if known and language is None and not any(tag in pairs for tag in _shorter(wanted)):
            shown = self._settings.target_code or target.code or target.name or "no language"
            have = ", ".join(dict.fromkeys(known))
            raise UsageError(
                f"{config.path.name} knows nothing of {printable(cut(shown, 60))} (it has: "
                f"{printable(cut(have, 200))}): add it there, or say with --mt-target-lang-code "
                "which of them is meant"
            )
        return _Where(
            pair=None if pair is None else (f"pair {pair[0]}:{pair[1]}", config.pairs[pair]),
            language=None
            if language is None
            else (f"language {language}", config.languages[language]),
        )

    @staticmethod
    def _check_once(config: ChampollionConfig, codes: Iterable[str], what: str) -> None:
        """Raise UsageError for two codes that are the same language."""
        seen: dict[tuple[str, ...], str] = {}
        for code in codes:
            if (other := seen.setdefault(_tag(code), code)) != code:
                raise UsageError(_twice(config, [other, code], what))

    @staticmethod
    def _shown(source: Language, target: Language) -> str:
        return f"{source.code or source.name or '?'}>{target.code or target.name or '?'}"


class _Import:
    """One pair of languages: takes values one by one and keeps where each came from."""

    def __init__(
        self,
        settings: Settings,
        config: ChampollionConfig,
        where: _Where,
        card: Mapping[str, Json],
        methods: Collection[str],
    ) -> None:
        self._given = settings
        self._config = config
        self._where = where
        self._card = card
        self._methods = methods
        self._origin: dict[str, str] = {}

    def settings(self, pair: str) -> Settings:
        """Return the settings; ``pair`` is what messages call the pair of languages."""
        given = self._given
        settings = replace(
            given,
            temperature=self._take("temperature", given.temperature, "temperature" in given.given),
            batch_size=given.batch_size
            if given.model.tools
            else self._take("batch_size", given.batch_size, "batch_size" in given.given),
        )
        settings = self._contestant(settings, pair)
        if settings.model.models:
            settings = self._prompt(settings)
        facts: dict[str, Json] = {
            "file": self._config.path.name,
            "sha256": self._config.sha256,
            "origin": dict(self._origin),
        }
        coaching = settings.model.coaching_file
        if coaching is not None and self._origin.get("coaching_file", FLAG) != FLAG:
            facts["coaching_file"] = coaching.name
        return replace(settings, champollion=facts)

    def _take(self, name: str, value: _T, is_given: bool) -> _T:
        """Return a value by the rule, and note its origin."""
        if is_given:
            self._origin[name] = FLAG
            return value
        found, origin = self._find(name)
        self._origin[name] = origin or DEFAULT
        return value if origin is None else found

    def _find(self, name: str) -> tuple[Any, str | None]:
        return pick(name, self._where.pair, self._where.language, self._config.top)

    def _contestant(self, settings: Settings, pair: str) -> Settings:
        """Return the settings with a contestant: flags, the pair's method, a model."""
        name = self._config.path.name
        if settings.methods or settings.model.models:
            self._origin["model" if settings.model.models else "method"] = FLAG
            return settings
        directory, origin = self._find("method_plugin")
        if directory is not None:
            self._origin["method"] = str(origin)
            if not directory.is_dir():
                raise UsageError(
                    f"{name}: methodPlugin of {origin}: there is no directory {directory} (it is "
                    "looked for from the config's place); or give --mt-method or --mt-model"
                )
            return replace(settings, methods=(str(directory),))
        method, origin = self._find("method")
        if method is not None and not method.startswith("llm"):
            self._origin["method"] = str(origin)
            if method not in self._methods:
                raise UsageError(
                    f"{name}: {origin} says method {printable(cut(method, 60))!r}, which is no "
                    "method here: give --mt-method or --mt-model"
                )
            return replace(settings, methods=(method,))
        model, origin = self._find("model")
        if model is None:
            raise UsageError(f"{name} names no model for {pair}: give --mt-model or --mt-method")
        self._origin["model"] = str(origin)
        return replace(settings, model=replace(settings.model, models=(model,)))

    def _prompt(self, settings: Settings) -> Settings:
        """Return the settings with prompt, coaching, register and context."""
        asked = settings.model
        self._origin["prompt"] = DEFAULT if asked.prompt is None else FLAG
        prompt = asked.prompt or "champollion"
        is_coached = asked.coaching is not None or asked.coaching_file is not None
        coaching_file = asked.coaching_file
        if prompt not in _NO_COACHING:
            coaching_file = self._take("coaching_file", coaching_file, is_coached)
        tone = context = ""
        if prompt not in ("naive", "custom"):
            tone = self._register()
            context = self._config.context or ""
            self._origin["context"] = TOP if context else DEFAULT
        return replace(
            settings,
            model=replace(
                asked,
                prompt=prompt,
                coaching_file=coaching_file,
                tone=tone,
                context=context,
                gender=_gender(self._card),
            ),
        )

    def _register(self) -> str:
        """Return the text of the register: of a preset of the card, or as it stands there."""
        name, origin = self._find("register")
        presets = _part(self._card, "registers")
        if name is None:
            name = _part(self._card, "formality").get("default")
            text = _preset(presets, name)
            self._origin["register"] = CARD if text else DEFAULT
            return text
        self._origin["register"] = str(origin)
        return _preset(presets, name) or str(name)


def _preset(presets: Mapping[str, Json], name: Json) -> str:
    preset = presets.get(name) if isinstance(name, str) else None
    text = preset.get("prompt") if isinstance(preset, Mapping) else None
    return text.strip() if isinstance(text, str) else ""


def _gender(card: Card) -> str:
    text = _part(card, "gender").get("inclusiveGuidance")
    return text.strip() if isinstance(text, str) else ""


def _part(card: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    part = card.get(key)
    return part if isinstance(part, Mapping) else {}


# -- codes ----------------------------------------------------------------------------------


def _code(language: Language) -> str:
    return language.code or find_language("", language.name).code


def _base(language: Language) -> str:
    """Return the language itself, without script and region."""
    tag = _tag(_code(language))
    return tag[0] if tag else ""


def _tag(code: str) -> tuple[str, ...]:
    """Return the parts of a code as they are compared: ``por_BR`` and ``pt-br`` are alike."""
    first, *rest = [part.casefold() for part in re.split("[-_]", code.strip())]
    facts = find_language(first) if len(first) in (2, 3) else None
    return (first if facts is None else facts.alpha2 or facts.code, *rest) if first else ()


def _shorter(tag: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return a tag and what it is part of: ``pt-BR``, then ``pt``."""
    return [tag[:size] for size in range(len(tag), 0, -1)]


def _first(found: Mapping[tuple[str, ...], _T], tags: Iterable[tuple[str, ...]]) -> _T | None:
    return next((found[tag] for tag in tags if tag in found), None)


def _twice(config: ChampollionConfig, names: list[str], what: str) -> str:
    return f"{config.path.name}: {what} has one language as {' and as '.join(names)}: leave one"
