"""Verify: a fair card holds; a changed leaf and a number that its rows do not give are told."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.card.assemble import assemble
from pytest_mtarena.card.seal import seal
from pytest_mtarena.results.verify import verify
from tests.unit.card.making import ToyReferee, make_facts, make_rows, sealed_card, toy_registry

REGISTRY = toy_registry()
CARD = sealed_card(5)


def test_a_fair_card_holds() -> None:
    assert verify(CARD, REGISTRY) == []


def test_a_fair_card_holds_after_a_round_trip() -> None:
    assert verify(json.loads(json.dumps(CARD)), REGISTRY) == []


def test_an_incomplete_card_holds_and_a_shard_does() -> None:
    rows = make_rows(7)[:4]
    report = ToyReferee().score(rows)
    card = seal(assemble(make_facts(7, complete=False), rows, report))
    assert verify(card, REGISTRY) == []
    facts = make_facts(
        7, selected_ids=("e0", "e1"), all_selected_ids=("e0", "e1", "e2"), shard=(1, 2)
    )
    card = seal(assemble(facts, rows[:2], ToyReferee().score(rows[:2])))
    assert verify(card, REGISTRY) == []


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all leaves; an empty list or mapping is one."""
    if isinstance(value, dict | list) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from leaves(inner, (*path, key))
    else:
        yield path


PATHS = sorted(leaves(CARD), key=str)
OTHERS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(-2, 2)
    | st.text("ab01", max_size=2)
    | st.just([])
    | st.just({})
)


@given(st.sampled_from(PATHS), OTHERS)
@settings(max_examples=150, deadline=None)
def test_any_changed_leaf_is_rejected(path: tuple[Any, ...], other: Any) -> None:
    card = copy.deepcopy(CARD)
    before = inner(card, path)
    if same(before, other):
        return
    put(card, path, other)
    assert verify(card, REGISTRY)


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_each_leaf_counts(path: tuple[Any, ...]) -> None:
    card = copy.deepcopy(CARD)
    put(card, path, nudged(inner(card, path)))
    assert verify(card, REGISTRY)


def same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def nudged(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return [*value, "x"] if isinstance(value, list) else {**value, "x": 1}


def inner(card: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        card = card[key]
    return card


def put(card: Any, path: tuple[Any, ...], value: Any) -> None:
    inner(card, path[:-1])[path[-1]] = value


def forged(change: Callable[[dict[str, Any]], Any]) -> list[str]:
    """What verify says of a card that was changed and sealed again."""
    card = copy.deepcopy(CARD)
    change(card)
    return verify(seal(card), REGISTRY)


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("scores.alike", 0.99, "scores.alike: 0.99 in the card, {} from its rows"),
        (
            "scores.confidence_intervals.alike.ci_lower",
            0.5,
            "scores.confidence_intervals.alike.ci_lower: 0.5 in the card, {} from its rows",
        ),
        (
            "scores.by_domain.news.n",
            50,
            "scores.by_domain.news.n: 50 in the card, {} from its rows",
        ),
        ("scores.surprise", 1, "scores.surprise: 1 in the card, nothing from its rows"),
        ("scores.avg_latency_seconds", 0.1, "scores.avg_latency_seconds: 0.1 in the card, {}"),
        ("totals.total_cost_usd", 0, "totals.total_cost_usd: 0 in the card, 1.25 from its rows"),
        ("totals.prompt_tokens", 7, "totals.prompt_tokens: 7 in the card, 60 from its rows"),
        ("headline", "bleu", 'headline: "bleu" in the card, "alike" from its rows'),
        ("signatures.alike", "x", 'signatures.alike: "x" in the card, "toy|v:1" from its rows'),
        ("caveats", [], 'caveats[0]: nothing in the card, "few entries" from its rows'),
        ("selection.n_rows", 9, "selection.n_rows: 9 in the card, 5 from its rows"),
        ("selection.ids_sha256", "0" * 64, "selection.ids_sha256: the rows are not those"),
        ("dataset.sha256", "c" * 64, "fingerprint.hash: "),
        ("config.batch_size", 1, "setup_fingerprint.components.batch_size: 3 in the card, 1 from"),
        ("fingerprint.hash", "0" * 64, "fingerprint.hash: "),
        ("run_id", "run_1", 'run_id: "run_1" is no UUID of version 4'),
        ("system_prompt_used", "x", 'system_prompt_sha256: "" in the card'),
        ("dataset.entry_count", 2, "results: index 4, but the suite has 2 entries"),
        ("config.normalization", "none", "config.normalization: not that of config.scoring"),
        ("results.2.alike", 1, "results[2].alike: 1 in the card, {} from its text"),
        ("results.2.predicted", "x", "results[2].alike: "),
        ("results.1.status", "error", "scores.errors: 1 in the card, 2 from its rows"),
        ("results.1.cost_usd", None, "totals.total_cost_usd: 1.25 in the card, null from"),
        ("results.1.index", 3, "results[2]: index 2 after 3: not in canonical order"),
        ("results.1.entry_id", "e0", 'results[1]: entry "e0" comes twice'),
    ],
)
def test_a_forged_card_with_a_fresh_seal_is_told(path: str, value: Any, line: str) -> None:
    keys = tuple(int(key) if key.isdigit() else key for key in path.split("."))
    head, _, rest = line.partition("{}")
    found = forged(lambda card: put(card, keys, value))
    assert any(each.startswith(head) and rest in each for each in found), found


def test_dropped_rows_are_noticed() -> None:
    found = forged(lambda card: card["results"].pop(1))
    assert "complete: 4 rows for 5 selected entries" in found


def test_an_unknown_kind_is_said() -> None:
    found = verify(seal({**CARD, "kind": "juggling"}), REGISTRY)
    assert any('scores: kind "juggling" is not known here (known: toy)' in line for line in found)


def test_what_is_no_card_is_a_line() -> None:
    assert verify({"a": 1}, REGISTRY) == ["not a run card: it has neither scores nor run_card_hash"]
    assert any("totals" in line for line in verify({**CARD, "totals": {}}, REGISTRY))


@pytest.mark.parametrize("value", [7, 0.5, True])
def test_rows_of_nonsense_are_a_line_and_no_traceback(value: Any) -> None:
    found = forged(lambda card: card["results"][0].update(predicted=value))
    assert any(line.startswith("scores: cannot be computed again: ") for line in found)
    assert not any("\n" in line for line in found)


@pytest.mark.parametrize("value", [7, ["x"], {"a": 1}, "x", None, True])
@pytest.mark.parametrize(
    "key", ["predicted", "usage", "metadata", "request", "request_seconds", "cost_usd"]
)
def test_odd_fields_of_rows_never_raise(key: str, value: Any) -> None:
    forged(lambda card: card["results"][0].update({key: value}))
