"""Keyed batches: the schema has exactly the ids, and answers are joined by key only."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.llm.keyed import keys_for, read, schema, write

KEYS = ["a1", "a2"]
GOOD = {"a1": "Bom dia", "a2": 'Ele disse "sim"'}
TEXT = json.dumps(GOOD)


def kinds(found):
    return {one.kind for one in found.problems}


@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"\ufeff{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```json\n{TEXT}```",
        f"```\n{TEXT}\n```",
        f"First:\n\n```sh\nmake {{}}\n```\n\n```json\n{TEXT}\n```\nThat is all.",
        f"JSON: {TEXT} All the best {{smile}}",
        f"Use {{name}} here: {TEXT}",
        f"{TEXT}\n{TEXT}",
        json.dumps({"translations": GOOD}),
        json.dumps({"a2": GOOD["a2"], "a1": GOOD["a1"]}, indent=2),
    ],
)
def test_one_object_is_found_in_fences_and_prose(reply):
    found = read(reply, KEYS)
    assert found.texts == GOOD
    assert found.problems == ()
    assert not found.whole


def test_a_fence_inside_a_value_is_text():
    value = "use ```ls``` there"
    assert read(json.dumps({"a1": value, "a2": "b"}), KEYS).texts["a1"] == value


def test_line_breaks_that_were_not_escaped_are_text():
    assert read('{"a1": "x\ny", "a2": "b"}', KEYS).texts["a1"] == "x\ny"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ('{"a1": "x"}', "missing"),
        ('{"a1": "x", "a2": "", "a2": "y"}', "duplicate"),
        ('{"a1": "x", "a2": "y", "a9": "z"}', "out_of_range"),
        ('{"0": "x", "1": "y"}', "out_of_range"),
        ('["x", "y"]', "no_object"),
        ("I cannot do that.", "no_object"),
        ("", "no_object"),
        ('{"a1": "x", "a2": "y"} or {"a1": "z", "a2": "y"}', "several_objects"),
        ('[{"a1": "x"}, {"a2": "y"}]', "several_objects"),
    ],
)
def test_another_set_of_keys_sets_the_whole_reply_aside(reply, kind):
    found = read(reply, KEYS)
    assert kind in kinds(found)
    assert found.whole


@pytest.mark.parametrize("value", [5, True, ["x"], {"x": "y"}, 1e999, "\ud800"])
def test_a_value_that_is_no_text_costs_its_own_key(value):
    found = read(json.dumps({"a1": "x", "a2": value}), KEYS)
    assert found.texts == {"a1": "x"}
    assert [(one.kind, one.where) for one in found.problems] == [("not_text", "a2")]
    assert not found.whole


@pytest.mark.parametrize("value", [None, "", " "])
def test_a_last_key_that_is_only_filled_up_sets_the_whole_reply_aside(value):
    found = read(json.dumps({"a1": "the text of a2", "a2": value}), KEYS)
    assert found.whole
    assert not read(json.dumps({"a1": value, "a2": "x"}), KEYS).whole
    assert not read(json.dumps({"a1": value}), ["a1"]).whole


def test_an_empty_value_costs_its_own_key():
    found = read('{"a1": " ", "a2": "y"}', KEYS)
    assert found.texts == {"a2": "y"}
    assert kinds(found) == {"empty"}


@pytest.mark.parametrize(
    "reply",
    [
        '{"a1": "x", "a2": "y',
        '```json\n{"a1": "x", "a2',
        '{"a1": "x",',
        '{"translations": {"a1": "x", "a2": ',
    ],
)
def test_the_pairs_before_a_cut_count(reply):
    found = read(reply, KEYS, cut=True)
    assert found.texts == {"a1": "x"}
    assert not found.whole
    assert read(reply, KEYS).texts == {}


def test_the_schema_has_exactly_the_keys():
    made = schema(["a", "b"])
    assert made["required"] == ["a", "b"]
    assert list(made["properties"]) == ["a", "b"]
    assert made["additionalProperties"] is False


def test_ids_that_cannot_be_keys_are_replaced():
    assert keys_for(["a-1", "b.2"]) == ["a-1", "b.2"]
    assert keys_for(["a-1", "two words"]) == ["e1", "e2"]
    assert keys_for(["x" * 65, "é", '"}']) == ["e1", "e2", "e3"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=6))
def test_a_batch_that_is_echoed_is_the_batch(sources):
    keys = keys_for([f"id {at}" for at in range(len(sources))])
    found = read(write(keys, sources), keys)
    assert found.texts == {
        key: text for key, text in zip(keys, sources, strict=True) if text.strip()
    }


@given(st.text(st.sampled_from('{}[]":,a1\\ \n')), st.booleans())
def test_any_reply_can_be_read(reply, cut):
    found = read(reply, ["a1", "a"], cut=cut)
    assert set(found.texts) <= {"a1", "a"}


@pytest.mark.parametrize("reply", ['{"a":' * 100_000, "{" * 1_000_000, '{"' * 300_000])
def test_nesting_without_end_is_no_object(reply):
    assert read(reply, KEYS, cut=True).texts == {}
    assert read(reply, KEYS).whole
