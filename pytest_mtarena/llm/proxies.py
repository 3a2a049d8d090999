"""The proxies that the environment names, and what may be said of them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from pytest_mtarena.llm.keys import is_loopback

_PLACE = re.compile(r"(?P<host>\[[^\]]*\]|[^:/?#]*)(?P<port>:\d{1,5}(?![^/?#]))?")


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for an address; none for this machine."""
    parts = urlsplit(url)
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    # Only these can be used; with another kind the call would not even start.
    if not proxy.startswith(("http://", "https://")) or is_loopback(url):
        return None
    return None if proxy_bypass(parts.netloc) else proxy


def place_of(proxy: str) -> str:
    """Return a proxy's host and port: never its user and password, however they are written."""
    found = _PLACE.match(proxy.partition("://")[2].rpartition("@")[2])
    return (found[0] if found else "") or "without a host"
