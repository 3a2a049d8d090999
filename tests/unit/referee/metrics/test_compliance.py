"""What an output must keep: each part, the index, repairs, and how references fare."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pytest_mtarena.protocols import Calibrating, Examining, MetricInput
from pytest_mtarena.records import LanguageFacts
from pytest_mtarena.referee.metrics.compliance import (
    ComplianceIndex,
    RepairEffectiveness,
    judge_text,
    make,
)
from pytest_mtarena.referee.setting import Setting

GALICIAN = LanguageFacts(code="glg", has_case=True, quotes=(("«", "»"), ("“", "”")))
ARABIC = LanguageFacts(code="arb", has_case=False, scripts=("Arab",))


def parts(source, output, *references, language=GALICIAN):
    return judge_text(source, output, references, language).parts


def entry(source, output, *references, raw=None, language=GALICIAN, failed=False):
    return MetricInput(
        id="e1",
        source=source,
        output=output,
        raw_output=output if raw is None else raw,
        references=references or (source,),
        target_language=language,
        failed=failed,
    )


@pytest.mark.parametrize(
    ("source", "output", "kept"),
    [
        ("{a} and {b}", "{b} e {a}", True),
        ("{a} and {a}", "{a}", False),
        ("%(name)s", "%(nome)s", False),
        ("%s of %s", "%2$s de %1$s", True),
        ("Save", "Gardar {x}", False),
        ("100 % of", "100 % de", None),
        ("%d users", "%d usuarios", True),
        ("a &amp; b", "a e b", None),
        ("a &amp; b", "a & amp; b", False),
    ],
)
def test_variables(source, output, kept):
    assert parts(source, output).get("variables") is kept


@pytest.mark.parametrize(
    ("source", "output", "kept"),
    [
        ("<b>x</b> <i>y</i>", "<i>y</i> <b>x</b>", True),
        ("<b>x</b>", "<b>x", False),
        ("<b>x</b>", "</b>x<b>", False),
        ("<b><i>x</i></b>", "<b><i>x</b></i>", False),
        ("a<br>b", "a<br/>b", True),
        ("<code>x</code>", "<código>x</código>", False),
        ("</b>x<b>", "</b>x<b>", True),
        ("x", "y", None),
    ],
)
def test_tags(source, output, kept):
    assert parts(source, output).get("tags") is kept


MESSAGE = "{n, plural, one {# file} other {# files by {who}}}"


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        (
            "{n, plural, one {# ficheiro} few {x} other {# ficheiros de {who}}}",
            {"icu", "variables"},
        ),
        ("{n, plural, other {# ficheiros}}", set()),
        ("{n, plural, one {# ficheiro de {who}} other {ficheiros de {who}}}", {"icu"}),
        ("{n, plural, one {# ficheiro}}", set()),
        ("{n, select, one {# ficheiro} other {# de {who}}}", set()),
        ("{m, plural, one {# ficheiro} other {# de {who}}}", set()),
        ("# ficheiros", set()),
    ],
)
def test_messages(output, kept):
    found = judge_text(MESSAGE, output, [], GALICIAN)
    assert {name for name, right in found.parts.items() if right} == kept
    assert "icu" in found.parts


def test_the_values_of_a_select_are_kept():
    source = "{who, select, male {his} other {their}}"
    assert parts(source, "{who, select, male {seu} other {deles}}") == {"icu": True}
    assert parts(source, "{who, select, home {seu} other {deles}}") == {"icu": False}


def test_a_broken_message_is_explained():
    found = judge_text(MESSAGE, "{n, plural, one {# ficheiro}}", [], GALICIAN)
    assert found.evidence() == {
        "icu": False,
        "problem": "the plural 'n' has no branch 'other' at character 28",
    }


@pytest.mark.parametrize(
    ("source", "output", "kept"),
    [
        ("say “yes”", "di «si»", True),
        ("say “yes”", "di “si”", True),
        ('say "yes"', 'di "si"', True),
        ("say “yes”", 'di "si"', False),
        ("say “yes”", "di si", False),
        ("say “yes”", "di “si", False),
        ("say “yes” “no”", "di «si»", False),
        ("“a ‘b’”", "«a “b”»", True),
        ("“a” “b”", "«a “b»”", False),
        ("don't", "non", None),
        ("the “%s” file", "o ficheiro «%s»", True),
        ("the '%s' file", "o ficheiro %s", False),
        ('<a href="x">', '<a href="x">', None),
    ],
)
def test_quotes(source, output, kept):
    assert parts(source, output).get("quotes") is kept


def test_a_language_without_known_quotes_may_use_any_pair():
    unknown = LanguageFacts(code="xyz")
    assert parts("“a” “b”", "„x“ „y“", language=unknown) == {"quotes": True}
    assert parts("“a” “b”", "„x“ «y»", language=unknown) == {"quotes": False}


@pytest.mark.parametrize(
    ("output", "kept"),
    [("ملف PDF", True), ("ملف document", False), ("%s ملف", True), ("ملف", True)],
)
def test_words_in_latin_letters_where_there_are_no_capitals(output, kept):
    assert parts("%s a PDF", output, "PDF", language=ARABIC)["casing"] is kept


def test_a_reference_shows_what_is_right():
    assert parts("%d hour", "unha hora")["variables"] is False
    assert parts("%d hour", "unha hora", "unha hora longa")["variables"] is True
    assert parts("<q>x</q>", "«x»", "«y»") == {"tags": True}
    assert parts("a “b”", 'o "b"', 'un "b"') == {"quotes": True}
    assert parts("“b”", "b", "b") == {"quotes": True}
    assert parts("ملف", "x word", "word", language=ARABIC) == {"casing": False}


def test_the_index_is_over_the_parts_that_there_are():
    metric = ComplianceIndex()
    values = {
        ("%s <b>“x”</b>", "%s <b>«x»</b>"): 1.0,
        ("%s <b>“x”</b>", "<b>«x»</b>"): (0.6 * 0.5 + 0.2) / 0.8,
        ("%s “x”", "%s x"): 0.6 / 0.8,
        ("%s", "s"): 0.0,
        ("“x”", "x"): 0.0,
        ("x", "y"): None,
    }
    found = metric.examine([entry(*pair) for pair in values])
    assert [one.value for one in found] == pytest.approx(list(values.values()))
    assert found[-1].reason == "nothing to keep"
    assert found[0].evidence is None
    assert found[1].evidence == {
        "variables": False,
        "tags": True,
        "quotes": True,
        "missing": ["%s"],
    }
    assert list(found[1].statistics or ()) == [pytest.approx(0.625), 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("source", ["%s “x”", "<b>x</b>", MESSAGE, "“x”", "a &amp; b"])
def test_an_empty_output_keeps_nothing(source):
    (found,) = ComplianceIndex().examine([entry(source, "", failed=True)])
    assert found.value == 0
    (caseless,) = ComplianceIndex().examine([entry("x", "", language=ARABIC)])
    assert caseless.value == 0


def test_the_score_is_the_mean_over_entries_with_parts():
    metric = ComplianceIndex()
    rows = metric.statistics([entry("%s", "%s"), entry("%s", "s"), entry("x", "y")])
    assert np.isnan(rows[2]).all()
    assert metric.score(rows[:2].sum(axis=0)[None])[0] == 0.5


def test_repairs_are_counted_by_violation():
    metric = RepairEffectiveness()
    inputs = [
        entry("%s <b>x</b>", "%s <b>x</b>", raw="x"),
        entry("%s <b>x</b>", "%s x", raw="x"),
        entry("%s", "x", raw="%s"),
        entry("%s", "%s"),
        entry("%s", "", failed=True),
    ]
    found = metric.examine(inputs)
    assert [one.statistics for one in found] == [(2, 2, 0), (1, 2, 0), (0, 0, 1), None, None]
    assert [one.value for one in found] == [1, 0.5, None, None, None]
    assert found[1].evidence == {"repaired": ["variables"]}
    assert found[2].evidence == {"introduced": ["variables"]}
    assert found[3].reason == "no violation before the hooks"
    sums = metric.statistics(inputs)[:3].sum(axis=0)[None]
    assert metric.score(sums)[0] == 0.75
    assert np.isnan(metric.score(np.array([[0.0, 0.0, 1.0]]))[0])


def test_references_are_judged_without_themselves():
    gold = [
        entry("%s x", "x", "x"),
        entry("%s x", "x", "x", "o x"),
        entry("%s x", "%s", "%s"),
        entry("x", "y", "y"),
    ]
    metric, found = ComplianceIndex().calibrate(gold)
    assert (found.n, found.rate) == (4, 0.25)
    assert found.facts["variables_broken"] == 1
    assert found.facts["entries_with_parts"] == 3
    assert metric.restore(found) == metric  # type: ignore[attr-defined]


def test_the_quotes_of_the_suite_are_right_too():
    gold = [entry("a “b”", 'o "b"', 'o "b"')] * 3 + [entry("a “b”", "o 'b'", "o 'b'")]
    metric, found = ComplianceIndex().calibrate(gold)
    assert found.fit == {"quotes": [['"', '"']]}
    assert found.rate == 0.25, "one slip is no style"
    assert isinstance(metric, ComplianceIndex)
    assert metric.find(entry("a “b”", 'un "b"')).value == 1
    assert ComplianceIndex().restore(found) == metric
    json.dumps(found.model_dump(), allow_nan=False)


def test_evidence_is_small():
    (found,) = ComplianceIndex().examine([entry("x", "{a}" * 100_000 + "<" + "b" * 50 + ">")])
    assert found.value == 0
    assert len(json.dumps(found.evidence)) < 2000


def test_make_gives_both_for_the_language_of_the_run():
    made = make(Setting(target=GALICIAN))
    assert [one.id for one in made] == ["compliance_index", "repair_effectiveness"]
    assert [one.role for one in made] == ["diagnostic", "informational"]
    for one in made:
        assert isinstance(one, Examining)
        assert isinstance(one, Calibrating)
    assert isinstance(made[0], ComplianceIndex)
    bare = entry("a “b”", 'o "b"', language=LanguageFacts())
    assert made[0].find(bare).value == 0
