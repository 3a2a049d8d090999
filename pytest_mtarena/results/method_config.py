"""What a run card says of how to translate like its run: the eight fields of a method's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mtarena.contestants.asked import served
from pytest_mtarena.errors import UsageError
from pytest_mtarena.languages.table import find_language
from pytest_mtarena.records import Json

FIELDS = (
    *("model", "temperature", "batchSize", "register"),
    *("coachingFile", "coachingPrompt", "promptContext", "qualityTier"),
)
"""The keys of a config, in order; all are always there, null when they are not used."""

LLM, COACHED, API, GOOGLE, METHOD = "llm", "llm-coached", "api", "google-translate", "method-plugin"
TYPES = (LLM, COACHED, API, GOOGLE, METHOD)
"""What a plug-in can be."""


def type_of(card: Mapping[str, Json]) -> str:
    """Return the type that a run was of: a model alone, a model with coaching, or a method."""
    if card["condition"] == "method" and card["config"]["api_provider"] is None:
        return METHOD
    return LLM if prompt_of(card) == "naive" else COACHED


def prompt_of(card: Mapping[str, Json]) -> str:
    """Return the name of a model's prompt; where it is not told, of the condition."""
    return str(card["config"]["method_facts"].get("prompt") or card["condition"])


def method_config(card: Mapping[str, Json]) -> dict[str, Any]:
    """Return the config of a card's run: ``FIELDS``, and nothing else.

    ``coachingPrompt`` is the system prompt as it was sent, unless that is the package's own
    instruction. ``coachingFile`` is a name without a directory.
    """
    config, kind = card["config"], type_of(card)
    facts = config["method_facts"]
    file = _text(config["coaching_file"])
    found = (
        None if kind == METHOD else served(config["method_name"]),
        config["temperature"],
        config["batch_size"],
        _text(facts.get("register")),
        served(file) if file else None,
        (card["system_prompt_used"] or None) if kind == COACHED else None,
        _text(facts.get("prompt_context")),
        _text(card["scores"].get("quality_tier")),
    )
    return dict(zip(FIELDS, found, strict=True))


def locale_of(card: Mapping[str, Json]) -> str:
    """Return the target language's code as short as it gets (``pt`` for ``por``), or ``""``."""
    languages = card["dataset"]["languages"]
    code = str(languages["target_code"]).replace("_", "-")
    if not code:
        known = find_language(name=languages["target_name"])
        return known.alpha2 or known.code
    return shortened(code)


def shortened(code: str) -> str:
    """Return a code with ISO 639-1 for its language where there is one: ``pt-BR``."""
    language, dash, rest = code.replace("_", "-").partition("-")
    return f"{find_language(language).alpha2 or language.lower()}{dash}{rest}"


def require_target(name: str, card: Mapping[str, Json], code: str) -> None:
    """Raise UsageError when a code is not that of a card's target language."""
    wanted, found = shortened(code).lower(), locale_of(card)
    if not (found.lower() == wanted or wanted.startswith(f"{found.lower()}-")):
        into = found or "a language without a code"
        raise UsageError(f"--target-lang-code {code}: {name} is a run into {into}")


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
