"""Selecting: -k, -m, node ids, ids, filters, shards."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena.registry import make_registry
from pytest_mtarena.results.merge import merge

IDS = ["s1::x[2] # y/z", "with space", "čáhci", "a and b", "not", "x-1", "x-10"]


@pytest.fixture
def odd(pytester):
    path = pytester.path / "odd.jsonl"
    lines = [
        json.dumps({"id": i, "src": f"Word {n}", "ref": "x"}, ensure_ascii=False)
        for n, i in enumerate(IDS)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def node_ids(result):
    return [line for line in result.run.stdout.lines if line.startswith("odd.jsonl::")]


def test_every_printed_node_id_selects_its_item(arena, odd, good):
    base = [f"--mt-method={good}"]
    listed = node_ids(arena(str(odd), *base, "--collect-only", "-q"))
    assert len(listed) == len(IDS)
    result = arena(*listed[:3], *base)
    assert [row["entry_id"] for row in result.rows] == IDS[:3]
    alone = arena(listed[5], *base)
    assert [row["entry_id"] for row in alone.rows] == ["x-1"]


def test_ids_select_exactly(arena, odd, good):
    for wanted in (["čáhci", "not"], ["x-1"], ["with space"]):
        result = arena(str(odd), f"--mt-method={good}", f"--mt-ids={','.join(wanted)}")
        assert [row["entry_id"] for row in result.rows] == wanted


@pytest.mark.parametrize(
    ("expression", "count"),
    [("čáhci", 1), ("domain_x or tech", 3), ("difficulty_2", 2), ("eng and e1", 1), ("mine", 0)],
)
def test_k_sees_ids_labels_and_codes(arena, corpus, good, odd, expression, count):
    paths = [str(odd)] if expression == "čáhci" else [str(corpus(6))]
    result = arena(*paths, f"--mt-method={good}", "-k", expression, "--collect-only", "-q")
    collected = [line for line in result.run.stdout.lines if "::" in line]
    assert len(collected) == count


def test_m_sees_the_kind(arena, corpus, good):
    arena(str(corpus(3)), f"--mt-method={good}", "-m", "translation").outcomes(passed=3)
    none = arena(str(corpus(3)), f"--mt-method={good}", "-m", "not translation")
    assert none.code == 5


@pytest.mark.parametrize(
    ("option", "ids"),
    [
        ("--mt-domain=tech", ["e2", "e4", "e6"]),
        ("--mt-difficulty=1", ["e3", "e6"]),
        ("--mt-dataset=e5", ["e5"]),
        ("--mt-dataset=development", ["e1", "e2", "e3", "e4", "e5", "e6"]),
    ],
)
def test_filters_keep_the_order_and_stand_in_the_card(arena, corpus, good, option, ids):
    card = arena(str(corpus(6)), f"--mt-method={good}", option).card
    assert [row["entry_id"] for row in card["results"]] == ids
    assert card["complete"]
    assert card["selection"]["n_selected"] == len(ids)
    assert card["dataset"]["entry_count"] == 6


def test_selecting_nothing_says_why(arena, corpus, good, mode):
    result = arena(str(corpus(6)), f"--mt-method={good}", "--mt-domain=legal", *mode)
    assert result.code == 5, result.text
    assert "nothing selected in tiny" in result.text
    assert "legal" in result.text


def test_control_characters_in_ids_never_reach_the_terminal(arena, good, pytester, mode):
    ids = ["a\0b", "bell\x07", "line\nfeed", "\x1b[2Jclear", "tab\tid", " lead"]
    path = pytester.path / "odd.jsonl"
    path.write_text("\n".join(json.dumps({"id": i, "src": "W", "ref": "x"}) for i in ids))
    result = arena(str(path), f"--mt-method={good}", "-v", "--color=no", *mode)
    assert result.code == 0, result.text
    result.outcomes(passed=6)
    assert [row["entry_id"] for row in result.rows] == ids
    raw = {c for c in result.text if ord(c) < 32} - {"\n", "\t"}
    assert raw <= {"\r"}


def test_shards_merge_into_the_whole(arena, corpus, method):
    from tests.plugin.test_run import SHAKY

    path, directory = corpus(23), method(SHAKY)
    base = [str(path), f"--mt-method={directory}", "--mt-batch-size=4"]
    whole = arena(*base).card
    shards = [
        arena(*base, f"--mt-shard={i}/3", *how).card for i, how in ((1, []), (2, ["-n2"]), (3, []))
    ]
    assert sum(len(card["results"]) for card in shards) == 23
    merged = merge(shards, make_registry())
    assert merged["complete"]
    timed = {"run_id", "timestamp", "elapsed_seconds", "run_card_hash", "run_card_digest"}

    def stable(card):
        kept = {k: v for k, v in card.items() if k not in timed}
        kept["scores"] = {
            k: v for k, v in card["scores"].items() if "latency" not in k and "_per_" not in k
        }
        kept["results"] = [
            {k: v for k, v in row.items() if k not in ("request_seconds", "latency_seconds")}
            for row in card["results"]
        ]
        kept["config"] = {
            k: v for k, v in card["config"].items() if k not in ("workers", "peak_in_flight")
        }
        kept.pop("totals")
        return kept

    assert stable(merged) == stable(whole)
