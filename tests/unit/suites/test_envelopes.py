"""Every envelope of section 1.1 of the format page, and what the head of a file says."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pytest_mtarena.errors import SuiteError, UsageError
from pytest_mtarena.records import Language, SuiteSettings
from pytest_mtarena.suites.corpus import open_corpus, recognises

ROWS = [
    {"id": "a", "source": "One", "reference": "Um"},
    {"id": "b", "source": "Two", "reference": "Dois"},
]
HEAD = {"id": "demo", "version": "1.2", "name": "Demo", "license": "CC0", "provenance": ["demo"]}
ENGLISH, PORTUGUESE = Language(code="eng", name="English"), Language(code="por", name="Portuguese")
PAIR = {
    "source": "eng",
    "target": "por",
    "source_name": "English",
    "target_name": "Portuguese",
}

ENVELOPES = {
    "E1": ("s.json", {"dataset": {**HEAD, "language_pair": "ENG→POR"}, "entries": ROWS}),
    "E2": ("s.json", {"dataset": {**HEAD, "language_pair": PAIR}, "entries": ROWS}),
    "E3": ("s.json", {"corpus_id": "demo", "language_pair": PAIR, "entries": ROWS}),
    "E4": ("s.json", {"name": "Demo", "language_pair": "eng-por", "entries": ROWS}),
    "E5": ("s.json", ROWS),
    "E6": ("s.jsonl", ROWS),
    "E7": ("s.tsv", "id\tsource\treference\na\tOne\tUm\nb\tTwo\tDois\n"),
    "E7 folded": ("s.TAB", "ID\tSource\tReference\na\tOne\tUm\nb\tTwo\tDois\n"),
    "CSV": ("s.csv", 'id,source,reference\na,"One",Um\nb,Two,Dois\n'),
}


@pytest.mark.parametrize("which", ENVELOPES)
def test_envelope_gives_the_entries(opened, which):
    suite = opened(*ENVELOPES[which])
    assert [(case.id, case.index) for case in suite.cases] == [("a", 0), ("b", 1)]
    assert [case.public for case in suite.cases] == [{"source": "One"}, {"source": "Two"}]
    assert [case.hidden["references"] for case in suite.cases] == [["Um"], ["Dois"]]
    assert suite.entry_count == 2
    assert suite.notes == ()
    assert {case.kind for case in suite.cases} == {"translation"}


def test_headless_tsv_names_its_columns(opened):
    suite = opened("s.tsv", "One\tUm\tx\ty\nTwo\tDois\tz\t\n")
    assert [case.id for case in suite.cases] == ["0", "1"]
    assert suite.cases[0].hidden == {
        "references": ["Um"],
        "fields": {"col_2": "x", "col_3": "y"},
    }


def test_parallel_text(tmp_path):
    (tmp_path / "a.eng").write_text("One\n\nThree\n")
    (tmp_path / "a.por").write_text("Um\nDois\nTrês")
    settings = SuiteSettings(reference_path=tmp_path / "a.por")
    suite = open_corpus(tmp_path / "a.eng", settings)
    assert suite.format == "parallel"
    assert [case.id for case in suite.cases] == ["1", "2", "3"]
    assert [case.problem for case in suite.cases] == [None, "empty source", None]
    assert suite.cases[2].hidden["references"] == ["Três"]
    both = (tmp_path / "a.eng").read_bytes() + (tmp_path / "a.por").read_bytes()
    assert suite.sha256 == hashlib.sha256(both).hexdigest()


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ("a\nb\nc\n", "x\ny\n", ["3 lines", "2 lines", "differing line: 3", "reference has no"]),
        ("a\nb\n", "x\n\ny\n", ["2 lines", "3 lines", "differing line: 2", "reference has no"]),
        ("a\n", "x\n\n", ["1 line here", "2 lines", "reference file ends with blank"]),
    ],
)
def test_parallel_text_of_different_length(tmp_path, left, right, said):
    (tmp_path / "a.txt").write_text(left)
    (tmp_path / "b.txt").write_text(right)
    with pytest.raises(SuiteError) as caught:
        open_corpus(tmp_path / "a.txt", SuiteSettings(reference_path=tmp_path / "b.txt"))
    for words in [*said, "b.txt"]:
        assert words in str(caught.value)


def test_head_of_the_file(opened):
    head = {**HEAD, "language_pair": "EN→CRK", "source_language": "English"}
    suite = opened("s.json", {"dataset": head, "segment": "development", "entries": ROWS})
    assert (suite.id, suite.version, suite.name, suite.license) == ("demo", "1.2", "Demo", "CC0")
    assert suite.languages == {
        "EN-CRK": (Language(code="EN", name="English"), Language(code="CRK"))
    }
    assert suite.provenance == ("demo",)
    assert not suite.rankable
    assert {case.labels["segment"] for case in suite.cases} == {"development"}


def test_provenance_object_gives_license_and_attribution(opened):
    provenance = {"license": "MIT", "copyright": "Someone", "source_adapter": "web"}
    suite = opened("s.json", {"provenance": provenance, "entries": ROWS})
    assert (suite.license, suite.attribution, suite.provenance) == ("MIT", "Someone", ("web",))


def test_id_is_the_stem_when_the_file_has_none(opened):
    assert opened("words.json", ROWS).id == "words"


def test_count_and_version_that_do_not_fit_are_noted(opened):
    suite = opened(
        "s.json", '{"version": 1.10, "entry_count": 3, "entries": [{"src":"a","ref":"b"}]}'
    )
    assert len(suite.notes) == 2
    assert "quotes" in suite.notes[0]
    assert "3" in suite.notes[1]


@pytest.mark.parametrize(
    ("pair", "group"),
    [
        ("EN→CRK", "EN-CRK"),
        ("en-xxx", "en-xxx"),
        ("eng>cym", "eng-cym"),
        ("eng:crk", "eng-crk"),
        ("eng_Latn-por_Latn", "eng_Latn-por_Latn"),
        ("pt-BR-en", "pt-BR-en"),
        ("English → Plains Cree", "English-Plains_Cree"),
        ({"source": "no", "target": "on"}, "no-on"),
        ({"source": {"code": "eng", "name": "English"}, "target": "pt-BR"}, "eng-pt-BR"),
        (None, "und-und"),
    ],
)
def test_language_pairs(opened, pair, group):
    suite = opened("s.json", {"language_pair": pair, "entries": ROWS})
    assert {case.group for case in suite.cases} == {group}
    assert list(suite.languages) == [group]


def test_hyphens_of_a_pair_are_split_where_two_codes_remain(opened):
    suite = opened("s.json", {"language_pair": "pt-BR-en", "entries": ROWS})
    assert [language.code for language in suite.languages["pt-BR-en"]] == ["pt-BR", "en"]


@pytest.mark.parametrize("pair", ["Cree", "a-b-c-d", 7, {"source": False, "target": "nb"}, "a→b→c"])
def test_pair_that_cannot_be_read(opened, pair):
    with pytest.raises(SuiteError, match="language"):
        opened("s.json", {"language_pair": pair, "entries": ROWS})


def test_entries_with_languages_of_their_own(opened):
    rows = [
        {"src": "a", "ref": "x", "lang": "por"},
        {"src": "b", "ref": "y"},
        {"src": "c", "ref": "z", "source_lang": "fra", "target_lang": "cat"},
        {"src": "d", "ref": "w", "language_pair": "deu-ltz"},
    ]
    suite = opened("s.json", {"language_pair": PAIR, "entries": rows})
    groups = [case.group for case in suite.cases]
    assert groups == ["eng-por", "eng-por", "fra-cat", "deu-ltz"]
    assert suite.languages["eng-por"] == (ENGLISH, PORTUGUESE)
    assert suite.languages["fra-cat"] == (Language(code="fra"), Language(code="cat"))


@pytest.mark.parametrize(
    ("settings", "group", "target"),
    [
        ({"target_lang": "cat"}, "eng-cat", Language(code="cat")),
        ({"target_lang": "POR"}, "eng-POR", Language(code="POR", name="Portuguese")),
        ({"target_lang": "Brazilian"}, "eng-por", Language(code="por", name="Brazilian")),
    ],
)
def test_user_names_the_language(opened, settings, group, target):
    suite = opened("s.json", {"language_pair": PAIR, "entries": ROWS}, **settings)
    assert suite.languages == {group: (ENGLISH, target)}
    assert {case.group for case in suite.cases} == {group}


@pytest.mark.parametrize(
    ("lang", "group"),
    [("../x::[y] z", "und-x_y_z"), ("x" * 500, "und-" + "x" * 32), ("Lao", "und-Lao")],
)
def test_groups_are_short_and_plain(opened, lang, group):
    suite = opened("s.json", [{"src": "a", "ref": "b", "lang": lang}])
    assert suite.cases[0].group == group
    target = suite.languages[group][1]
    assert lang in (target.code, target.name)
    assert "" in (target.code, target.name)


def test_two_pairs_are_never_one_group(opened):
    rows = [{"src": "a", "ref": "b", "lang": "Old X"}, {"src": "a", "ref": "b", "lang": "Old_X"}]
    with pytest.raises(SuiteError, match="two language pairs would both be called und-Old_X"):
        opened("s.json", rows)


def test_three_letter_name_beside_a_code(opened):
    head = {"language_pair": "eng-lao", "source_language": "English", "target_language": "Lao"}
    suite = opened("s.json", {**head, "entries": ROWS})
    assert suite.languages["eng-lao"] == (ENGLISH, Language(code="lao", name="Lao"))


def test_one_language_cannot_replace_several(opened):
    rows = [{"src": "a", "ref": "x", "lang": "pt-BR"}, {"src": "b", "ref": "y", "lang": "pt-PT"}]
    with pytest.raises(UsageError, match=r"--mt-target-lang.*pt-BR, pt-PT"):
        opened("s.jsonl", rows, target_lang="por")
    suite = opened("s.jsonl", rows, source_lang="eng")
    assert [case.group for case in suite.cases] == ["eng-pt-BR", "eng-pt-PT"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", {"name": "x", "version": "1"}),
        ("list.json", [1, 2]),
        ("list.json", [{"hyp": "a"}]),
        ("scalar.json", "3"),
        ("log.jsonl", [{"id": 1, "hyp": "x"}]),
        ("table.csv", "name,size\na,1\n"),
        ("column.tsv", "just\nlines\n"),
        ("notes.txt", "source\treference\n"),
    ],
)
def test_other_files_are_no_corpus(opened, name, content):
    assert opened(name, content) is None


@pytest.mark.parametrize(
    ("name", "right"),
    [
        *((f"a{suffix}", True) for suffix in (".json", ".JSONL", ".tsv", ".tab", ".csv", ".po")),
        *((f"a{suffix}", True) for suffix in (".tmx", ".xlf", ".XLIFF")),
        *((name, False) for name in ("a.txt", "json", "a.json.bak", "a.py", "a.yaml")),
    ],
)
def test_recognised_by_suffix(name, right):
    assert recognises(Path(name)) is right
