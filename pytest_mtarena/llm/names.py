"""Names of models: short ones resolved, and what they resolved to kept.

What is recorded is always both: the name that was given and the one that is sent. A name that can
mean another model tomorrow is flagged as floating.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Record
from pytest_mtarena.text import cut, printable, some

ALIASES: Mapping[str, str] = {
    "gemini-flash": "google/gemini-3.5-flash",
    "gemini-pro": "google/gemini-3.1-pro-preview",
    "claude-sonnet": "anthropic/claude-sonnet-4",
    "gpt": "openai/gpt-5.5",
    "claude-opus-4.7": "anthropic/claude-opus-4.7",
    "claude-opus-4.6": "anthropic/claude-opus-4.6",
    "claude-sonnet-4.6": "anthropic/claude-sonnet-4.6",
    "claude-sonnet-4": "anthropic/claude-sonnet-4",
    "gemini-3.5-flash": "google/gemini-3.5-flash",
    "gemini-3.1-pro": "google/gemini-3.1-pro-preview",
    "gemini-3-flash": "google/gemini-3-flash-preview",
    "gemini-2.5-flash": "google/gemini-2.5-flash",
    "gpt-5.5": "openai/gpt-5.5",
    "deepseek-v4-pro": "deepseek/deepseek-v4-pro",
    "deepseek-r1": "deepseek/deepseek-r1-0528",
    "qwen3-235b": "qwen/qwen3-235b-a22b",
}
"""Short names to OpenRouter's."""

ALIAS_FILE = Path("shared") / "model-aliases.json"
LEVELS = 6
"""How many directories upwards the file of aliases is looked for."""

FAMILIES: Mapping[str, str] = {
    "claude": "anthropic",
    "gemini": "google",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "deepseek": "deepseek",
    "qwen": "qwen",
    "llama": "meta-llama",
    "mistral": "mistralai",
    "command": "cohere",
    "glm": "z-ai",
}
"""How the names of a vendor's models begin, to the vendor's name at OpenRouter."""

OWN_VENDOR: Mapping[str, str] = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
"""Providers that serve the models of one vendor alone."""

_LATEST = re.compile(r"(?:^|[-:/@_.])latest(?:$|[-:/@_.])", re.IGNORECASE)
_DAY = re.compile(
    r"(?<!\d)20\d\d(?P<gap>[-_.]?)(?:0[1-9]|1[0-2])(?P=gap)(?:0[1-9]|[12]\d|3[01])(?!\d)"
)
_SHORT_DAY = re.compile(
    r"[-@](?:(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|2[3-9](?:0[1-9]|1[0-2]))(?=$|[-:@])"
)
_MONTH = re.compile(r"[-@](?:0[1-9]|1[0-2])-20\d\d(?!\d)")
_REVISION = re.compile(r"-00\d(?=$|[-:@])")


class ModelName(Record):
    """A model as it was given and as it is sent."""

    given: str
    id: str
    """What the provider is asked for."""
    how: Literal["given", "alias", "family", "vendor"] = "given"
    """Why ``id`` is what it is: the name itself, an alias, the vendor found by the family, or the
    vendor's own name of it."""
    floating: str = ""
    """Why the name can mean another model tomorrow, one line; empty when it cannot."""

    @property
    def note(self) -> str:
        """What is worth telling, one line; empty when there is nothing."""
        parts = [f"{self.given} is {self.id}"] if self.given != self.id else []
        parts += [self.floating] if self.floating else []
        return printable("; ".join(parts))


def parse_models(text: str) -> tuple[str, ...]:
    """Return the names of a list such as ``a,b,c``.

    Raises UsageError for a name that is empty, no name, or there twice.
    """
    names = tuple(name.strip() for name in text.split(","))
    for position, name in enumerate(names, start=1):
        if not name:
            raise UsageError(
                f"model {position} of {_quoted(text)} has no name; write names with a comma between"
            )
        if not name.isprintable() or " " in name:
            raise UsageError(f"{_quoted(name)} is no name of a model: it has blanks or controls")
        if name in names[: position - 1]:
            raise UsageError(f"{_quoted(name)} stands twice in {_quoted(text)}; name it once")
    return names


def resolve_models(
    text: str,
    provider: str,
    *,
    aliases: Mapping[str, str] = ALIASES,
    custom_endpoint: bool = False,
) -> tuple[ModelName, ...]:
    """Return the models of a list; raises UsageError for one that is unknown or there twice."""
    models = [
        resolve_model(name, provider, aliases=aliases, custom_endpoint=custom_endpoint)
        for name in parse_models(text)
    ]
    seen: dict[str, str] = {}
    for model in models:
        if model.id in seen:
            raise UsageError(
                f"{seen[model.id]} and {model.given} are the same model, {model.id}; name it once"
            )
        seen[model.id] = model.given
    return tuple(models)


