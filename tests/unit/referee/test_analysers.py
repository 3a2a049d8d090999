"""Reading analysers, looking words up, and reading analyses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import LanguageFacts
from pytest_mtarena.referee.analysers import (
    MAX_WORD,
    AnalyserFault,
    Analysis,
    NoAnalyser,
    Reader,
    find_analyser,
    open_analyser,
    parse_analysis,
    read_lookup,
)

SCRIPT = Path(__file__).parents[3] / "scripts" / "build-fst.sh"
GALICIAN = LanguageFacts(code="glg", alpha2="gl", name="Galician")


class Lexicon:
    """An analyser that is a dictionary."""

    def __init__(self, **words: str) -> None:
        self.words = {word: tuple(found.split()) for word, found in words.items()}

    def analyses(self, word: str) -> tuple[str, ...]:
        return self.words.get(word, ())


def lexicon(*words: str) -> Lexicon:
    return Lexicon(**{word: f"{word}<x>" for word in words})


# --- the format ---


def test_a_tiny_analyser_in_both_forms(tiny):
    analyser = open_analyser(tiny)
    assert analyser.layout.weighted == ("-w" in tiny.name)
    assert analyser.analyses("lum") == ("lum+N+Sg",)
    assert analyser.analyses("doril") == ("dor+N+Pl",)
    assert analyser.analyses("katam") == ("PV/ka+tam+V",)
    for word in (
        "",
        "l",
        "lumi",
        "lumilil",
        "Lum",
        "lum+N",
        "lum\n",
        "lu\u0301m",
        "lumé",
        "é",
        "éx",
    ):
        assert analyser.analyses(word) == (), word
    assert analyser.analyses("lum" * MAX_WORD) == ()


def test_a_weight_is_a_cost_and_rejects_nobody(compiled):
    words = "viessu\t3.5\nguolli\t10.0\nguolli:guolla\t0.5\nguollo:guolla\t0.25\nčáhci\n"
    pipe = "hfst-strings2fst -j -i {given} | hfst-invert | hfst-fst2fst -w -o {out}"
    analyser = open_analyser(compiled(pipe, words, "weights.hfstol"))
    assert analyser.analyses("viessu") == ("viessu",)
    assert analyser.analyses("guolli") == ("guolli",)
    assert analyser.analyses("guolla") == ("guollo", "guolli")
    assert analyser.analyses("čáhci") == ("čáhci",)
    assert analyser.analyses("Viessu") == analyser.analyses("viessu?") == ()


@pytest.mark.parametrize("form", ["-O", "-w"])
def test_cycles_of_empty_transitions_come_to_an_end(compiled, form):
    pipe = f"hfst-regexp2fst -i {{given}} | hfst-fst2fst {form} -o {{out}}"
    analyser = open_analyser(compiled(pipe, "[a 0:b* 0:c];\n", f"cycle{form}.hfstol"))
    assert set(analyser.analyses("a")) in ({"ac"}, {"ac", "abc"})  # each cycle once at most
    assert analyser.analyses("b") == ()


def test_flag_diacritics_are_obeyed_and_not_written(compiled):
    lexc = """Multichar_Symbols @P.P.ON@ @R.P.ON@ @D.P.ON@ @U.K.A@ @U.K.B@
