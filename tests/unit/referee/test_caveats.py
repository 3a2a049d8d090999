"""What a report warns of, and what it does not."""

from __future__ import annotations

import unicodedata

import pytest
from translation_making import Run, case, failed, run_of, said


def plain(n=40, output="vástádus {}"):
    return [(f"question {i}", f"vástádus {i}", output.format(i)) for i in range(n)]


def lines(*triples, **settings):
    return list(run_of(*triples, **settings).report.caveats)


def test_a_good_run_has_no_caveats():
    assert lines(*plain(output="dat lea dá {}")) == []


def test_outputs_that_are_their_source():
    sami = "Mun boađán odne ruoktot"
    triples = [
        ("Oslo", "Oslo", "Oslo"),
        (sami, "I come home today", sami),
        (sami + "!", "I come home today!", unicodedata.normalize("NFD", sami + "! ")),
        ("Giitu", "Thanks", "Thank you"),
    ]
    run = run_of(*triples)
    assert run.scores["source_copies"] == {"count": 2, "eligible": 3, "rate": 0.6667}
    assert "2 of 3 outputs equal their source: e2 e3" in run.report.caveats


def test_one_output_for_many_sources():
    found = lines(*plain(36), *((f"other {i}", f"eará {i}", "Sorry.") for i in range(12)))
    (line,) = [line for line in found if line.startswith("one output")]
    assert line.startswith('one output for 12 different sources ("Sorry."): e37 e38')
    assert line.endswith("and 4 more")
    alike = [(f"yes {i}", "Juo", "Juo") for i in range(12)]
    assert not any(line.startswith("one output") for line in lines(*plain(36), *alike))


@pytest.mark.parametrize(
    ("source", "reference", "output", "said"),
    [
        ("Hi {name}", "Bures {name}", "Bures {nama}", True),
        ("Hi {name}", "Bures {name}", "{name}, bures", False),
        ("%s of %(n)d files", "%(n)d / %s fiillat", "%s fiillat", True),
        ("<b>Stop</b> now", "<b>Orus</b> dál", "<b>Orus dál", True),
        ('<a href="x">Go</a>', '<a href="y">Mana</a>', "<A HREF='z'>Mana</A>", False),
        ("{{user}} left", "{{ user }} vulggii", "vulggii", True),
        ("100% done, 5 < 6 > 4", "100% válmmas", "válmmas", False),
        ("Hi {name}", "Bures", "Bures", False),
    ],
)
def test_placeholders_that_got_lost(source, reference, output, said):
    found = lines((source, reference, output), *plain())
    assert ("1 output lost or changed a placeholder or tag: e1" in found) is said


@pytest.mark.parametrize(
    ("output", "said"), [("vástádus {0} " * 2, "times as long"), ("v", "only")]
)
def test_lengths(output, said):
    found = [line for line in lines(*plain(output=output)) if "as long as" in line]
    assert len(found) == 1
    assert said in found[0]
    assert "e1 e2" in found[0]


def test_many_errors_and_few_entries():
    cases = [case(i, f"s{i}", f"vástádus nummir {i} dá") for i in range(20)]
    pairs = [(one, said(one, f"dat lea nummir {one.index}")) for one in cases]
    pairs[3] = (cases[3], failed(cases[3]))
    assert list(Run(pairs).report.caveats) == [
        "only 20 entries: intervals from fewer than 30 are not to be relied on"
    ]
    pairs[4] = (cases[4], failed(cases[4]))
    assert Run(pairs).report.caveats[0] == "2 of 20 attempts failed and count as misses: e4 e5"


def test_bleu_without_any_4_grams():
    run = run_of(("s", "Mun boađán .", "Mun boađán ."))
    assert run.scores["bleu"] == 0.0
    assert run.rows[0]["bleu_score"] == 100.0
    assert any("no 4-grams" in line for line in run.report.caveats)


def test_ids_are_made_printable():
    one = case(0, "s" * 5, "r", id="e\x1b[31m")
    (line, *_) = Run([(one, said(one, "sssss"))]).report.caveats
    assert line.endswith("e\\e[31m")


def test_outputs_that_were_cut_at_the_limit_of_tokens():
    run = run_of(*plain(3))
    rows = [{**row, "metadata": {"truncated": row["entry_id"] != "e2"}} for row in run.rows]
    report = run.referee.score(rows, run.statistics)
    assert "2 outputs were cut at the limit of tokens (--mt-max-tokens): e1 e3" in report.caveats


def test_outputs_of_which_nobody_knows_whether_they_are_whole():
    run = run_of(*plain(3))
    words = {"e1": "weird\x1b", "e3": "not told"}
    rows = [
        {**row, "metadata": {"unknown_end": words.get(str(row["entry_id"]))}} for row in run.rows
    ]
    report = run.referee.score(rows, run.statistics)
    told = "how the model's reply ended is unknown (weird\\e, not told): e1 e3"
    assert f"2 outputs may be cut: {told}" in report.caveats
