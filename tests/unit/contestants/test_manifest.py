"""Manifests and method cards: every problem at once, in words that help."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.contestants.manifest import CLASSES, make_method_id, read_manifest
from pytest_mtarena.errors import MethodError


def problems_of(root):
    with pytest.raises(MethodError) as caught:
        read_manifest(root)
    assert str(caught.value).count("\n") == len(caught.value.problems) - 1
    return caught.value.problems


def test_all_problems_are_told_at_once(make_method):
    problems = problems_of(
        make_method(
            name="",
            entry_point="pipeline",
            method_id="No Good",
            supported_pairs=["eng>crk", "provider-defined"],
            tools_used="dictionary",
            open_source="yes",
            author=3,
            dependency_class="B",
            **{"class": "pipelines"},
        )
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "name",
        "entry_point",
        "method_id",
        "author",
        "open_source",
        "supported_pairs",
        "tools_used",
        "class",
        "dependency_class",
    ]
    assert all(word in problems[-2] for word in CLASSES)
    assert "did you mean pipeline?" in problems[-2]


def test_a_misspelt_required_key_is_recognised(make_method):
    (problem,) = problems_of(make_method(entry_point=..., entrypoint="pipeline:Echo"))
    assert problem == "entry_point: missing; is 'entrypoint' meant to be it?"


@pytest.mark.parametrize("name", [*CLASSES, "example", "machine-translation-api"])
def test_the_vocabulary_of_classes_includes_the_older_words(make_method, name):
    assert read_manifest(make_method(**{"class": name})).method_class in CLASSES


@pytest.mark.parametrize("point", ["a:B", "pkg.mod:B_2", "über:Ça"])
def test_entry_points_that_are_understood(make_method, point):
    manifest = read_manifest(make_method(entry_point=point))
    assert f"{manifest.module}:{manifest.attribute}" == point


@pytest.mark.parametrize("point", ["a", "a:", ":B", "a/b:C", "a.py:B C", "..a:B", "a:B:C", 3, None])
def test_entry_points_that_are_not(make_method, point):
    assert len(problems_of(make_method(entry_point=point))) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "must hold one object"),
        (b'{"name": "a", "name": "b"}', "'name' is given twice"),
        (b'{"name": NaN}', "NaN is no JSON value"),
        (b'{"name": "\xe9"}', "not UTF-8"),
        (b'{"name": "\\ud800"}', "lone surrogate"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
@pytest.mark.parametrize("file", ["method.json", "method_card.json"])
def test_files_that_are_no_clean_json(make_method, file, content, words):
    root = make_method()
    (root / file).write_bytes(content)
    with pytest.raises(MethodError, match=words) as caught:
        read_manifest(root)
    assert file in str(caught.value)


def test_a_byte_order_mark_is_no_problem(make_method):
    root = make_method()
    text = (root / "method.json").read_bytes()
    (root / "method.json").write_bytes(b"\xef\xbb\xbf" + text)
    assert read_manifest(root).name == "Mine"


def test_what_is_no_method_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    for path, words in (
        (tmp_path / "gone", "there is no such directory"),
        (tmp_path / "file", "is a file"),
        (tmp_path, "method.json is missing"),
    ):
        with pytest.raises(MethodError, match=words):
            read_manifest(path)


def test_a_card_must_agree_with_its_manifest(make_method):
    root = make_method(
        method_id="mine", dependency_class="S", dependencies=[], **{"class": "pipeline"}
    )
    card = {"method_id": "other", "name": 3, "class": "human", "dependency_class": "O"}
    (root / "method_card.json").write_text(json.dumps(card))
    problems = problems_of(root)
    assert len(problems) == 4
    assert all(problem.startswith("method_card.json: ") for problem in problems)


@pytest.mark.parametrize(
    ("names", "made"),
    [
        (("FST-Gated v8!",), "fst-gated-v8"),
        (("Ünï cöde",), "n-c-de"),
        (("漢字", "my_dir"), "my_dir"),
        (("漢字", "中"), "method"),
    ],
)
def test_an_id_is_made_from_the_name(names, made):
    assert make_method_id(*names) == made


@given(st.text())
def test_a_made_id_is_always_valid(name):
    made = make_method_id(name)
    assert made
    assert set(made) <= set(string.ascii_lowercase + string.digits + "-_")
    assert made[0] not in "-_"
