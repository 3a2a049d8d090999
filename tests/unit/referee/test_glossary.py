"""Glossaries in all their shapes, and what is said of broken ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.referee.glossary import (
    BadTerm,
    cached_glossary,
    load_glossary,
    own_glossary,
    read_terms,
)


@pytest.fixture
def load(tmp_path):
    """Return a function that writes a file and loads it as a glossary."""

    def write_and_load(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return {key: (term.accept, term.forbid) for key, term in load_glossary(path).terms.items()}

    return write_and_load


WANTED = {"file": (("ficheiro", "arquivo"), ("fichero",)), "page": (("páxina",), ())}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "g.json",
            '{"File": {"accept": ["ficheiro", "arquivo"], "forbid": "fichero"}, "page": "páxina"}',
        ),
        (
            "g.json",
            '{"grammar_rules": [], "dictionary": {"page": ["páxina"], "file": '
            '{"targets": ["ficheiro", "arquivo"], "forbidden": ["fichero"]}}}',
        ),
        (
            "g.json",
            '[{"source": "file", "target": ["ficheiro", "arquivo"], "forbidden": "fichero"}, '
            '{"term": "page", "target": "páxina"}]',
        ),
        ("g.tsv", "file\tficheiro|arquivo\tfichero\n\npage\tpáxina\n"),
        ("g.tsv", "Target\tSource\tForbidden\r\nficheiro|arquivo\tfile\tfichero\r\npáxina\tpage\n"),
        ("g.csv", 'source,target,forbidden\nfile,ficheiro,fichero\n"file",arquivo\npage,páxina\n'),
        ("g.csv", "\ufefffile,ficheiro | arquivo,fichero\npage,páxina,\n"),
    ],
)
def test_shapes(load, name, content):
    assert load(name, content) == WANTED


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("g.json", '{"a": "b",\n "c": }', "g.json:2: not JSON"),
        ("g.json", '{"a": "b",\n "c": 3}', "g.json:2: the term 'c' needs a target"),
        ("g.json", '{"a": "b",\n "a": "c"}', "g.json:2: 'a' is there twice"),
        ("g.json", '{"a": []}', "g.json:1: the term 'a' has no target"),
        ("g.json", '{"a": ["b", " "]}', "g.json:1: the term 'a' has an empty target"),
        ("g.json", '{" ": "b"}', "g.json:1: a term is empty"),
        ("g.json", '"a"', "g.json: a glossary is an object"),
        ("g.json", "{}", "g.json: the glossary has no terms"),
        ("g.json", '{"grammar_rules": ["x"]}', "coaching file without a dictionary"),
        ("g.json", '[{"target": "b"}]', "a term has no source"),
        ("g.json", '["a"]', "an object with source and target"),
        ("g.json", "[" * 100_000, "g.json"),
        ("g.tsv", "a\tb\nc\n", "g.tsv:2: 1 column; needed are"),
        ("g.tsv", "a\tb\tc\td\n", "g.tsv:1: 4 columns"),
        ("g.tsv", "a\tb\n\tc\n", "g.tsv:2: a term is empty"),
        ("g.tsv", "a\tb\nc\t\n", "g.tsv:2: the term 'c' has no target"),
        ("g.tsv", "source\ttarget\tterm\n", "g.tsv:1: the header names a column twice"),
        ("g.csv", 'a,b\nc,"d\n', "g.csv:2: not CSV"),
        ("g.tsv", b"a\tb\nc\t\xff\n", "g.tsv:2: not UTF-8"),
        ("g.xlsx", "", "a .json, .tsv or .csv file"),
    ],
)
def test_a_broken_glossary_is_one_clear_error(load, name, content, problem):
    with pytest.raises(UsageError) as caught:
        load(name, content)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    for function in (load_glossary, cached_glossary):
        with pytest.raises(UsageError, match="cannot be read"):
            function(tmp_path / "none.json")


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "g.json"
    path.write_text('{"a": "b"}')
    first = cached_glossary(path)
    assert cached_glossary(path) is first
    path.write_text('{"a": "b", "c": "d"}')
    assert len(cached_glossary(path)) == 2


def test_the_glossary_of_an_entry():
    glossary = own_glossary({"glossary": {"file": "ficheiro"}})
    assert glossary is not None
    assert list(glossary.terms) == ["file"]
    assert len(own_glossary({"terms": [{"source": "a", "target": "b"}]}) or ()) == 1
    assert own_glossary({"terms": ["ui", "menu"], "glossary": "medical"}) is None
    none_applies = own_glossary({"glossary": {}})
    assert none_applies is not None
    assert len(none_applies) == 0
    with pytest.raises(BadTerm, match="needs a target"):
        own_glossary({"terms": {"count": 3}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "", "source", "target", "forbid", "dictionary"]), inner
        )
    ),
)


@given(JSON)
def test_any_json_is_a_glossary_or_a_bad_term(value):
    problem, terms = "", []
    try:
        terms = read_terms(value)
    except BadTerm as error:
        problem = str(error)
    assert problem.isprintable()
    assert all(term.accept or term.forbid for term in terms)


@given(st.text('ab\t,|"\n\r é', max_size=40), st.sampled_from(["csv", "tsv", "json"]))
def test_any_text_is_a_glossary_or_a_usage_error(tmp_path_factory, text, suffix):
    path = tmp_path_factory.mktemp("any") / f"g.{suffix}"
    path.write_bytes(text.encode())
    try:
        glossary = load_glossary(path)
    except UsageError:
        return
    assert len(glossary)
    json.dumps(glossary.terms)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (r'{"a\ud800": "x"}', "lone surrogate"),
        (r'{"house": "\ud800x"}', "the term 'house' has a target with a lone surrogate"),
        ('{"house": ' + "9" * 5000 + "}", "not JSON that can be read"),
    ],
)
def test_what_no_card_could_hold_is_refused(load, content, told):
    with pytest.raises(UsageError, match=told):
        load("g.json", content)
