"""The seal of a run card: two hashes that break when anything in it is changed.

``run_card_hash`` is the documented one: the field set to ``""``, keys sorted, Python's default
separators, non-ASCII unescaped, UTF-8, SHA-256 hex. Three lines of Python check it::

    card = json.load(open("card.json", encoding="utf-8"))
    text = json.dumps({**card, "run_card_hash": ""}, sort_keys=True, ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == card["run_card_hash"]

``run_card_digest`` is SHA-256 over RFC 8785 of the card without both hashes, for readers that are
not Python. The documented hash covers the digest too. A seal is not a signature: whoever edits a
card can seal it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mtarena.card.canonical import ROWS, jcs_chunks, legacy_chunks, plain
from pytest_mtarena.errors import CardError
from pytest_mtarena.records import Json

HASH_ALG = "sha256 of json.dumps(card with run_card_hash '', sort_keys, ensure_ascii=False)"
DIGEST_ALG = "sha256 of RFC 8785 (JCS) of the card without run_card_hash and run_card_digest"

_OWN = frozenset({"run_card_hash", "run_card_digest"})


def seal(
    card: Mapping[str, Json], *, rows_are_plain: bool = False, rows: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the card, in plain form, with both hashes set; ``run_card_hash`` comes last.

    ``rows_are_plain`` spares a second look at the rows of a card that was just assembled;
    ``rows`` are their texts by ``row_text``. Raises CardError for anything that is not JSON.
    """
    own = {ROWS, *_OWN} if rows_are_plain else _OWN
    even = plain({k: v for k, v in card.items() if k not in own})
    sealed: dict[str, Any] = {k: even.get(k, card[k]) for k in card if k not in _OWN}
    sealed["run_card_hash_alg"] = HASH_ALG
    sealed["run_card_digest_alg"] = DIGEST_ALG
    sealed["run_card_digest"] = digest_of(sealed, rows)
    sealed["run_card_hash"] = hash_of(sealed)
    return sealed


def digest_of(card: Mapping[str, Json], rows: Sequence[str] | None = None) -> str:
    """Return the SHA-256 hex over RFC 8785 of a card without its hashes."""
    return _sha256(jcs_chunks({k: v for k, v in card.items() if k not in _OWN}, rows))


def hash_of(card: Mapping[str, Json]) -> str:
    """Return the documented hash of a card."""
    return _sha256(legacy_chunks(card))


def check_seal(card: Mapping[str, Json]) -> list[str]:
    """Return what is wrong with the seal of a card, one line each.

    A card that another program read and wrote again, with ``1.0`` for ``1``, is still intact.
    """
    try:
        # What we sealed was plain; what another program sealed may not be: its own form counts.
        even = plain(card)
        found = []
        if even.get("run_card_digest") != (digest := digest_of(even)):
            found.append(_broken("run_card_digest", card, digest))
        if (given := even.get("run_card_hash")) != (computed := hash_of(even)) and (
            even is card or given != hash_of(card)
        ):
            found.append(_broken("run_card_hash", card, computed))
    except CardError as error:
        return [str(error)]
    return found


def _broken(field: str, card: Mapping[str, Json], computed: str) -> str:
    given = card.get(field)
    if not given:
        return f"{field}: the card is not sealed"
    return f"{field}: {str(given)[:12]} in the card, {computed[:12]} from its content"


def _sha256(pieces: Iterable[str]) -> str:
    hasher = hashlib.sha256()
    try:
        for piece in pieces:
            hasher.update(piece.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise CardError(f"the card holds a lone surrogate: {error.reason}") from None
    return hasher.hexdigest()
