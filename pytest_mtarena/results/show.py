"""A run card for a person."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mtarena.card.seal import check_seal
from pytest_mtarena.records import Json
from pytest_mtarena.registry import Registry, make_registry
from pytest_mtarena.results.verify import referee_of
from pytest_mtarena.text import cut, printable


def show(
    card: Mapping[str, Json],
    verbosity: int = 0,
    width: int = 80,
    *,
    registry: Registry | None = None,
    where: str | None = None,
) -> list[str]:
    """Return the lines that show a card: whose, when, how it did, whether its seal holds.

    ``where`` is the file it stands in. All text from outside is escaped for a terminal.
    """
    registry = make_registry() if registry is None else registry
    lines = header(card)
    referee = referee_of(card, registry)
    body: list[str]
    if referee is None:
        body = [f"kind {card['kind']!r} is not known here: its scores are shown as they stand"]
        body += [f"{key} {value}" for key, value in card["scores"].items() if _is_leaf(value)]
        body = [printable(line) for line in body]
    else:
        body = list(referee.summary(card, verbosity=verbosity, width=width))
    broken = check_seal(card)
    seal = "seal holds" if not broken else f"! SEAL BROKEN: {printable(broken[0])}"
    stands = [] if where is None else [f"card {printable(where)}"]
    # The last two may not be cut: a path that lacks its end is no path.
    return [*(cut(line, width) for line in lines), *body, seal, *stands]


def header(card: Mapping[str, Json]) -> list[str]:
    """Return who was tested on what, when, and how far, for any kind of card."""
    dataset, selection = card["dataset"], card["selection"]
    version = f" {dataset['version']}" if dataset["version"] else ""
    languages = dataset["languages"]
    source = languages["source_name"] or languages["source_code"]
    target = languages["target_name"] or languages["target_code"]
    pair = [f"{source or '?'} to {target or '?'}"] if source or target else []
    entries = f"{selection['n_rows']} of {selection['n_selected']} entries"
    state = "complete" if card["complete"] else "INCOMPLETE"
    facts = [*pair, entries, state]
    if card["interrupted"]:
        facts.append("interrupted")
    if selection["shard"]:
        facts.append(f"shard {selection['shard'][0]}/{selection['shard'][1]}")
    setup = card["setup_fingerprint"]["hash"][:12]
    lines = [
        f"{card['model_slug']} × {dataset['id']}{version}",
        ", ".join(facts),
        f"{card['timestamp']}, {card['elapsed_seconds']:.1f} s, setup {setup}",
    ]
    return [printable(line) for line in lines]


def _is_leaf(value: Json) -> bool:
    return value is not None and not isinstance(value, Mapping | list)
