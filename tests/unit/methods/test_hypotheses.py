"""Replaying files: alignment by id or by position, strictly."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena.contestants.loading import load_method
from pytest_mtarena.errors import UsageError
from tests.unit.methods.conftest import METHODS

TEXTS = ["first", "second", "third"]
SAID = ["um\u2028dois", 'say "so"', ""]


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def as_jsonl(key):
    rows = [
        json.dumps({"id": f"e{n}", key: text}, ensure_ascii=False) for n, text in enumerate(SAID)
    ]
    return "\n".join([*reversed(rows), ""])


FILES = {
    "a.jsonl": as_jsonl("predicted"),
    "b.jsonl": as_jsonl("output").replace("\n", "\r\n"),
    "c.json": json.dumps({f"e{n}": text for n, text in enumerate(SAID)}),
    "d.json": json.dumps([{"id": f"e{n}", "predicted": text} for n, text in enumerate(SAID)]),
    "e.tsv": "".join(f"e{n}\t{text}\r\n" for n, text in enumerate(SAID)),
    "f.tsv": "note\tpredicted\tID\n" + "".join(f"-\t{t}\te{n}\n" for n, t in enumerate(SAID)),
    "g.txt": "\n".join(SAID) + "\n",
    "h.hyp": "\r\n".join(SAID) + "\r\n",
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize("name", FILES)
def test_each_format_gives_each_entry_its_own_text(outputs, write, name, mark):
    path = write(name, mark + FILES[name].encode())
    for batch in (1, 2, 25):
        assert outputs("hypotheses", TEXTS, batch=batch, file=path) == SAID


def test_integer_ids_are_their_decimal_text(write):
    made = load_method(
        METHODS / "hypotheses", {"file": write("x.json", '[{"id": 7, "output": "s"}]')}
    )
    assert made._translate.__self__._by_id == {"7": "s"}


def test_a_file_may_lack_an_id_which_costs_that_entry_only(translate, write):
    path = write("x.jsonl", '{"id": "e2", "predicted": "c"}\n{"id": "e0", "predicted": null}\n')
    attempts = translate("hypotheses", TEXTS, file=path)
    assert [a.output for a in attempts] == [None, None, "c"]
    assert "has null" in attempts[0].failure.message
    assert attempts[1].failure.kind == "reported"
    assert "x.jsonl has no translation for this id" in attempts[1].failure.message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("more.txt", "a\nb\nc\nd\n"),
        ("less.txt", "a\nb\n"),
        ("empty.txt", ""),
        ("more.json", json.dumps({f"e{n}": "x" for n in range(4)})),
    ],
)
def test_a_file_for_another_suite_is_refused(translate, write, name, content):
    attempts = translate("hypotheses", TEXTS, file=write(name, content))
    for attempt in attempts:
        assert attempt.failure.kind == "exception"
        assert f"{name} has " in attempt.failure.message
        assert "the suite has 3 entries" in attempt.failure.message


def test_a_selection_of_entries_is_aligned_by_index(translate, write):
    path = write("x.txt", "a\nb\nc\nd\ne\n")
    attempts = translate("hypotheses", TEXTS, entry_count=5, file=path)
    assert [a.output for a in attempts] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.txt", b"fine\ncaf\xe9\n", r"x\.txt:2: not UTF-8: byte 0xe9 at offset 8"),
        ("x.txt", "ok\n".encode("utf-16"), "not UTF-8"),
        ("x.jsonl", '{"id": "a", "predicted": "x"}\n{', r"x\.jsonl:2: not valid JSON"),
        (
            "x.jsonl",
            '{"id": "a", "predicted": "x"}\n' * 2,
            r"x\.jsonl:2: the id 'a' is given twice",
        ),
        ("x.jsonl", '{"id": "a", "text": "x"}', "has no predicted"),
        ("x.jsonl", '{"predicted": "x"}', "an object with id"),
        ("x.jsonl", '{"id": true, "predicted": "x"}', "the id must be"),
        ("x.jsonl", '{"id": "a", "predicted": 3}', "must be a text or null"),
        ("x.jsonl", "", "no translations"),
        ("x.json", '{"a": "x", "a": "y"}', "'a' is given twice"),
        ("x.json", '"text"', "must hold a list"),
        ("x.json", "{\n\n!", r"x\.json:3: not valid JSON"),
        ("x.tsv", "a\tx\nb\n", r"x\.tsv:2: 1 columns instead of 2"),
        ("x.tsv", "id\ttext\na\tx\n", "no column predicted"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(write, name, content, words):
    with pytest.raises(UsageError, match=words):
        load_method(METHODS / "hypotheses", {"file": write(name, content)})


def test_the_option_is_needed_and_the_file_must_exist(tmp_path):
    with pytest.raises(UsageError, match="file=PATH"):
        load_method(METHODS / "hypotheses", {})
    with pytest.raises(UsageError, match="cannot be read"):
        load_method(METHODS / "hypotheses", {"file": str(tmp_path / "gone.txt")})


def test_the_card_knows_the_file_by_its_content_not_its_place(write, tmp_path):
    facts = load_method(METHODS / "hypotheses", {"file": write("x.txt", "a\n")}).identity.facts
    assert facts["options"]["file"]["file"] == "x.txt"
    assert str(tmp_path) not in json.dumps(facts)
