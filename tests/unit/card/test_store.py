"""Cards on disk: never overwritten, never half, and read with a word for every fault."""

from __future__ import annotations

import errno
import json
import os
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.card.seal import check_seal
from pytest_mtarena.card.store import read_card, safe_stem, write_card
from pytest_mtarena.errors import CardError
from tests.unit.card.making import make_card, sealed_card


def test_round_trip(tmp_path: Path) -> None:
    card = sealed_card()
    path = write_card(card, tmp_path / "new" / "folder", "echo × tiny")
    assert path.name == "echo_tiny.json"
    assert read_card(path) == card
    assert check_seal(read_card(path)) == []
    assert list(json.loads(path.read_text(encoding="utf-8"))) == list(card)


def test_one_row_a_line(tmp_path: Path) -> None:
    card = sealed_card()
    lines = write_card(card, tmp_path, "x").read_text(encoding="utf-8").split("\n")
    rows = [line for line in lines if line.startswith('    {"') and "entry_id" in line]
    assert [json.loads(line.rstrip(",")) for line in rows] == card["results"]
    assert lines[-1] == ""


@pytest.mark.parametrize("rows", [[], None])
def test_a_card_without_rows_is_json(tmp_path: Path, rows: Any) -> None:
    path = write_card({**make_card(), "results": rows}, tmp_path, "x")
    assert json.loads(path.read_text(encoding="utf-8"))["results"] == rows


@pytest.mark.parametrize("links", [True, False])
def test_a_card_that_is_there_stays(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:

        def refuse(*_: Any) -> None:
            raise OSError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "x.json").write_text("mine", encoding="utf-8")
    card = sealed_card()
    names = [write_card(card, tmp_path, "x").name for _ in range(3)]
    assert names == ["x-2.json", "x-3.json", "x-4.json"]
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == "mine"
    assert len(list(tmp_path.iterdir())) == 4
    assert read_card(tmp_path / "x-4.json") == card


def test_a_full_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CardError, match=r"cannot write a run card: No space left on device$"):
        write_card(sealed_card(), tmp_path, "x")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(CardError, match="taken: cannot write a run card"):
        write_card(sealed_card(), tmp_path / "taken", "x")


def test_nan_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="cannot be written as JSON"):
        write_card({**sealed_card(), "extra": {"x": float("nan")}}, tmp_path, "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("method/echo@12ab × tiny", "method_echo_12ab_tiny"),
        ("../../etc/passwd", "etc_passwd"),
        ("NUL", "card_NUL"),
        ("con.x", "card_con.x"),
        ("Lpt1", "card_Lpt1"),
        ("", "card"),
        ("ᏣᎳᎩ", "card"),
        ("Ação", "Acao"),
        ("a\x1b[31mb\nc", "a_31mb_c"),
        (".hidden ", "hidden"),
    ],
)
def test_stems(text: str, stem: str) -> None:
    assert safe_stem(text) == stem


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_stems_are_safe(text: str) -> None:
    stem = safe_stem(text)
    assert 1 <= len(stem) <= 100
    assert stem.isascii()
    assert not set(stem) - set(string.ascii_letters + string.digits + "._-")
    assert stem[0] not in ".-"
    assert stem[-1] not in ". "
    assert stem.split(".")[0].upper() not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT9"}


def test_long_stems_stay_apart() -> None:
    one, other = safe_stem("a" * 300 + "x"), safe_stem("a" * 300 + "y")
    assert len(one) == len(other) == 100
    assert one != other


def written(tmp_path: Path, **changes: Any) -> str:
    card = {**sealed_card(), **changes}
    return json.dumps({key: value for key, value in card.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ":1: not JSON"),
        ("{", ":1: not JSON"),
        ('{"scores": {"x": NaN}}', ": not JSON: NaN is not a JSON number"),
        ('{"scores": -Infinity}', ": not JSON: -Infinity is not a JSON number"),
        ('{"scores": 1e999}', ": not JSON: 1e999 is too large"),
        ('{"scores": 1, "scores": 2}', ": not JSON: the key 'scores' comes twice"),
        ("[1]", ": not a run card: a JSON array, not an object"),
        ('{"name": "x"}', ": not a run card: it has neither"),
        ('{"scores": {}, "harness_version": "3.0"}', ": a run card of schema '3.0'"),
        ('{"scores": {}, "harness_version": "2.0"}', "run_id: Field required (and "),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_card_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CardError) as caught:
        read_card(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"surprise": 1}, "surprise: Extra inputs"),
        ({"totals": ...}, "totals: Field required"),
        ({"complete": "yes"}, "complete: "),
        ({"timestamp": "yesterday"}, "timestamp: "),
        ({"results": {}}, "results: "),
        ({"results": [1]}, "results[0]: a JSON number, not an object"),
        ({"results": [{"entry_id": 3, "index": 0, "status": "ok"}]}, "results[0]: entry_id"),
        ({"results": [{"entry_id": "a", "index": True, "status": "ok"}]}, "results[0]: index"),
    ],
)
def test_what_is_no_card_of_the_schema(tmp_path: Path, changes: Any, words: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(written(tmp_path, **changes), encoding="utf-8")
    with pytest.raises(CardError) as caught:
        read_card(path)
    assert words in str(caught.value)


def test_bom_is_fine_and_other_encodings_are_named(tmp_path: Path) -> None:
    text = written(tmp_path)
    path = tmp_path / "bom.json"
    path.write_text(text, encoding="utf-8-sig")
    assert read_card(path)["kind"] == "toy"
    path.write_bytes(b'{"scores": "\xe9"}')
    with pytest.raises(CardError, match="not UTF-8 at byte 12"):
        read_card(path)
    with pytest.raises(CardError, match=r"missing\.json: cannot be read: No such file"):
        read_card(tmp_path / "missing.json")
