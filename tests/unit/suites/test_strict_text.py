"""Bytes, lines, quotation marks, hashes; JSON that is not JSON."""

from __future__ import annotations

import codecs
import hashlib
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.records import SuiteSettings
from pytest_mtarena.suites.corpus import open_corpus

TABLE = "id\tsrc\tref\na\tOne\tUm\nb\tTwo\tčelo\n"
ODD = "a\u2028b\u0085c\fd\x1ce\x0bf"


def texts(suite):
    return [(case.id, case.public["source"], *case.hidden["references"]) for case in suite.cases]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.tsv", f"id\tsrc\tref\nx\t{ODD}\t{ODD}!\n"),
        ("s.csv", f"id,src,ref\nx,{ODD},{ODD}!\n"),
        ("s.jsonl", f'{{"id":"x","src":"{ODD}","ref":"{ODD}!"}}\n'.replace("\f", "\\f")),
    ],
)
def test_a_line_ends_only_at_a_line_feed(opened, name, content):
    content = (
        content.replace("\x1c", "\\u001c").replace("\x0b", "\\u000b") if "l" in name else content
    )
    assert texts(opened(name, content)) == [("x", ODD, f"{ODD}!")]


def test_parallel_lines_end_only_at_a_line_feed(tmp_path):
    (tmp_path / "a").write_bytes(f"{ODD}\r\nb\r\n".encode())
    (tmp_path / "b").write_bytes(b"x\ny")
    suite = open_corpus(tmp_path / "a", SuiteSettings(reference_path=tmp_path / "b"))
    assert texts(suite) == [("1", ODD, "x"), ("2", "b", "y")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.tsv", "id\tsrc\tref\na\tx\ufeff\ty\n"),
        ("s.csv", '"id",src,ref\na,x\ufeff,y\n'),
        ("s.jsonl", '{"id": "a", "src": "x\ufeff", "ref": "y"}\n'),
        ("s.json", '[{"id": "a", "src": "x\ufeff", "ref": "y"}]'),
    ],
)
def test_byte_order_mark_only_at_the_beginning(opened, name, content):
    suite = opened(name, codecs.BOM_UTF8 + content.encode())
    assert texts(suite) == [("a", "x\ufeff", "y")]


def test_content_hash_over_check_outs(opened):
    plain = opened("a.tsv", TABLE)
    copies = [
        TABLE.replace("\n", "\r\n").encode(),
        codecs.BOM_UTF8 + TABLE.replace("\n", "\r\n").encode(),
        TABLE.rstrip("\n").encode(),
        "id\tsrc\tref\nb\tTwo\tčelo\na\tOne\tUm\n".encode(),
    ]
    for copy in copies:
        other = opened("b.tsv", copy)
        assert other.content_sha256 == plain.content_sha256
        assert other.sha256 == hashlib.sha256(copy).hexdigest() != plain.sha256
    composed, taken_apart = "č", "c\u030c"
    other = opened("b.tsv", TABLE.replace(composed, taken_apart))
    assert other.content_sha256 != plain.content_sha256


def test_content_hash_can_be_computed_elsewhere(opened):
    rows = [{"id": f"{number:04}", "src": f"é\n{number}", "ref": "x"} for number in range(2500)]
    suite = opened("s.jsonl", rows[::-1])
    canonical = json.dumps(
        [[row["id"], row["src"], [row["ref"]]] for row in rows],
        ensure_ascii=False,
        separators=(",", ":"),
    )
    assert suite.content_sha256 == hashlib.sha256(canonical.encode()).hexdigest()


def test_content_hash_counts_what_a_filter_leaves_out(opened):
    assert (
        opened("a.tsv", TABLE, ids=("a",)).content_sha256 == opened("b.tsv", TABLE).content_sha256
    )


