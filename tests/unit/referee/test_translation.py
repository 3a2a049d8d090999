"""Grading, rows and reports of translation runs."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from translation_making import GROUP, Run, case, failed, run_of, said, strict, suite_of

from pytest_mtarena import mean_metric
from pytest_mtarena.errors import CardError, ExtensionError, UsageError
from pytest_mtarena.protocols import Kind, Referee
from pytest_mtarena.records import Attempt, Failure, Scoring
from pytest_mtarena.referee.metrics.ids import IDS
from pytest_mtarena.referee.translation import TranslationKind

TITLES = [
    ("I came today.", "Mun boađán odne.", "Mun boađán odne."),
    ("The sun shines.", "Beaivváš báitá.", "Beaivváš baitá"),
    ("Thanks", "Giitu", "qqq xxx"),
    ("Where do you live now?", "Gos don orut dál?", ""),
]


def corpus(outputs, references):
    return {
        "chrf_plus_plus": round(CHRF(word_order=2).corpus_score(outputs, [references]).score, 2),
        "chrf": round(CHRF().corpus_score(outputs, [references]).score, 2),
        "bleu": round(BLEU().corpus_score(outputs, [references]).score, 2),
        "ter": round(TER().corpus_score(outputs, [references]).score, 2),
    }


def test_kind_and_referee_have_their_shape():
    kind: Kind = TranslationKind()
    referee: Referee = kind.referee(suite_of([case(0, "a", "b")]), GROUP, Scoring())
    assert kind.name == "translation"
    assert referee.score([]).headline == "chrf_plus_plus"


def test_corpus_scores_are_no_means_of_entry_scores():
    run = run_of(*TITLES)
    expected = corpus([output for *_, output in TITLES], [refs for _, refs, _ in TITLES])
    assert {name: run.scores[name] for name in expected} == expected
    entries = [row["entry_chrf"] for row in run.rows]
    assert entries[0] == 100.0
    assert entries[3] == 0.0
    assert run.scores["chrf_plus_plus"] != round(sum(entries) / 4, 2)
    assert run.scores["n_empty_hypothesis"] == 1
    assert (run.scores["total"], run.scores["evaluated"], run.scores["errors"]) == (4, 4, 0)
    assert (run.scores["exact_matches"], run.scores["exact_match_rate"]) == (1, 0.25)


def test_failed_attempts_stay_in_the_denominator():
    cases = [case(index, f"s {index}", f"good answer {index}") for index in range(10)]
    pairs = [(one, said(one, f"good answer {one.index}")) for one in cases[:8]]
    pairs += [(cases[8], said(cases[8], "wrong")), (cases[9], failed(cases[9]))]
    run = Run(pairs)
    assert run.scores["exact_match_rate"] == 0.8
    assert (run.scores["evaluated"], run.scores["errors"]) == (10, 1)
    outputs = [f"good answer {index}" for index in range(8)] + ["wrong", ""]
    expected = corpus(outputs, [f"good answer {index}" for index in range(10)])
    assert {name: run.scores[name] for name in expected} == expected
    row = run.rows[9]
    assert (row["status"], row["predicted"], row["entry_chrf"]) == ("error", None, 0.0)
    assert row["exact_match"] is False


def test_failed_attempts_are_counted_by_their_kind():
    cases = [case(index, f"s {index}", "answer") for index in range(5)]
    kinds = ["blocked", "truncated", "blocked"]
    pairs = [
        (one, Attempt(id=one.id, failure=Failure(kind=kind, message="no")))
        for one, kind in zip(cases, kinds, strict=False)
    ]
    run = Run([*pairs, *((one, said(one, "answer")) for one in cases[3:])])
    assert run.scores["errors_by_kind"] == {"blocked": 2, "truncated": 1}
    assert (run.scores["errors"], run.scores["evaluated"]) == (3, 5)
    assert run.scores["exact_match_rate"] == 0.4
    without = [{**row, "failure": None} for row in run.rows]
    assert run.referee.score(without).scores["errors_by_kind"] == {"error": 3}
    assert run_of(*TITLES).scores["errors_by_kind"] == {}


def test_what_a_failed_attempt_left_behind_does_not_score():
    one = case(0, "s", "right")
    attempt = Attempt(id="e1", output="right", failure=Failure(kind="hook", message="no"))
    run = Run([(one, attempt), (case(1, "t", "u"), said(case(1, "t", "u"), "u"))])
    assert run.scores["exact_match_rate"] == 0.5
    assert run.referee.score(run.rows) == run.report


def test_entries_without_reference_or_source_do_not_count():
    good, bare, void = (
        case(0, "a b c d", "a b c d"),
        case(1, "x", ["\u00a0\f"], problem="no reference"),
        case(2, " ", "y", problem="empty source"),
    )
    run = Run([(good, said(good, "a b c d")), (bare, said(bare, "x")), (void, failed(void))])
    assert (run.scores["chrf_plus_plus"], run.scores["bleu"], run.scores["ter"]) == (100, 100, 0)
    counts = ("total", "evaluated", "n_no_reference", "n_invalid", "errors")
    assert [run.scores[key] for key in counts] == [3, 1, 1, 1, 0]
    assert run.statistics[1:] == [{}, {}]
    for row, status in zip(run.rows[1:], ("no_reference", "invalid"), strict=True):
        assert row["status"] == status
        assert row["entry_chrf"] is row["exact_match"] is None
    assert set(run.rows[1]["metric_reasons"].values()) == {"no reference"}
    assert run.grades[2].words == "not scored: empty source"


def test_composed_and_decomposed_letters_are_the_same():
    triples = [
        (
            "It shines a lot",
            "Beaivváš báitá čáppát",
            unicodedata.normalize("NFD", "Beaivváš báitá čáppát"),
        ),
        ("ten units long now", "10 \u212b dá dál", "10 Å dá dál"),
    ]
    run = run_of(*triples)
    assert (run.scores["chrf_plus_plus"], run.scores["bleu"], run.scores["ter"]) == (100, 100, 0)
    assert [row["exact_match"] for row in run.rows] == [True, True]
    assert run.rows[0]["predicted"] == triples[0][2]
    assert all("unicode:NFC" in run.report.signatures[name] for name in ("bleu", "ter", "chrf"))
    raw = run_of(*triples, scoring=Scoring(normalization="none", n_bootstrap=20))
    expected = corpus([output for *_, output in triples], [refs for _, refs, _ in triples])
    assert {name: raw.scores[name] for name in expected} == expected
    assert raw.rows[0]["exact_match"] is False
    assert "unicode:none" in raw.report.signatures["bleu"]


def test_a_carriage_return_would_be_seen():
    clean, dirty = (
        run_of(("Good day", "Buorre beaivi", "Buorre beaivi")),
        run_of(("Good day", "Buorre beaivi", "Buorre beaivi\r")),
    )
    assert (clean.rows[0]["exact_match_strict"], dirty.rows[0]["exact_match_strict"]) == (
        True,
        False,
    )


def test_line_feeds_and_tabs_are_one_segment():
    text = "Vuosttaš linnjá\nNubbi linnjá\ttabuin"
    run = run_of(("a\nb", text, text), ("c", "goalmmát", "goalmmát"))
    assert [run.rows[0][key] for key in ("entry_chrf", "bleu_score", "predicted")] == [
        100,
        100,
        text,
    ]


def test_several_references():
    triples = [
        ("a", ["Giitu", "Giitu dutnje"], "Giitu dutnje"),
        ("b", ["Ii leat mihkkege das"], "Ii leat das"),
        ("c", ["Bures", "Bures dearvan", "Dearvva"], "Dearvva du"),
    ]
    run = run_of(*triples)
    outputs = [output for *_, output in triples]
    streams = [
        ["Giitu", "Ii leat mihkkege das", "Bures"],
        ["Giitu dutnje", None, "Bures dearvan"],
        [None, None, "Dearvva"],
    ]
    for name, metric in (("chrf_plus_plus", CHRF(word_order=2)), ("bleu", BLEU()), ("ter", TER())):
        assert run.scores[name] == round(metric.corpus_score(outputs, streams).score, 2), name
    assert run.rows[0]["references"] == triples[0][1]
    assert "references" not in run.rows[1]
    assert "nrefs:var" in run.report.signatures["chrf"]
    assert run.referee.score(run.rows) == run.report


def test_one_entry_has_no_interval_and_says_why():
    run = run_of(("s", "Mun boađán ihttin.", "Mun boađán odne"))
    expected = CHRF(word_order=2).corpus_score(["Mun boađán odne"], [["Mun boađán ihttin."]]).score
    assert run.scores["chrf_plus_plus"] == round(expected, 2)
    assert run.scores["confidence_intervals"]["chrf_plus_plus"] is None
    assert run.report.availability["confidence_intervals.chrf_plus_plus"] == "n < 2"
    assert run.scores["evaluated"] == 1


def test_the_interval_belongs_to_the_score():
    run = run_of(*TITLES * 3)
    for name in ("chrf_plus_plus", "bleu", "ter", "exact_match_rate", "length_ratio"):
        interval = run.scores["confidence_intervals"][name]
        assert round(interval["score"], 2) == round(run.scores[name], 2)
        assert interval["ci_lower"] <= interval["score"] <= interval["ci_upper"]
        assert (interval["n_entries"], interval["seed"], interval["n_bootstrap"]) == (12, 12345, 50)


def test_intervals_by_difficulty_from_five_entries_on():
    cases = [case(i, f"s{i}", f"r {i} x", difficulty=1 + i % 2) for i in range(12)]
    cases += [case(12, "s12", "r 12", difficulty=3), case(13, "s13", "r 13", difficulty="hard")]
    run = Run([(one, said(one, f"r {one.index} y")) for one in cases])
    tiers = run.scores["confidence_intervals_by_tier"]
    assert set(tiers) == {"1", "2"}
    for found in tiers.values():
        assert {"chrf_plus_plus", "exact_match_rate", "ter", "hallucination_rate"} <= set(found)
        assert all(one["n_entries"] for one in found.values())
    assert [tiers[tier]["chrf_plus_plus"]["seed"] for tier in "12"] == [12346, 12347]
    assert list(run.scores["by_difficulty"]) == ["1", "2", "3", "hard"]
    alone = Run([(one, said(one, "r")) for one in cases[:12:2]])
    assert alone.scores["confidence_intervals_by_tier"] == {}


def test_breakdowns_are_corpus_scores_of_their_part():
    cases = [
        case(i, f"s{i}", ref, domain="ui" if i % 2 else "news")
        for i, (_, ref, _) in enumerate(TITLES)
    ]
    cases[3] = case(3, "s3", TITLES[3][1])
    run = Run(
        [(one, said(one, TITLES[one.index][2])) for one in cases[:3]]
        + [(cases[3], failed(cases[3]))]
    )
    parts = run.scores["by_domain"]
    assert list(parts) == ["news", "ui", "(none)"]
    expected = corpus([TITLES[0][2], TITLES[2][2]], [TITLES[0][1], TITLES[2][1]])
    assert {name: parts["news"][name] for name in expected} == expected
    assert (parts["news"]["n"], parts["news"]["exact_match_rate"]) == (2, 0.5)
    assert (parts["(none)"]["n"], parts["(none)"]["errors"]) == (1, 1)
    assert run.scores["by_register"] == {}


@pytest.mark.parametrize("statuses", ["ok", "mixed"])
def test_scoring_rows_again_gives_the_same_report(statuses):
    cases = [case(i, src, ref, difficulty=i % 3) for i, (src, ref, _) in enumerate(TITLES * 6)]
    pairs = [(one, said(one, TITLES[one.index % 4][2])) for one in cases]
    if statuses == "mixed":
        pairs[5] = (cases[5], failed(cases[5]))
        bare = case(24, "s", [], problem="no reference")
        pairs.append((bare, said(bare, "x")))
    run = Run(pairs)
    assert run.referee.score(run.rows) == run.report
    assert run.kind.referee_for_card(run.card()).score(run.rows) == run.report
    # Statistics that got lost are made again from the texts.
    lost = [{} if i % 2 else one for i, one in enumerate(run.statistics)]
    assert run.referee.score(run.rows, lost) == run.report


def test_rows_can_be_graded_again():
    cases = [case(i, src, ref) for i, (src, ref, _) in enumerate(TITLES)]
    pairs = [(one, said(one, TITLES[one.index][2])) for one in cases]
    pairs[1] = (cases[1], failed(cases[1]))
    bare = case(4, "s", [], problem="no reference")
    run = Run([*pairs, (bare, said(bare, "x"))])
    again = list(run.referee.regrade(run.rows))
    assert [{**row, **fresh} for row, fresh in zip(run.rows, again, strict=True)] == run.rows
    assert "entry_chrf" in again[4]
    changed = list(run.referee.regrade([{**run.rows[0], "predicted": "Mun"}]))
    assert changed[0]["entry_chrf"] < 100 == again[0]["entry_chrf"]


def test_rows_and_statistics_that_do_not_match():
    run = run_of(*TITLES)
    with pytest.raises(ValueError, match="3 statistics for 4 rows"):
        run.referee.score(run.rows, run.statistics[:3])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(range(8)), min_size=8, max_size=8), st.integers(1, 8))
def test_batches_do_not_change_a_report(outputs, batch):
    cases = [case(i, f"s {i}", f"answer number {i} is here") for i in range(8)]
    pairs = [(one, said(one, f"answer number {outputs[one.index]} is there")) for one in cases]
    scoring = Scoring(n_bootstrap=10)
    assert Run(pairs, scoring, batch=batch).report == Run(pairs, scoring, batch=8).report


def test_nothing_to_score():
    bare = case(0, "s", [], problem="no reference")
    for run in (Run([]), Run([(bare, said(bare, "x"))])):
        assert run.scores["chrf_plus_plus"] is None
        assert run.report.availability["chrf_plus_plus"] == "nothing to score"
        assert run.report.caveats == []


def test_every_null_of_the_scores_has_a_reason():
    for run in (
        Run([]),
        run_of(*TITLES),
        run_of(*TITLES, scoring=Scoring(metrics=(), intervals=False)),
    ):
        nulls = {key for key, value in run.scores.items() if value is None}
        assert nulls <= set(run.report.availability)
        assert "comet_score" in nulls


def test_selected_metrics_only():
    run = run_of(*TITLES, scoring=Scoring(metrics=("bleu",), n_bootstrap=20))
    assert run.scores["bleu"] is not None
    assert run.scores["chrf_plus_plus"] is None
    assert run.report.availability["chrf_plus_plus"] == "not selected"
    assert run.report.headline == "bleu"
    assert set(run.statistics[0]) == {"bleu"}
    assert run.rows[0]["entry_chrf"] is None
    assert run.grades[0].words.startswith("BLEU ")
    none = run_of(*TITLES, scoring=Scoring(metrics=()))
    assert none.report.headline is None
    assert none.grades[0].words == ""
    assert none.scores["evaluated"] == 4


def test_an_unknown_metric_lists_the_known():
    with pytest.raises(UsageError, match=r"no metric 'blue' \(known: chrf_plus_plus, chrf, bleu"):
        run_of(*TITLES, scoring=Scoring(metrics=("blue",)))


def same_ending(entry):
    return float(entry.output[-1:] == entry.references[0][-1:]) if entry.output else None


def with_metric(id="same_ending", function=same_ending):
    return TranslationKind(lambda: {id: mean_metric(id, function, scale="0-1")})


def test_a_contributed_metric_is_everywhere():
    run = run_of(*TITLES, kind=with_metric())
    assert run.scores["same_ending"] == round(1 / 3, 4)
    assert [row["plugin_metrics"]["same_ending"] for row in run.rows] == [1.0, 0.0, 0.0, None]
    assert run.rows[3]["metric_reasons"] == {"same_ending": "no value"}
    assert run.scores["confidence_intervals"]["same_ending"]["n_entries"] == 3
    assert (run.scores["same_ending_n_scored"], run.scores["same_ending_n_unscored"]) == (3, 1)
    assert run.report.directions["same_ending"] == "higher"
    assert run.referee.score(run.rows) == run.report


def test_values_that_are_not_finite_never_reach_a_card():
    values = iter([0.8, float("nan"), float("inf")])
    run = run_of(*TITLES[:3], kind=with_metric("mine", lambda entry: next(values)))
    assert [row["plugin_metrics"]["mine"] for row in run.rows] == [0.8, None, None]
    assert run.rows[1]["metric_reasons"]["mine"] == "non-finite"
    assert run.scores["mine"] == 0.8
    assert (run.scores["mine_n_scored"], run.scores["mine_n_unscored"]) == (1, 2)
    strict(run.card())


def test_a_metric_that_is_not_installed_keeps_its_values():
    run = run_of(*TITLES, kind=with_metric())
    report = TranslationKind().referee_for_card(run.card()).score(run.rows)
    assert report.scores["same_ending"] == run.scores["same_ending"]
    assert list(report.stored) == ["same_ending"]
    assert report.scores["chrf_plus_plus"] == run.scores["chrf_plus_plus"]


def test_a_metric_sees_what_the_suite_has():
    seen = []
    kind = with_metric("look", lambda entry: seen.append(entry) or 1.0)
    one = case(
        0, "src", "ref", fields={"glossary": ["x"], "provenance": {"name": "n"}}, domain="ui"
    )
    Run([(one, Attempt(id="e1", output="cafe\u0301", raw_output="raw"))], kind=kind)
    entry = seen[0]
    assert (entry.id, entry.source, entry.output, entry.raw_output) == ("e1", "src", "café", "raw")
    assert entry.references == ("ref",)
    assert entry.fields["glossary"] == ["x"]
    assert (entry.fields["domain"], entry.fields["provenance"]) == ("ui", {"name": "n"})


@pytest.mark.parametrize("id", ["bleu", "total", "by_domain", "comet_score"])
def test_a_clash_with_a_score_is_an_error(id):
    with pytest.raises(ExtensionError, match=f"metric '{id}' has the name of a built-in score"):
        run_of(*TITLES, kind=with_metric(id))


def test_scripts_without_spaces_never_get_13a_in_silence():
    triples = [("I read", "ฉันอ่านหนังสือเล่มนี้", "ฉันอ่านหนังสือเล่มนั้น")] * 2
    run = run_of(*triples, code="")
    assert run.scores["bleu"] > 0
    assert run.report.signatures["bleu_tokenizer"].startswith("char: the references are in Thai")
    assert "tok:char" in run.report.signatures["bleu"]
    forced = run_of(*triples, code="tha", scoring=Scoring(bleu_tokenize="13a"))
    assert any("takes a Thai sentence" in line for line in forced.report.caveats)


def test_a_stored_card_is_scored_with_its_own_tokenizer():
    run = run_of(("I read", "日本語の本を読む", "日本語の本を買う"), code="jpn")
    card = run.card()
    card["dataset"]["languages"]["target_code"] = ""
    card["results"] = []
    again = run.kind.referee_for_card(card)
    report = again.score(run.rows)
    assert {name: report.scores[name] for name in IDS} == {name: run.scores[name] for name in IDS}
    assert report.signatures["bleu_tokenizer"] == run.report.signatures["bleu_tokenizer"]


@pytest.mark.parametrize("change", [{"config": {}}, {"dataset": {}}, {"config": {"scoring": 3}}])
def test_a_card_that_does_not_say_how_it_was_scored(change):
    with pytest.raises(CardError, match="does not say how it was scored"):
        TranslationKind().referee_for_card(run_of(*TITLES).card(**change))


def test_long_texts_are_cut_and_named():
    long = "sátni " * 5_000
    run = run_of(("s", "oanehis teaksta", long), ("t", "nubbi", "nubbi"))
    assert run.rows[0]["cut"] == ["chrf_plus_plus", "chrf", "bleu", "ter"]
    assert run.rows[1]["cut"] == []
    assert run.scores["n_cut"] == 1
    (line,) = [line for line in run.report.caveats if "first characters only" in line]
    assert "TER 2,000" in line
    assert line.endswith(": e1")
    assert run.rows[0]["length_ratio"] == round(len(long) / len("oanehis teaksta"), 4)


def test_words_of_a_grade():
    run = run_of(*TITLES)
    assert run.grades[0].words == "chrF++ 100.0"
    one = case(0, "s", "r")
    assert Run([(one, failed(one, "boom\x1b[2J"))]).grades[0].words == "error: boom\\e[2J"


def test_documents_are_drawn_whole_and_repeated_sources_are_not():
    cases = [
        case(i, f"s{i % 5}", f"vástádus nummir {i} dá lea", fields={"document": f"d{i // 4}"})
        for i in range(20)
    ]
    outputs = [f"vástádus {one.index} dá lea nu" for one in cases]
    alone = [one.model_copy(update={"hidden": {**one.hidden, "fields": {}}}) for one in cases]
    by_document = Run([(one, said(one, text)) for one, text in zip(cases, outputs, strict=True)])
    by_entry = Run([(one, said(one, text)) for one, text in zip(alone, outputs, strict=True)])
    one = by_document.scores["confidence_intervals"]["chrf_plus_plus"]
    other = by_entry.scores["confidence_intervals"]["chrf_plus_plus"]
    assert one["n_units"] == 5
    assert "n_units" not in other
    assert one["score"] == other["score"]
    assert (one["ci_lower"], one["ci_upper"]) != (other["ci_lower"], other["ci_upper"])
    assert by_document.scores["confidence_intervals"]["composite"]["n_units"] == 5


def test_a_suite_that_is_one_document_has_no_interval():
    cases = [case(i, f"s{i}", f"vástádus {i}", fields={"document": "d"}) for i in range(6)]
    run = Run([(one, said(one, f"vástádus {one.index} nu")) for one in cases])
    assert run.scores["confidence_intervals"]["chrf_plus_plus"] is None
    reasons = run.report.availability
    assert reasons["confidence_intervals.chrf_plus_plus"] == "all entries are in one cluster"
    assert reasons["detectable_difference"] == "the headline score does not vary"


@pytest.mark.parametrize(("right", "ends"), [(False, (0.0, 0.2775)), (True, (0.7225, 1.0))])
def test_a_rate_of_0_or_1_has_an_exact_interval_beside_the_documented_one(right, ends):
    cases = [case(i, f"s{i}", f"vástádus nummir {i}", difficulty=i % 2) for i in range(10)]
    run = Run(
        [(one, said(one, f"vástádus nummir {one.index}" if right else "ii")) for one in cases]
    )
    found = run.scores["confidence_intervals"]["exact_match_rate"]
    assert found["ci_width"] == 0
    assert found["exact"] == {"method": "wilson", "lower": ends[0], "upper": ends[1]}
    tier = run.scores["confidence_intervals_by_tier"]["1"]["exact_match_rate"]
    assert tier["exact"]["method"] == "wilson"
    assert "exact" not in run.scores["confidence_intervals"]["chrf_plus_plus"]


def test_every_composite_lies_in_its_own_interval():
    for seed in range(6):
        cases = [case(i, f"text {i}", f"dá lea teaksta nummir {i * 7}") for i in range(30)]
        outputs = [
            f"dá lea teaksta {'nummir' if (one.index + seed) % 3 else 'x'} {one.index * 7}"
            for one in cases
        ]
        run = Run([(one, said(one, text)) for one, text in zip(cases, outputs, strict=True)])
        found = run.scores["confidence_intervals"]["composite"]
        assert found["ci_lower"] <= run.scores["composite"] <= found["ci_upper"]
        assert found["score"] == run.scores["composite"]


def test_what_the_entries_can_show_follows_from_the_resamples():
    run = run_of(*TITLES * 10)
    found = run.scores["detectable_difference"]
    assert found["metric"] == "chrf_plus_plus"
    width = run.scores["confidence_intervals"]["chrf_plus_plus"]["ci_width"]
    assert found["difference"] == pytest.approx(2.8 * width / 3.92 * 0.6**0.5, rel=0.25)
