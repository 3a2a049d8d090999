"""Show: whose card, how far, whether the seal holds; nothing in it acts on a terminal."""

from __future__ import annotations

from pytest_mtarena.card.assemble import assemble
from pytest_mtarena.card.seal import seal
from pytest_mtarena.protocols import Identity
from pytest_mtarena.results.show import show
from tests.unit.card.making import ToyReferee, make_facts, make_rows, sealed_card, toy_registry

REGISTRY = toy_registry()


def test_a_card() -> None:
    card = sealed_card()
    assert show(card, registry=REGISTRY, where="runs/x.json") == [
        "method/echo@12345678 × tiny 3",
        "English to por, 7 of 7 entries, complete",
        f"2026-03-04T05:06:07Z, 12.5 s, setup {card['setup_fingerprint']['hash'][:12]}",
        f"alike {card['scores']['alike']}",
        "seal holds",
        "card runs/x.json",
    ]


def test_an_incomplete_shard_says_so() -> None:
    facts = make_facts(
        7,
        complete=False,
        interrupted=True,
        shard=(2, 3),
        selected_ids=("e0", "e1"),
        all_selected_ids=("e0", "e1", "e2"),
    )
    rows = make_rows()[:1]
    card = seal(assemble(facts, rows, ToyReferee().score(rows)))
    second = show(card, registry=REGISTRY)[1]
    assert second == "English to por, 1 of 2 entries, INCOMPLETE, interrupted, shard 2/3"


def test_a_broken_seal_is_shown() -> None:
    card = {**sealed_card(), "elapsed_seconds": 1}
    assert show(card, registry=REGISTRY)[-1].startswith("! SEAL BROKEN: run_card_digest: ")


def test_an_unknown_kind_shows_its_scores() -> None:
    card = seal({**sealed_card(), "kind": "juggling"})
    lines = show(card, registry=REGISTRY)
    assert "kind 'juggling' is not known here: its scores are shown as they stand" in lines
    assert f"alike {card['scores']['alike']}" in lines


def test_hostile_words_are_made_visible_and_lines_cut() -> None:
    identity = Identity(name="x", slug="method/\x1b[2J\u202eevil\nline" + "y" * 200)
    lines = show(sealed_card(identity=identity), width=60, registry=REGISTRY)
    assert "\x1b" not in lines[0]
    assert "\u202e" not in lines[0]
    assert "\n" not in lines[0]
    assert len(lines[0]) <= 60
