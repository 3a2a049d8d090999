"""Terms in texts: boundaries, inflection, scripts without spaces, what counts once."""

from __future__ import annotations

import pytest

from pytest_mtarena.referee.terms import Glossary, Prose, Term, found_terms, is_form, uses_of


def found(source, *terms):
    glossary = Glossary(Term(one, ("x",)) for one in terms)
    return {one.term.source: one.times for one in found_terms(Prose(source), [glossary])}


def use(source, output, *terms):
    (one,) = uses_of(found_terms(Prose(source), [Glossary(terms)]), Prose(output))
    return one.kept, one.times, one.forbidden


@pytest.mark.parametrize(
    ("word", "term", "form"),
    [
        ("chat", "chat", True),
        ("chats", "chat", True),
        ("achat", "chat", False),
        ("chatear", "chat", False),
        ("sols", "sol", False),
        ("usuarias", "usuario", True),
        ("gardou", "gardar", True),
        ("correcto", "correo", False),
        ("contexto", "conter", False),
        ("descarga", "desconto", False),
        ("configuracións", "configuración", True),
        ("dateiname", "datei", True),
        ("administrativa", "admin", False),
        ("الملفات", "ملف", True),
        ("المحتمل", "المحتوى", False),
        ("روابط", "الروابط", True),
        ("파일을", "파일", True),
        ("ומשתמש", "משתמש", True),
    ],
)
def test_forms_of_a_word(word, term, form):
    assert is_form(word, term) is form


def test_a_forbidden_word_has_few_forms():
    assert is_form("ficheros", "fichero", strict=True)
    assert not is_form("fichamos", "fichero", strict=True)
    assert is_form("usuarias", "usuario")
    assert not is_form("usuarias", "usuario", strict=True)


@pytest.mark.parametrize(
    ("source", "times"),
    [
        ("Chat, CHAT and chat!", {"chat": 3}),
        ("achat chats", {}),
        ("the %(chat)s", {}),
        ("a file system and a file", {"file system": 1, "file": 1}),
        ("file-system", {"file system": 1}),
        ("C++ and C", {"c++": 1}),
        ("xC++", {}),
        ("打开文件夹和文件", {"文件夹": 1, "文件": 1}),
        ("Googleで検索", {"google": 1, "検索": 1}),
    ],
)
def test_terms_in_a_source(source, times):
    terms = ("chat", "file", "file system", "c++", "文件", "文件夹", "google", "検索")
    assert found(source, *terms) == times


def test_occurrences_are_counted():
    term = Term("file", ("ficheiro", "arquivo"))
    assert use("file, file, file", "ficheiro e arquivos", term) == (2, 3, ())
    assert use("file", "ficheiro ficheiro", term) == (1, 1, ())
    assert use("file", "", term) == (0, 1, ())
    assert use("文件", "", Term("文件", (), ("x",))) == (0, 1, ())


def test_a_word_counts_for_one_term():
    terms = (Term("file", ("ficheiro",)), Term("archive", ("ficheiro",)))
    source = found_terms(Prose("file archive"), [Glossary(terms)])
    assert sum(one.kept for one in uses_of(source, Prose("ficheiro"))) == 1
    assert sum(one.kept for one in uses_of(source, Prose("ficheiro ficheiro"))) == 2


def test_terms_of_several_words():
    term = Term("email", ("correo electrónico",), ("correo",))
    assert use("email", "Os correos electrónicos", term) == (1, 1, ())
    assert use("email", "o correo", term) == (0, 1, ("correo",))
    assert use("email", "correo, correo electrónico", term) == (0, 1, ("correo",))


def test_a_term_that_only_forbids():
    term = Term("file", (), ("fichero",))
    assert use("file", "o arquivo", term) == (1, 1, ())
    assert use("file", "os ficheros", term) == (0, 1, ("fichero",))


def test_what_is_accepted_is_not_forbidden():
    term = Term("user", ("usuario",), ("usuaria",))
    assert use("user", "usuario", term) == (1, 1, ())
    assert use("user", "usuaria", term) == (0, 1, ("usuaria",))
    term = Term("email", ("correos",), ("correo",))
    assert use("email", "correos e correos", term) == (1, 1, ())


def test_scripts_without_spaces_are_searched_by_character():
    assert use("open the file", "打开这个文件吧", Term("file", ("文件",))) == (1, 1, ())
    assert use("open the file", "เปิดไฟล์นี้", Term("file", ("ไฟล์",))) == (1, 1, ())


def test_marks_belong_to_words():
    assert use("language", "हिन्दी भाषाएँ", Term("language", ("भाषा",))) == (1, 1, ())
    assert found("किताबें", "किताब") == {}


def test_the_first_glossary_says_what_counts():
    own = Glossary([Term("file", ("a",))])
    shared = Glossary([Term("File", ("b",)), Term("page", ("c",))])
    terms = [one.term.accept for one in found_terms(Prose("file page"), [own, shared])]
    assert sorted(terms) == [("a",), ("c",)]