def resolve_model(
    name: str,
    provider: str,
    *,
    aliases: Mapping[str, str] = ALIASES,
    custom_endpoint: bool = False,
) -> ModelName:
    """Return what a name means for a provider; raises UsageError when it means nothing.

    ``provider``: ``openrouter``, ``openai``, ``anthropic``, ``gemini``; any other one, and an
    endpoint of the user's own (``custom_endpoint``), gets the name as it stands.
    """
    if custom_endpoint or (provider != "openrouter" and provider not in OWN_VENDOR):
        return _named(name, name, "given")
    slug, how = _slug(name, aliases)
    if provider == "openrouter":
        if slug is None:
            raise UsageError(_unknown(name, aliases))
        return _named(name, slug, how)
    own = OWN_VENDOR[provider]
    vendor, _, rest = (slug or "").rpartition("/")
    if slug is not None and how != "given" and vendor not in ("", own):
        raise UsageError(f"{name} is {slug}, which {provider} does not serve; use OpenRouter")
    if how == "alias":
        return _named(name, _own_name(provider, rest), "alias")
    plain = name.removeprefix(f"{own}/")
    if provider == "gemini":
        plain = plain.removeprefix("models/")
    if "/" in plain:
        raise UsageError(f"{_quoted(name)} is no model of {provider}; use OpenRouter")
    plain = _own_name(provider, plain)
    return _named(name, plain, "given" if plain == name else "vendor")


def floating_reason(model: str) -> str:
    """Return why a name can mean another model tomorrow; empty when it is tied to one."""
    if _LATEST.search(model):
        return f"{printable(model)} is whatever is the latest"
    if any(form.search(model) for form in (_DAY, _SHORT_DAY, _MONTH, _REVISION)):
        return ""
    return f"{printable(model)} has no date: the provider may change what it names"


def find_aliases(start: Path) -> dict[str, str]:
    """Return the aliases that hold in a directory: the table, and over it the nearest file.

    The file is ``shared/model-aliases.json`` in the directory or up to 6 above it. Raises
    UsageError for a broken file.
    """
    here = start.absolute()
    for directory in [here, *here.parents][: LEVELS + 1]:
        path = directory / ALIAS_FILE
        if path.is_file():
            return {**ALIASES, **read_aliases(path)}
    return dict(ALIASES)


def read_aliases(path: Path) -> dict[str, str]:
    """Return the aliases of a JSON object; names that begin with ``_`` are comments."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot read the aliases: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: aliases have to be JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: aliases have to be JSON in UTF-8") from None
    if not isinstance(data, dict):
        raise UsageError(f'{path}: aliases have to be an object: {{"short": "vendor/model"}}')
    found = {}
    for alias, model in data.items():
        if alias.startswith("_"):
            continue
        if not isinstance(model, str) or not model.strip():
            raise UsageError(f"{path}: {_quoted(alias)} has to be the name of a model, a text")
        found[alias] = model.strip()
    return found


def suggestions(name: str, aliases: Mapping[str, str] = ALIASES) -> Sequence[str]:
    """Return up to four known names that are like a name, the likest first."""
    known = {one.lower(): one for one in (*aliases, *aliases.values())}
    low = name.lower()
    part = [one for one in known if low in one] if len(low) >= 3 else []
    like = difflib.get_close_matches(low, list(known), n=4, cutoff=0.6)
    return [known[one] for one in dict.fromkeys([*like, *part])][:4]


def _slug(
    name: str, aliases: Mapping[str, str]
) -> tuple[str | None, Literal["given", "alias", "family"]]:
    """Return OpenRouter's name of a model, and how it was found; None when it is unknown."""
    folded = {alias.lower(): model for alias, model in aliases.items()}
    if name.lower() in folded:
        return folded[name.lower()], "alias"
    if "/" in name:
        return name, "given"
    for start, vendor in FAMILIES.items():
        rest = name.lower().removeprefix(start)
        # "commander" is no "command": the family ends where the word ends.
        if rest != name.lower() and not rest[:1].isalpha():
            return f"{vendor}/{name}", "family"
    return None, "given"


def _own_name(provider: str, name: str) -> str:
    """Return the vendor's own name of a model: Anthropic writes ``4-6`` where others write 4.6."""
    if provider != "anthropic":
        return name
    if name in ("claude-sonnet-4", "claude-opus-4"):
        return f"{name}-0"
    return re.sub(r"(?<=-)(\d+)\.(\d+)(?=$|[-:@])", r"\1-\2", name)


def _named(given: str, model: str, how: Literal["given", "alias", "family", "vendor"]) -> ModelName:
    return ModelName(given=given, id=model, how=how, floating=floating_reason(model))


def _unknown(name: str, aliases: Mapping[str, str]) -> str:
    near = suggestions(name, aliases)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"short names: {some(sorted(aliases))};"
    )
    return f"unknown model {_quoted(name)}: {hint} Any other model is written VENDOR/MODEL"


def _quoted(text: str) -> str:
    return f"'{cut(printable(text), 60)}'"
