"""Fields, ids, references and labels of entries."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena.errors import SuiteError, UsageError


def row(**fields):
    return {"source": "One", "reference": "Um", **fields}


def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}


@pytest.mark.parametrize("source", ["source", "src", "source_text", "english"])
@pytest.mark.parametrize(
    "reference", ["reference", "ref", "target", "target_text", "expected", "gold", "translation"]
)
def test_every_alias(opened, source, reference):
    suite = opened("s.json", [{source: "One", reference: "Um"}])
    assert suite.cases[0].public["source"] == "One"
    assert suite.cases[0].hidden == {"references": ["Um"], "fields": {}}


@pytest.mark.parametrize(
    ("extra", "role"), [({"src": "x"}, "source"), ({"target": "x"}, "reference")]
)
def test_two_fields_for_one_role(opened, extra, role):
    with pytest.raises(SuiteError, match=f"entry 2: two {role} fields"):
        opened("s.json", [row(), row(**extra)])


def test_named_fields_switch_the_table_off(opened):
    rows = [{"source": "Un", "english": "One", "cree": "peyak", "reference": "x"}]
    suite = opened("s.json", rows, source_field="english", target_field="cree")
    case = suite.cases[0]
    assert case.public == {"source": "One"}
    assert case.hidden == {"references": ["peyak"], "fields": {"source": "Un", "reference": "x"}}


def test_direction_can_be_turned_round(opened):
    suite = opened("s.json", [row()], source_field="reference", target_field="source")
    assert suite.cases[0].public == {"source": "Um"}
    assert suite.cases[0].hidden == {"references": ["One"], "fields": {}}


@pytest.mark.parametrize("name", ["s.tsv", "s.csv"])
def test_named_column_that_is_not_there(opened, name):
    text = "source\treference\na\tb\n".replace("\t", "," if name.endswith("csv") else "\t")
    with pytest.raises(SuiteError, match=r"--mt-target-field.*'gloss'.*source, reference"):
        opened(name, text, target_field="gloss")


def test_columns_are_named_without_regard_to_case(opened):
    suite = opened(
        "s.tsv", "English\tCree\nOne\tpeyak\n", source_field="ENGLISH", target_field="Cree"
    )
    assert suite.cases[0].hidden["references"] == ["peyak"]


def test_source_and_reference_cannot_be_one_field(opened):
    with pytest.raises(UsageError, match="both name 'x'"):
        opened("s.json", [{"x": "a"}], source_field="x", target_field="x")


@pytest.mark.parametrize(
    ("rows", "option", "settings"),
    [
        ({"entries": [{"a": "One", "ref": "Um"}]}, "--mt-source-field", {}),
        ([{"src": "One", "b": "Um"}], "--mt-target-field", {}),
        ([row()], "--mt-target-field", {"target_field": "c", "allow_missing_reference": True}),
        ({"entries": [row()]}, "--mt-source-field", {"source_field": "c"}),
    ],
)
def test_no_entry_has_the_field(opened, rows, option, settings):
    with pytest.raises(SuiteError, match=r"no entry has.*\(fields: .*" + option):
        opened("s.json", rows, **settings)


@pytest.mark.parametrize(
    ("fields", "references"),
    [
        ({"reference": "a", "references": ["b", "c"]}, ["a", "b", "c"]),
        ({"references": ["b", "c"]}, ["b", "c"]),
        ({"reference": "a", "acceptable_variants": ["b"]}, ["a"]),
    ],
)
def test_several_references(opened, fields, references):
    suite = opened("s.json", [{"source": "One", **fields}])
    assert suite.cases[0].hidden["references"] == references


def test_hidden_and_public_parts(opened):
    rest = {
        "context": "greeting",
        "register": "formal",
        "domain": "ui",
        "segment": "held_out",
        "difficulty": 2,
        "acceptable_variants": ["Hum"],
        "notes": "gender",
        "metadata": {"url": "x", "list": [1, None]},
        "speaker": "f",
    }
    suite = opened("s.json", {"public_fields": ["speaker"], "entries": [row(id=7, **rest)]})
    case = suite.cases[0]
    assert case.hidden["fields"] == rest
    assert case.public == {
        "source": "One",
        **{name: rest[name] for name in ("context", "register", "domain", "segment", "speaker")},
    }


@pytest.mark.parametrize(
    "name",
    ["reference", "gold", "Target", "references", "variants", "notes", "metadata", "provenance"],
)
def test_public_fields_never_hold_the_answer(opened, name):
    with pytest.raises(SuiteError, match="must never see"):
        opened("s.json", {"public_fields": [name], "entries": [row()]})


def test_public_fields_never_hold_the_named_reference(opened):
    content = {"dataset": {"public_fields": ["cree"]}, "entries": [{"src": "a", "cree": "b"}]}
    with pytest.raises(SuiteError, match="holds the references"):
        opened("s.json", content, target_field="cree")


def test_reference_named_like_a_public_field_stays_hidden(opened):
    suite = opened("s.json", [{"src": "One", "context": "Um"}], target_field="context")
    assert suite.cases[0].public == {"source": "One"}


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ({"difficulty": "3"}, {"difficulty": 3}),
        ({"difficulty": 3.0}, {"difficulty": 3}),
        ({"difficulty": 4}, {"difficulty": 4}),
        ({"difficulty": "hard"}, {"difficulty": "hard"}),
        ({"difficulty": None, "domain": ""}, {}),
        ({"domain": "conv", "register": "formal"}, {"domain": "conv", "register": "formal"}),
        ({"provenance": "textbook"}, {"provenance": "textbook"}),
        ({"provenance": {"source_name": "web", "url": "x"}}, {"provenance": "web"}),
        ({"provenance": {"name": "n"}}, {"provenance": "n"}),
        ({"segment": "diagnostic"}, {"segment": "diagnostic"}),
    ],
)
def test_labels(opened, fields, labels):
    assert opened("s.json", [row(**fields)]).cases[0].labels == labels


@pytest.mark.parametrize("name", ["segment", "difficulty", "domain", "register"])
@pytest.mark.parametrize("value", [True, ["a"], {"a": 1}])
def test_labels_that_are_none(opened, name, value):
    with pytest.raises(SuiteError, match=f"{name} must be a label"):
        opened("s.json", [row(**{name: value})])


def test_unknown_domains_are_one_note(opened):
    suite = opened("s.json", [row(domain="lit"), row(domain="health"), row(domain="ui")])
    assert len(suite.notes) == 1
    assert "lit, health" in suite.notes[0]


@pytest.mark.parametrize("name", ["source", "reference"])
@pytest.mark.parametrize("value", [None, 3, 1.5, True, ["a"], {"a": "b"}])
def test_texts_must_be_text(opened, name, value):
    with pytest.raises(SuiteError, match=rf"entry 2: {name} must be text.*\(id b\)"):
        opened("s.json", [row(id="a"), row(id="b", **{name: value})])


@pytest.mark.parametrize("value", ["a", None, 3, ["a", ""], ["a", 3], ["\u00a0"]])
def test_references_must_be_texts(opened, value):
    with pytest.raises(SuiteError, match="entry 1: references"):
        opened("s.json", [{"source": "One", "references": value}])


@pytest.mark.parametrize("blank", ["", " ", "\u00a0", "\f", "\u3000", "\u2028", "\u200b", "\ufeff"])
def test_blank_source_and_reference(opened, blank):
    rows = [row(id="a"), row(id="s", source=blank), row(id="r", reference=blank)]
    with pytest.raises(SuiteError, match=r"1 entry has no reference: r .*--mt-allow-missing-ref"):
        opened("s.json", rows)
    suite = opened("s.json", rows, allow_missing_reference=True)
    assert [case.problem for case in suite.cases] == [None, "empty source", "no reference"]
    assert suite.cases[2].hidden["references"] == []
    assert len(suite.notes) == 2
    assert "s (entry 2)" in suite.notes[0]
    assert "r (entry 3)" in suite.notes[1]


@pytest.mark.parametrize("fields", [{"reference": ""}, {}, {"references": []}])
def test_empty_source_comes_before_a_missing_reference(opened, fields):
    suite = opened("s.json", [row(), {"source": "", **fields}])
    assert suite.cases[1].problem == "empty source"


def test_missing_reference_key(opened):
    with pytest.raises(SuiteError, match="no reference: 1"):
        opened("s.json", [row(), {"source": "Two"}])


def test_suite_without_any_reference(opened):
    suite = opened("s.tsv", "id\tsource\na\tOne\n", allow_missing_reference=True)
    assert [case.problem for case in suite.cases] == ["no reference"]


def test_private_use_letters_are_text(opened):
    assert opened("s.json", [row(source="\ue000\ue001")]).cases[0].problem is None


def test_very_long_text_is_noted(opened):
    suite = opened("s.json", [row(id="a"), row(id="b", source="x" * 20_001)])
    assert ["b" in note and "20000" in note for note in suite.notes] == [True]


@pytest.mark.parametrize("name", ["id", "entry_id", "key"])
def test_ids_are_text(opened, name):
    suite = opened("s.json", [row(**{name: 3}), row(**{name: " lead\n\0"})])
    assert [case.id for case in suite.cases] == ["3", " lead\n\0"]


def test_first_id_field_counts(opened):
    suite = opened("s.json", [row(key="k", id="i")])
    assert suite.cases[0].id == "i"
    assert suite.cases[0].hidden["fields"] == {"key": "k"}


@pytest.mark.parametrize("value", [True, 1.5, None, ["a"], {}, "", "  ", "\u00a0", "\u200b"])
def test_ids_that_are_none(opened, value):
    rows = [row(id="a"), row(id=value)]
    with pytest.raises(SuiteError) as caught:
        opened("s.jsonl", rows)
    assert caught.value.line == 2


@pytest.mark.parametrize(("one", "two"), [("e2", "e2"), (3, "3")])
def test_duplicate_ids(opened, one, two):
    rows = [row(id="e1"), row(id=one), row(id="e3"), row(id=two)]
    with pytest.raises(SuiteError, match=f"id {two} stands twice: line 2 and line 4"):
        opened("s.jsonl", rows)
    with pytest.raises(SuiteError, match=f"id {two} stands twice: entry 2 and entry 4"):
        opened("s.json", rows)


def test_ids_for_some_entries_only(opened):
    with pytest.raises(SuiteError, match="1 entry has no id while others have: entry 2"):
        opened("s.json", [row(id=1), row()])


def test_messages_print_no_control_characters(opened):
    with pytest.raises(SuiteError) as caught:
        opened("s.json", [row(id="\x1b[2Jx"), row(id="\x1b[2Jx")])
    assert "\x1b" not in str(caught.value)


def test_all_problems_are_told_together(opened):
    rows = [row(id=str(number), source=None) for number in range(30)]
    with pytest.raises(SuiteError) as caught:
        opened("s.jsonl", rows)
    lines = str(caught.value).splitlines()
    assert caught.value.line == 1
    assert len(lines) == 21
    assert "line 2: source must be text" in lines[1]
    assert lines[-1].endswith("and 10 more")


def test_content_of_multi_line_entries(opened):
    text = "First\nSecond\ttab"
    suite = opened("s.jsonl", json.dumps(row(source=text, reference=text)) + "\n")
    assert suite.cases[0].public["source"] == text
    assert suite.cases[0].hidden["references"] == [text]