def test_tsv_has_no_quoting(opened):
    text = 'id\tsrc\tref\nq1\t"Big\tStor\nq2\tCat "\tKatt"\n'
    assert texts(opened("s.tsv", text)) == [("q1", '"Big', "Stor"), ("q2", 'Cat "', 'Katt"')]


def test_csv_quoting_and_its_line_numbers(opened):
    text = 'id,src,ref\r\na,"One,\nor ""two""",Um\r\n\r\nb,Two,Dois\r\n'
    suite = opened("s.csv", text)
    assert texts(suite) == [("a", 'One,\nor "two"', "Um"), ("b", "Two", "Dois")]
    assert [case.where for case in suite.cases] == ["line 2", "line 5"]


def test_csv_cell_of_any_length(opened):
    suite = opened("s.csv", f"src,ref\n{'x' * 200_000},y\n")
    assert len(suite.cases[0].public["source"]) == 200_000


@pytest.mark.parametrize(
    ("name", "content", "line", "said"),
    [
        ("s.tsv", "id\tsrc\tref\na\tx\n", 2, "2 columns, but the header has 3 (missing: ref)"),
        ("s.tsv", "src\tref\na\tx\ty\n", 2, "3 columns, but the header has 2"),
        ("s.tsv", "a\tx\nb\n", 2, "1 column, but line 1 has 2"),
        ("s.tsv", "source\tgloss\na\tb\n", 1, "--mt-target-field"),
        ("s.tsv", "gloss\treference\na\tb\n", 1, "--mt-source-field"),
        ("s.tsv", "src\tref\tref\na\tb\tc\n", 1, "two columns are called ref"),
        ("s.tsv", "", None, "0 entries"),
        ("s.tsv", "source\treference\n", None, "0 entries"),
        ("s.tsv", "source\treference\ra\tb\r", None, ""),
        ("s.csv", "src,ref\na,x\nb\n", 3, "1 column, but the header has 2 (missing: ref)"),
        ("s.csv", 'src,ref\na,x\nb,"y\n', 3, "not valid CSV"),
        ("s.csv", 'src,ref\na,"x"y\n', 2, "not valid CSV"),
        ("s.csv", "src;ref\na;b\n", 1, "semicolons"),
        ("s.csv", "src,ref\n", None, "0 entries"),
        ("s.jsonl", '{"src": "a", "ref": "b"}\n\n{"src" "a"}\n', 3, "not valid JSON at column 8"),
        ("s.jsonl", '{"src": "a", "ref": "b"}\n3\n', 2, "must be one JSON object: found 3"),
        ("s.jsonl", "[1]\n", 1, "must be one JSON object"),
        ("s.jsonl", "\n\n", None, "0 entries"),
        ("s.jsonl", '{"src": "a", "ref": "b", "x": NaN}\n', 1, "'x': NaN is not JSON"),
        ("s.jsonl", '{"src": "a", "ref": "b", "ref": "c"}\n', 1, "'ref': the key stands twice"),
        ("s.jsonl", '{"id": "\\ud800", "src": "a", "ref": "b"}\n', 1, "lone surrogate"),
        ("s.json", "", None, "the file is empty"),
        ("s.json", '{"entries": [{"src": "a"\n', 2, "ends too early"),
        ("s.json", '[{"src": "a", "ref": "b', 1, "ends too early"),
        ("s.json", '{"entries": [\n{"src": "a",}]}', 2, "not valid JSON"),
        ("s.json", '{"entries": []}', None, "0 entries"),
        ("s.json", '{"entries": {"a": {}}}', None, "keys a"),
        ("s.json", '{"entries": null}', None, "must be a list"),
        ("s.json", '{"entries": ["a", "b"]}', None, "entry 1: an entry must be an object"),
        ("s.json", '[{"src": "a", "ref": "b"}, 3]', None, "entry 2: an entry must be an object"),
        ("s.json", '{"entries": [], "entries": [1]}', None, "stands twice"),
        ("s.json", '{"version": "\\udc00", "entries": [{}]}', None, "lone surrogate"),
        ("s.json", '{"dataset": [1], "entries": [{"src":"a","ref":"b"}]}', None, "dataset must be"),
        *(
            (
                "s.json",
                f'[{{"src": "a", "ref": "b", "m": {{"x": [1, {number}]}}}}]',
                None,
                "entry 1",
            )
            for number in ("NaN", "Infinity", "-Infinity", "1e999", '{"a": 1, "a": 1}')
        ),
        ("s.json", "[" * 100_000, None, "nested too deeply"),
        ("s.json", '[{"src": "a", "ref": "b", "n": ' + "9" * 5000 + "}]", None, "too many digits"),
        ("s.tsv", b"id\tsrc\tref\n" + b"a\tx\tcaf\xe9\n", 2, "byte 18 (0xe9)"),
        ("s.tsv", b"\xff\xfea\x00", None, "UTF-16"),
        ("s.json", "[]".encode("utf-32"), None, "UTF-32"),
    ],
)
def test_what_is_refused(opened, name, content, line, said):
    with pytest.raises(SuiteError) as caught:
        opened(name, content)
    assert said in str(caught.value)
    assert caught.value.path in str(caught.value)
    if line is not None:
        assert caught.value.line == line


