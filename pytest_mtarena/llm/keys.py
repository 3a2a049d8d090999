"""Keys of providers: from the environment only, and in nothing that people or files get to see."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlsplit

from pytest_mtarena.errors import UsageError

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openrouter": ("OPENROUTER_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "compatible": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Provider to the variables that may hold its key, the first one that is set counts."""

HIDDEN = "[hidden]"
"""What stands in the place of a secret."""

_SHORTEST = 4
"""A shorter "key" (a word like ``x`` for an endpoint that needs none) is no secret."""


class MissingKey(UsageError):
    """A provider whose key is not in the environment; ``variable`` is where it belongs."""

    def __init__(self, provider: str, variables: tuple[str, ...]) -> None:
        names = " or ".join(variables)
        super().__init__(
            f"provider {provider}: no key; set the environment variable {names}"
            " (any word, if the endpoint needs no key)"
        )
        self.variable = variables[0]


class Key:
    """A secret and the variable it came from. Nothing but ``reveal`` gives it away."""

    __slots__ = ("_value", "variable")

    def __init__(self, value: str, variable: str) -> None:
        self._value = value
        self.variable = variable

    def reveal(self) -> str:
        """Return the secret, for a header."""
        return self._value

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a key is not to be stored or sent")


def key_for(
    provider: str, *, base_url: str | None = None, environ: Mapping[str, str] | None = None
) -> Key | None:
    """Return the key of a provider; None when it has none and an own machine is asked.

    Raises:
        MissingKey: no variable is set, and ``base_url`` is not on this machine.
        UsageError: the variable holds what cannot be a key.
    """
    found = os.environ if environ is None else environ
    variables = VARIABLES.get(provider, (f"{provider.upper()}_API_KEY",))
    for variable in variables:
        value = found.get(variable, "").strip()
        if not value:
            continue
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise UsageError(f"{variable} holds blanks or letters that no key has: set it again")
        return Key(value, variable)
    if base_url is not None and is_loopback(base_url):
        return None
    raise MissingKey(provider, variables)


def is_loopback(url: str) -> bool:
    """Return whether a URL points at this very machine (by its text: no name is looked up)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def variable_in(data: bytes, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the variable whose key stands in the bytes of a file; None when there is none."""
    found = os.environ if environ is None else environ
    for variable in sorted({name for names in VARIABLES.values() for name in names}):
        value = found.get(variable, "").strip()
        if len(value) >= _SHORTEST and value.encode("utf-8", "surrogateescape") in data:
            return variable
    return None


def mask(text: str, secrets: Iterable[str]) -> str:
    """Return the text without the secrets, also where one is written as in a URL."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) < _SHORTEST:
            continue
        for form in {secret, quote(secret, safe="")}:
            text = text.replace(form, HIDDEN)
    return text
