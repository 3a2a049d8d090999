"""Gettext, TMX and XLIFF."""

from __future__ import annotations

import sys

import pytest

from pytest_mtarena.errors import MissingExtra, SuiteError
from pytest_mtarena.records import Language

HEAD = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: no\\n"
"""
PO = (
    HEAD
    + """"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#. a button
msgctxt "menu"
msgid "Open"
msgstr "Åpne"

msgid "Open"
msgstr "Åpen"

#, fuzzy
msgid "Shut"
msgstr "Lukk"

msgid "New"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fil"
msgstr[1] "%d filer\\u2028x"

#~ msgid "Old"
#~ msgstr "Gammel"
""".replace("\\u2028", "\u2028")
)


def rows(suite):
    return [(case.public["source"], case.hidden["references"]) for case in suite.cases]


def test_po(opened):
    suite = opened("nb.po", PO)
    assert rows(suite) == [
        ("Open", ["Åpne"]),
        ("Open", ["Åpen"]),
        ("%d file", ["%d fil"]),
        ("%d files", ["%d filer\u2028x"]),
    ]
    assert suite.cases[0].public == {"source": "Open", "context": "menu"}
    assert suite.cases[0].hidden["fields"]["comment"] == "a button"
    assert suite.languages == {"und-no": (Language(), Language(code="no"))}
    assert suite.notes == ("messages left out: 1 fuzzy, 1 obsolete, 1 untranslated",)
    assert suite.format == "po"


def test_po_ids_outlive_reordering(opened):
    blocks = PO.split("\n\n")
    turned = opened("b.po", "\n\n".join([blocks[0], *reversed(blocks[1:-1]), blocks[-1]]))
    plain = opened("a.po", PO)
    assert {c.id: c.public for c in turned.cases} == {c.id: c.public for c in plain.cases}
    assert [case.id for case in turned.cases] != [case.id for case in plain.cases]


@pytest.mark.parametrize(
    ("rule", "forms", "one", "other"),
    [
        ("nplurals=1; plural=0;", ["a"], ["a"], ["a"]),
        ("nplurals=3; plural=(n==1 ? 0 : n<5 ? 1 : 2);", ["a", "b", "c"], ["a"], ["b", "c"]),
        ("nplurals=3; plural=(n==0 ? 0 : n==1 ? 1 : 2);", ["z", "a", "b"], ["a"], ["z", "b"]),
    ],
)
def test_po_plural_forms(opened, rule, forms, one, other):
    text = HEAD + f'"Plural-Forms: {rule}\\n"\n\nmsgid "f"\nmsgid_plural "fs"\n'
    text += "".join(f'msgstr[{number}] "{form}"\n' for number, form in enumerate(forms))
    assert rows(opened("a.po", text)) == [("f", one), ("fs", other)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + '\nmsgid "abc\nmsgstr "b"\n', "a.po:6: not a gettext catalogue: found 'msgid"),
        (HEAD + '\nmsgstr "b"\nmsgid "a"\n', "not a gettext catalogue"),
        (HEAD + '\nmsgid "a"\nfree text\n', "a.po:7: not a gettext"),
        (HEAD + '\nmsgid "a\rb"\nmsgstr "c"\n', "a.po:6: not a gettext"),
        (HEAD, "0 entries"),
        (HEAD + '\nmsgid "a"\nmsgstr ""\n', "0 entries (1 untranslated left out)"),
        (HEAD + '\nmsgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n', "stands twice: line 6"),
        (HEAD + '"Plural-Forms: nplurals=2; plural=import;\\n"\n', "Plural-Forms"),
        (HEAD + '"Plural-Forms: nplurals=1; plural=n;\\n"\n', "Plural-Forms"),
        (
            HEAD + '"Plural-Forms: nplurals=2; plural=n!=1;\\n"\n\nmsgid "a"\n'
            'msgid_plural "b"\nmsgstr[0] "c"\n',
            "1 plural forms, but Plural-Forms says 2",
        ),
        (PO.encode("utf-16"), "UTF-16"),
        (PO.encode("latin-1", "replace"), "Latin-1"),
    ],
)
def test_po_that_cannot_be_read(opened, text, said):
    with pytest.raises(SuiteError) as caught:
        opened("a.po", text)
    assert said in str(caught.value)


def tmx(units, srclang="en", doctype=""):
    tuvs = "".join(
        f"<tu{extra}>"
        + "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
        + "</tu>"
        for extra, variants in units
    )
    return (
        f'<?xml version="1.0"?>\n{doctype}<tmx version="1.4"><header srclang="{srclang}"/>'
        f"<body>{tuvs}</body></tmx>"
    )


TWO = [
    (' tuid="u1"', [("en", "One"), ("pt", "Um")]),
    (' tuid="u2"', [("en", "Tw<ph>x</ph>o\u2028"), ("pt", "Dois")]),
]


def test_tmx(opened):
    suite = opened("a.tmx", tmx(TWO, doctype='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'))
    assert [case.id for case in suite.cases] == ["u1", "u2"]
    assert rows(suite) == [("One", ["Um"]), ("Twxo\u2028", ["Dois"])]
    assert list(suite.languages) == ["en-pt"]
    assert suite.notes == ("1 unit with inline elements: their tags are left out",)


def test_tmx_with_several_languages(opened):
    content = tmx([*TWO, (' tuid="u3"', [("en", "Three"), ("pt", "Três"), ("de-AT", "Drei")])])
    suite = opened("a.tmx", content)
    assert [(case.id, case.group) for case in suite.cases] == [
        ("u1-pt", "en-pt"),
        ("u2-pt", "en-pt"),
        ("u3-pt", "en-pt"),
        ("u3-de-AT", "en-de-AT"),
    ]
    german = opened("a.tmx", content, target_lang="de")
    assert rows(german) == [("Three", ["Drei"])]
    with pytest.raises(SuiteError, match=r"no 'fr' \(languages: pt, de-AT\)"):
        opened("a.tmx", content, target_lang="fr")


@pytest.mark.parametrize("extra", ["", ' tuid="same"'])
def test_tmx_ids_are_digests_without_usable_tuids(opened, extra):
    units = [(extra, variants) for _, variants in TWO]
    plain = opened("a.tmx", tmx([*units, units[0]]))
    turned = opened("b.tmx", tmx([units[1], units[0], units[0]]))
    assert len({case.id for case in plain.cases}) == 3
    assert {c.id: c.public for c in plain.cases} == {c.id: c.public for c in turned.cases}


def test_tmx_without_a_source_language(opened):
    with pytest.raises(SuiteError, match="--mt-source-lang"):
        opened("a.tmx", tmx(TWO, srclang="*all*"))
    suite = opened("a.tmx", tmx(TWO, srclang="*all*"), source_lang="pt")
    assert rows(suite)[0] == ("Um", ["One"])


BOMB = (
    '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>\n'
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (tmx([("", [("en", "&c;"), ("pt", "x")])], doctype=BOMB), "declares the entity"),
        (
            tmx(
                [("", [("en", "&x;"), ("pt", "x")])],
                doctype='<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
            ),
            "declares the entity",
        ),
        (
            tmx(TWO, doctype='<!DOCTYPE tmx [<!ENTITY % x SYSTEM "http://127.0.0.1:9/"> %x;]>'),
            "declares the entity",
        ),
        ("<tmx><header/>", "not valid XML"),
        ("", "not valid XML"),
        ("<a/>", "is no TMX file"),
        (tmx([]), "0 entries"),
        (
            "<tmx><header srclang='en'/><body>" + "<a>" * 300 + "</a>" * 300 + "</body></tmx>",
            "deeply",
        ),
    ],
)
def test_tmx_that_is_refused(opened, content, said):
    with pytest.raises(SuiteError) as caught:
        opened("a.tmx", content)
    assert said in str(caught.value)


def xliff(*files):
    body = "".join(
        f'<file original="{name}" source-language="en" target-language="{code}">'
        f"<body>{units}</body></file>"
        for name, code, units in files
    )
    return f'<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">{body}</xliff>'


UNIT = '<trans-unit id="1"><source>One</source><target>Um</target></trans-unit>'


def test_xliff_1(opened):
    more = (
        '<trans-unit id="2"><source>Two</source></trans-unit>'
        '<trans-unit id="3" translate="no"><source>X</source><target>X</target></trans-unit>'
        '<trans-unit id="4"><source>Y</source><target state="needs-translation">Z</target>'
        "<alt-trans><target>W</target></alt-trans></trans-unit>"
        '<trans-unit id="5"><source>A <g id="1">b</g></source><target>C</target></trans-unit>'
    )
    suite = opened("a.xlf", xliff(("f", "pt", UNIT + more)))
    assert [case.id for case in suite.cases] == ["1", "5"]
    assert rows(suite) == [("One", ["Um"]), ("A b", ["C"])]
    assert suite.notes == (
        "units left out: 1 not to be translated, 1 untranslated, 1 unfinished",
        "1 unit with inline elements: their tags are left out",
    )


def test_xliff_1_ids_and_languages_of_several_files(opened):
    suite = opened("a.xliff", xliff(("f", "pt", UNIT), ("g", "cat", UNIT)))
    assert [(case.id, case.group) for case in suite.cases] == [("f:1", "en-pt"), ("g:1", "en-cat")]


def test_xliff_2(opened):
    content = """<xliff version="2.1" xmlns="urn:oasis:names:tc:xliff:document:2.0"
      srcLang="en" trgLang="no"><file id="f"><unit id="u1">
      <segment><source>One</source><target>En</target></segment></unit><unit id="u2">
      <segment id="a"><source>Two</source><target>To</target></segment>
      <segment state="initial"><source>Three</source><target>Tre</target></segment>
      </unit></file></xliff>"""
    suite = opened("a.xlf", content)
    assert [case.id for case in suite.cases] == ["u1", "u2::a"]
    assert rows(suite) == [("One", ["En"]), ("Two", ["To"])]
    assert list(suite.languages) == ["en-no"]
    assert suite.notes == ("units left out: 1 unfinished",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<a/>", "is no XLIFF file"),
        (xliff(("f", "pt", "")), "0 entries"),
        (xliff(("f", "pt", UNIT + UNIT)), "stands twice"),
        (BOMB.replace("tmx", "xliff") + xliff(("f", "pt", UNIT)), "declares the entity"),
    ],
)
def test_xliff_that_is_refused(opened, content, said):
    with pytest.raises(SuiteError) as caught:
        opened("a.xlf", content)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"), [("a.tmx", tmx(TWO)), ("a.xlf", xliff(("f", "pt", UNIT)))]
)
def test_missing_extra_names_the_command(opened, monkeypatch, name, content):
    for module in ("translate.storage.tmx", "translate.storage.xliff"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"pip install 'pytest-mtarena\[formats\]'"):
        opened(name, content)
