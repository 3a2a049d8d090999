"""The proxies that the environment names, and what may be said of them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from pytest_mtarena.llm.keys import is_loopback

_PLACE = re.compile(r"(?P<host>\[[^\]]*\]|[^:/?#]*)(?P<port>:\d{1,5}(?![^/?#]))?")


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for an address; none for this machine.

    Without a scheme it is taken for an ``http`` one, as elsewhere; one of a kind that cannot be
    used (``socks5``) is returned all the same, so that nobody goes round it unawares.
    """
    parts = urlsplit(url)
    proxies = getproxies_environment()
    proxy = (proxies.get(parts.scheme) or proxies.get("all") or "").strip()
    if not proxy or is_loopback(url) or proxy_bypass(parts.netloc):
        return None
    scheme, found, place = proxy.partition("://")
    return f"{scheme.lower()}://{place}" if found else f"http://{proxy}"


def is_usable(proxy: str) -> bool:
    """Say whether a call can go through a proxy."""
    return proxy.startswith(("http://", "https://"))


def place_of(proxy: str) -> str:
    """Return a proxy's host and port: never its user and password, however they are written."""
    found = _PLACE.match(proxy.partition("://")[2].rpartition("@")[2])
    return (found[0] if found else "") or "without a host"