LEXICON Root
@P.P.ON@pre Stem ;
Stem ;
@U.K.A@a Mid ;
@U.K.B@b Mid ;
LEXICON Stem
kas End ;
LEXICON End
@R.P.ON@ta # ;
@D.P.ON@mo # ;
LEXICON Mid
m Last ;
LEXICON Last
@U.K.A@a # ;
@U.K.B@b # ;
"""
    pipe = "hfst-lexc {given} | hfst-fst2fst -O -o {out}"
    analyser = open_analyser(compiled(pipe, lexc, "flags.hfstol"))
    words = ["prekasta", "kasta", "prekasmo", "kasmo", "ama", "amb", "bmb", "bma"]
    assert [word for word in words if analyser.analyses(word)] == [
        "prekasta",
        "kasmo",
        "ama",
        "bmb",
    ]
    assert analyser.analyses("prekasta") == ("prekasta",)


def test_symbols_for_unknown_characters_match_them(compiled):
    pipe = "hfst-regexp2fst -i {given} | hfst-fst2fst -w -o {out}"
    guesser = open_analyser(compiled(pipe, '[?+ 0:"+Guess"] | [f o o 0:"+N"];\n', "guess.hfstol"))
    assert guesser.analyses("čač") == ("čač+Guess",)
    assert set(guesser.analyses("foo")) == {"foo+Guess", "foo+N"}


def test_a_look_up_without_end_is_a_fault(compiled):
    pipe = "hfst-regexp2fst -i {given} | hfst-fst2fst -O -o {out}"
    branches = "[a:0|a:b|a:c|a:d]* [x|y] z;\n"
    analyser = open_analyser(compiled(pipe, branches, "branches.hfstol"))
    assert analyser.analyses("axz")
    with pytest.raises(AnalyserFault):
        analyser.analyses("a" * 60)


def test_it_agrees_with_hfst_lookup(galician, catalan):
    texts = {
        galician: "a casa cantou dixo do dunha faloume fíxose ñandú xunta Vigo col·legi é l·l",
        catalan: "l' home d' dona'm anar-se'n col·legi EE.UU. Casa aigua ï l·l Barcelona ñu",
    }
    for path, text in texts.items():
        words = text.split()
        words += [word[::-1] for word in words] + [word[:-1] for word in words if len(word) > 2]
        shown = subprocess.run(
            ["hfst-lookup", path],
            input="\n".join(words),
            text=True,
            capture_output=True,
            check=True,
        )
        expected = read_lookup(shown.stdout)
        analyser = open_analyser(path)
        assert {word: set(analyser.analyses(word)) for word in words} == {
            word: set(expected[word]) for word in words
        }
        assert any(expected.values())
        assert not all(expected.values())


@given(word=st.text(max_size=8) | st.text(alphabet="lumdorikat+N", max_size=8))
@settings(max_examples=100, deadline=None)
def test_any_text_may_be_looked_up(tiny, word):
    known = {"lum", "dor", "lumil", "doril", "tam", "katam"}
    assert bool(open_analyser(tiny).analyses(word)) == (word in known)


# --- files ---


def test_analysers_are_found_by_code(tmp_path):
    (tmp_path / "gl.hfstol").touch()
    assert find_analyser(tmp_path, GALICIAN) == tmp_path / "gl.hfstol"
    (tmp_path / "glg.hfstol").touch()
    assert find_analyser(tmp_path, GALICIAN) == tmp_path / "glg.hfstol"
    assert find_analyser(tmp_path / "gl.hfstol", LanguageFacts()) == tmp_path / "gl.hfstol"


def test_a_directory_without_the_language_says_what_it_looked_for(tmp_path):
    (tmp_path / "cat.hfstol").touch()
    with pytest.raises(NoAnalyser, match=r"glg\.hfstol or gl\.hfstol; found: cat\.hfstol"):
        find_analyser(tmp_path, GALICIAN)


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere.*--mt-fst"):
        find_analyser(tmp_path / "nowhere", GALICIAN)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not an HFST transducer"),
        (b"\x89PNG\r\n", "not an HFST transducer"),
        (b"HFST\0", "incomplete"),
        (b"HFST\0\x16\0\0type\0TROPICAL_OPENFST\0", "TROPICAL_OPENFST.*hfst-fst2fst -O"),
        (b"HFST\0\x0d\0\0type\0HFST_OL\0", "incomplete"),
        (b"HFST\0\x0e\0\0type\0HFST_OLW\0\1\0\2\0" + b"\1\0\0\0" * 13 + b"a\0", "incomplete"),
    ],
)
def test_a_file_that_is_no_analyser_is_one_clear_error(tmp_path, content, said):
    path = tmp_path / "x.hfstol"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said) as caught:
        open_analyser(path)
    assert str(path) in str(caught.value)


def test_a_file_cut_short_is_told_at_any_length(tiny, tmp_path):
    data = tiny.read_bytes()
    path = tmp_path / "cut.hfstol"
    for size in range(5, len(data), 97):
        path.write_bytes(data[:size])
        with pytest.raises(UsageError):
            open_analyser(path)


def test_a_changed_file_is_read_again(tiny, tmp_path):
    path = tmp_path / "x.hfstol"
    shutil.copy(tiny, path)
    first = open_analyser(path)
    assert open_analyser(path) is first
    path.write_bytes(path.read_bytes() + b"\0")
    assert open_analyser(path) is not first


def test_the_script_tells_its_mistakes(tmp_path, galician):
    def run(*arguments: object) -> tuple[int, str]:
        command = [str(SCRIPT), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    out = tmp_path / "with blank.hfstol"
    text = tmp_path / "some text.bin"
    text.write_text("no dictionary")
    for arguments in ((), (out,), (out, tmp_path / "nowhere.bin"), (out, text)):
        code, said = run(*arguments)
        assert code == 1
        assert said.startswith("build-fst: ")
        assert len(said.splitlines()) == 1
    assert not out.exists()


# --- words as they stand in texts ---


@pytest.mark.parametrize("word", ["casa", "Casa", "CASA", "María", "MARÍA"])
def test_capitals(word):
    assert Reader(lexicon("casa", "María")).accepts(word)


def test_a_name_in_lower_case_is_not_accepted():
    assert not Reader(lexicon("María")).accepts("maría")


def test_the_first_letter_alone_may_be_lowered():
    assert Reader(lexicon("mcDoo")).accepts("McDoo")


def test_dotless_languages():
    assert Reader(lexicon("ısı", "iki"), "tur").accepts("Isı")
    assert Reader(lexicon("ısı", "iki"), "tur").accepts("İKİ")
    assert not Reader(lexicon("ısı"), "glg").accepts("Isı")


@pytest.mark.parametrize(
    ("word", "units"),
    [
        ("l’home", ["l'", "home"]),
        ("dona-m", ["dona", "-m"]),
        ("home-dona", ["home", "dona"]),
        ("L’arc-en-ciel", ["L’", "arc-en-ciel"]),
        ("home-19", ["home", "19"]),
        ("arc-en-ciel", ["arc-en-ciel"]),
    ],
)
def test_compounds_are_known_when_all_parts_are(word, units):
    reader = Reader(lexicon("l'", "home", "dona", "-m", "arc-en-ciel"))
    assert [form.replace("’", "'") for form, _ in reader.units(word)] == [
        unit.replace("’", "'") for unit in units
    ]


@pytest.mark.parametrize("word", ["home-xyz", "xyz-home", "19-20", "-".join(["home"] * 13)])
def test_compounds_that_are_not(word):
    assert not Reader(lexicon("home")).accepts(word)


def test_all_spellings_count_when_a_union_is_wanted():
    lookup = Lexicon(Casa="Casa<np>", casa="casa<n> casar<v>")
    assert Reader(lookup).units("Casa") == (("Casa", ("Casa<np>",)),)
    union = Reader(lookup, union=True).units("Casa")
    assert union == (("Casa", ("Casa<np>", "casa<n>", "casar<v>")),)


def test_galician_words_as_they_stand(galician):
    reader = Reader(open_analyser(galician), "glg")
    for word in ("A", "Casa", "CASA", "faloume", "dunha", "está"):
        assert reader.accepts(word), word
    for word in ("xyzzy", "kasa", "estááá", "casaa", "falooume"):
        assert not reader.accepts(word), word


def test_catalan_clitics(catalan):
    reader = Reader(open_analyser(catalan), "cat")
    for word in ("L’home", "d’aigua", "dona'm", "anar-se'n", "col·legi", "l'escola"):
        assert reader.accepts(word), word
    assert not reader.accepts("l'xyzzy")


# --- analyses ---


@pytest.mark.parametrize(
    ("text", "lemma", "features"),
    [
        ("casa<n><f><sg>", "casa", "n f sg"),
        ("cantar<vblex><pri><p3><sg>", "cantar", "vblex pri p3 sg"),
        ("de<pr>+o<det><def><m><sg>", "de+o", "pr +det +def +m +sg"),
        ("dar<v><inf>+me<prn>+o<prn>", "dar+me+o", "v inf +prn ++prn"),
        ("botar<vblex><inf># de menos", "botar# de menos", "vblex inf"),
        ("C++<n>", "C++", "n"),
        ("maskwa+N+A+Pl", "maskwa", "N A Pl"),
        ("PV/ka+tam+V", "tam", "PV/ka V"),
        ("RdplS+PV/e+nipa+V+AI", "nipa", "RdplS PV/e V AI"),
        ("guolli+N+Cmp#biebmu+N+Sg", "guolli+biebmu", "N Cmp +N +Sg"),
        ("++CLB", "+", "CLB"),
        ("viessu", "viessu", ""),
        ("", "", ""),
    ],
)
def test_analyses_of_both_styles(text, lemma, features):
    assert parse_analysis(text) == Analysis(lemma, frozenset(features.split()))


def test_what_is_of_which_joined_word_matters():
    one = parse_analysis("falar<v><p1>+me<prn><p3>")
    assert one != parse_analysis("falar<v><p3>+me<prn><p1>")


@given(st.text() | st.text(alphabet="ab+<>#/N"))
def test_any_analysis_can_be_read(text):
    assert isinstance(parse_analysis(text), Analysis)


def test_what_hfst_lookup_prints():
    shown = (
        "casa\tcasa<n>\t0.000000\ncasa\tcasar<v>\t12.500000\n\n"
        "xyzzy\txyzzy+?\tinf\n\n"
        "\t+?\tinf\n\n"
        "pez\tpez\t+?\n\n"
        "> sal\tsal<n>\t0,000000\n\n"
        "lua\tlua<n>\tinf\n\n"
        "que?\tque+Interr?\t3.0\n"
        "hfst-lookup: warning: something\n"
    )
    assert read_lookup(shown) == {
        "casa": ("casa<n>", "casar<v>"),
        "xyzzy": (),
        "pez": (),
        "sal": ("sal<n>",),
        "lua": (),
        "que?": ("que+Interr?",),
    }