def test_guess_of_the_encoding(opened):
    with pytest.raises(SuiteError, match="Latin-1 or Windows-1252"):
        opened("s.jsonl", '{"src": "café", "ref": "b"}'.encode("latin-1"))


def test_offset_counts_the_byte_order_mark(opened):
    with pytest.raises(SuiteError, match="at byte 4 "):
        opened("s.tsv", codecs.BOM_UTF8 + b"a\xff")


def test_pairs_of_surrogates_are_characters(opened):
    suite = opened("s.json", '[{"src": "\\ud83d\\ude00", "ref": "b"}]')
    assert suite.cases[0].public["source"] == "\U0001f600"


def test_what_is_no_file(tmp_path):
    with pytest.raises(SuiteError, match=r"a\.json: no such file"):
        open_corpus(tmp_path / "a.json", SuiteSettings())
    (tmp_path / "b.json").mkdir()
    with pytest.raises(SuiteError, match="is a directory"):
        open_corpus(tmp_path / "b.json", SuiteSettings())
    os.mkfifo(tmp_path / "c.json")
    with pytest.raises(SuiteError, match="not a regular file"):
        open_corpus(tmp_path / "c.json", SuiteSettings())
    (tmp_path / "d.txt").write_text("a\n")
    with pytest.raises(SuiteError, match=r"e\.txt: no such file"):
        open_corpus(tmp_path / "d.txt", SuiteSettings(reference_path=tmp_path / "e.txt"))


WORDS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\n\r\t"), min_size=1
).map(lambda text: f"w{text}")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_every_text_format_keeps_every_character(opened, rows):
    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    listed = [{"src": source, "ref": reference} for source, reference in rows]
    tsv = "source\treference\n" + "".join(f"{a}\t{b}\n" for a, b in rows)
    csv = "source,reference\n" + "".join(f"{quoted(a)},{quoted(b)}\n" for a, b in rows)
    wanted = [(str(index), *row) for index, row in enumerate(rows)]
    plain = [opened("s.json", listed), opened("s.jsonl", listed)]
    for suite in [*plain, opened("s.tsv", tsv), opened("s.csv", csv)]:
        assert texts(suite) == wanted
        assert suite.content_sha256 == plain[0].content_sha256


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.binary(max_size=60), name=st.sampled_from(["json", "jsonl", "tsv", "csv", "po", "tmx"])
)
def test_garbage_is_refused_or_ignored(opened, data, name):
    try:
        suite = opened(f"s.{name}", data)
    except SuiteError as error:
        told = str(error)
    else:
        told = f"s.{name}" if suite is None or suite.cases else ""
    assert f"s.{name}" in told
