"""What people read: the block of a card, and one case explained."""

from __future__ import annotations

import pytest
from translation_making import Run, case, failed, run_of, said

from pytest_mtarena.records import Attempt, Failure, Scoring
from pytest_mtarena.referee.explain import difference, explain_attempt
from pytest_mtarena.referee.summary import summarise
from pytest_mtarena.text import columns

TRIPLES = [(f"q {i}", f"vástádus lea {i} dál", f"vástádus lea {i % 5} dál {i}") for i in range(40)]


def labelled():
    cases = [
        case(i, src, ref, difficulty=1 + i % 3, domain="ui\x1b", register="formal")
        for i, (src, ref, _) in enumerate(TRIPLES)
    ]
    return Run([(one, said(one, TRIPLES[one.index][2])) for one in cases])


def block(card, verbosity=0, width=100):
    return summarise(card, verbosity=verbosity, width=width)


def test_headline_first():
    run = labelled()
    lines = block(run.card())
    assert lines[0].startswith(f"chrF++  {run.scores['chrf_plus_plus']:5.1f}  [")
    assert lines[0].endswith(run.report.signatures["chrf_plus_plus"].removesuffix("|unicode:NFC"))
    assert lines[1].startswith("BLEU ")
    assert "tok:13a" in lines[1]
    assert "TER " in lines[1]
    assert lines[2].startswith("exact    0.00  [0.00, 0.09]"), "none of 40 may be 9 % in truth"
    assert lines[2].endswith("errors 0 of 40")
    assert lines[3].startswith("         orthographic accuracy 1.00   ")
    assert "code switching 0.00" in lines[3]
    assert "difficulty 1 " in lines[4]
    assert "can show a difference of " in lines[5]
    assert "(80 % power)" in lines[5]
    assert len(lines) == 6


def test_failed_attempts_are_told_with_their_kinds():
    one = case(0, "s", "a")
    kinds = ["truncated", "blocked\x1b", "truncated"]
    pairs = [
        (case(at, "s", "a"), Attempt(id=f"e{at + 1}", failure=Failure(kind=kind, message="no")))
        for at, kind in enumerate(kinds, start=1)
    ]
    card = Run([(one, said(one, "a")), *pairs]).card()
    assert "errors 3 of 4 (1 blocked\\e, 2 truncated)" in "\n".join(block(card))
    card["scores"]["errors_by_kind"] = 7
    assert "errors 3 of 4" in "\n".join(block(card))


def test_quiet_and_verbose():
    card = labelled().card()
    assert block(card, -1) == block(card)[:1]
    verbose = "\n".join(block(card, 1))
    assert "by domain" in verbose
    assert "by register" in verbose
    assert "exact|strict" in verbose
    assert "\x1b" not in verbose
    assert "ui\\e" in verbose


def test_a_narrow_terminal_gets_more_lines():
    wide, narrow = (block(labelled().card(), width=width) for width in (100, 75))
    assert len(narrow) > len(wide)
    assert narrow[0].endswith("]")
    assert narrow[1].strip().startswith("nrefs:1|")
    assert " ".join(" ".join(narrow[:2]).split()) == " ".join(wide[0].split())


def test_few_exact_matches_are_counted():
    triples = [*TRIPLES[:3], ("q", "vástádus", "vástádus")]
    assert any(line.startswith("exact   1 of 4") for line in block(run_of(*triples).card()))


def test_caveats_have_a_mark():
    lines = block(run_of(*TRIPLES[:5]).card())
    assert [line for line in lines if line.startswith("! only 5 entries")]


@pytest.mark.parametrize("width", [20, 40, 80, 100])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_no_line_is_too_wide(width, verbosity):
    assert all(columns(line) <= width for line in block(labelled().card(), verbosity, width))


def test_an_incomplete_run_shows_no_scores():
    run = labelled()
    scores = {**run.scores, "chrf_plus_plus": None, "bleu": None}
    card = run.card(complete=False, scores=scores, selection={"n_selected": 40, "n_rows": 12})
    lines = block(card)
    assert lines[0] == "INCOMPLETE: 12 of 40 entries, no final scores"
    assert not any("chrF++" in line for line in lines)


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_a_run_without_scores_says_so(verbosity):
    card = run_of(*TRIPLES, scoring=Scoring(metrics=())).card()
    assert block(card, verbosity)[0].startswith("no scores: ")
    assert block({}, verbosity)[0].startswith("no scores: ")


def test_explained_difference():
    text = explain_attempt(
        "The sun", ["Beaivváš báitá odne"], Attempt(id="e1", output="Beaivváš odne fas")
    )
    assert text.splitlines() == [
        "source     The sun",
        "reference  Beaivváš báitá odne",
        "output     Beaivváš odne fas",
        "difference Beaivváš [-báitá-] odne {+fas+}",
    ]
    assert difference("a  b", "a b") == "in white space only"


def test_explained_failure():
    failure = Failure(
        kind="exception",
        message="KeyError: 'gloss'",
        traceback="\n".join([f"line {i}" for i in range(30)] + ["KeyError: \x1b]0;x\x07"]),
    )
    text = explain_attempt("s", ["r"], Attempt(id="e1", failure=failure))
    lines = text.splitlines()
    assert lines[0] == "error (exception): KeyError: 'gloss'"
    assert lines[-1] == "output     –"
    assert "  line 29" in lines
    assert "  line 1" not in lines
    assert "\x1b" not in text


def test_the_referee_explains_hostile_and_huge_texts():
    one = case(0, "a\x1b[2Jb\u202e" * 100_000, "r")
    run = Run(
        [(one, said(one, "x \ud83d" if False else "x\u2066 " * 200_000))], Scoring(n_bootstrap=1)
    )
    text = run.referee.explain(one, run.attempts[0], run.grades[0])
    assert len(text) < 4_000
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\u2066" not in text
    broken = failed(one, "m" * 10_000)
    assert len(run.referee.explain(one, broken, None)) < 4_000
