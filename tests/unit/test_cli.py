"""mt-eval: what it prints, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_mtarena import cli
from pytest_mtarena.card.store import read_json, write_card
from tests.unit.card.making import make_card
from tests.unit.results.cards import make_suite, spoilt, translation_card
from tests.unit.results.reports import write_report


@pytest.fixture
def stored(tmp_path):
    return write_card(make_card(), tmp_path, "card")


def test_a_missing_file_and_a_broken_card(tmp_path, capsys):
    assert cli.main(["verify", str(tmp_path / "no.json")]) == 2
    assert "no such file" in capsys.readouterr().err
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert cli.main(["verify", str(broken)]) == 1
    assert "does not hold" in capsys.readouterr().out
    assert cli.main(["card", str(broken)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_json_stands_alone_on_stdout(stored, capsys):
    code = cli.main(["verify", "--json", str(stored)])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [str(stored)]
    assert code == (1 if found[str(stored)] else 0)


def test_without_a_command_it_tells_how_and_exits_2(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 2


def test_only_run_passes_arguments_on(stored, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", str(stored), "--", "-x"])
    assert ended.value.code == 2
    assert "only run passes on" in capsys.readouterr().err


# -- cache ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limit",
    [
        *("--max-age-days=-1", "--max-age-days=nan", "--max-age-days=inf", "--max-age-days=x"),
        *("--max-bytes=-1", "--max-bytes=1e3", "--max-bytes=nan", "--max-bytes=" + "9" * 5000),
    ],
)
def test_limits_of_a_cache_that_are_none_are_refused(limit, tmp_path, capsys):
    kept = tmp_path / "ab" / f"{'a' * 64}.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    with pytest.raises(SystemExit) as ended:
        cli.main(["cache", f"--cache-dir={tmp_path}", "--prune", limit])
    assert ended.value.code == 2
    assert "0 or more" in capsys.readouterr().err
    assert kept.exists()


def test_a_pruning_says_what_it_could_not_remove(tmp_path, capsys):
    for name in ("ab", "cd"):
        (tmp_path / name).mkdir()
    (tmp_path / "ab" / f"{'a' * 64}.json").mkdir()
    (tmp_path / "cd" / f"{'c' * 64}.json").write_text("{}")
    code = cli.main(["cache", f"--cache-dir={tmp_path}", "--prune", "--max-age-days=0"])
    told = capsys.readouterr()
    assert code == 1
    assert told.out.startswith("removed 1 answers")
    assert "1 answer could not be removed (" in told.err
    assert len(told.err.splitlines()) == 1


# -- test -----------------------------------------------------------------------------------


def test_a_report_becomes_a_card_that_is_shown_and_holds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_report(tmp_path)
    assert cli.main(["test", "report.json", "--n-bootstrap=20"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "house/model-1 × eng-fra-small"
    assert out[-1].endswith("rescored-report.json")
    assert any(line.startswith("chrF++") for line in out)
    assert cli.main(["verify", "rescored-report.json"]) == 0
    assert cli.main(["test", "rescored-report.json", "-o", "deeper"]) == 0
    assert (tmp_path / "deeper" / "rescored-report.json").is_file()


def test_what_is_not_given_stays_as_the_run_had_it(tmp_path, capsys):
    report = write_report(tmp_path)

    def scoring(path, *args):
        code = cli.main(["test", "--json", str(path), "-o", str(tmp_path / "out"), *args])
        [told] = json.loads(capsys.readouterr().out)
        assert code == 0
        return told["card"], read_json(told["card"])["config"]["scoring"]

    first, told = scoring(
        report, "--metrics=bleu,ter", "--no-ci", "--bleu-tokenize=char", "--normalization=none"
    )
    wanted = {"metrics": ["bleu", "ter"], "intervals": False, "bleu_tokenize": "char"}
    wanted |= {"normalization": "none", "n_bootstrap": 1000}
    assert told == {**told, **wanted}
    second, told = scoring(first)
    assert told == {**told, **wanted}
    _, told = scoring(second, "--metrics=all", "--bleu-tokenize=auto", "--n-bootstrap=30")
    wanted |= {"metrics": None, "bleu_tokenize": None, "intervals": True, "n_bootstrap": 30}
    assert told == {**told, **wanted}


def test_a_missed_gate_is_a_line_and_exit_code_1(tmp_path, capsys):
    args = ["test", str(write_report(tmp_path)), "-o", str(tmp_path), "--metrics=bleu,ter"]
    assert cli.main([*args, "--fail-under=bleu=1", "--fail-under=ter=99"]) == 0
    capsys.readouterr()
    assert cli.main([*args, "--fail-under=bleu=99", "--fail-under=ter=1"]) == 1
    missed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert [line.split()[2] for line in missed] == ["bleu", "ter"]
    assert "at least 99 is asked for" in missed[0]
    assert "at most 1 is asked for" in missed[1]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--metrics=nothing_such", "there is no metric 'nothing_such'"),
        ("--normalization=NFD", "--normalization takes NFC or none"),
        ("--glossary=nowhere.tsv", "--glossary: no such file"),
        ("--bleu-tokenize=nonsense", "there is no BLEU tokenizer"),
        ("--fail-under=blue=3", "--fail-under blue: there is no such score"),
        ("--fail-under=length_ratio=1", "best at a target"),
    ],
)
def test_a_wish_that_cannot_be_met_writes_nothing(tmp_path, capsys, option, told):
    report, out = write_report(tmp_path), tmp_path / "out"
    assert cli.main(["test", str(report), "-o", str(out), option]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert told in line
    assert not out.exists()


def test_limits_of_items_are_not_for_stored_runs(tmp_path):
    with pytest.raises(SystemExit) as ended:
        cli.main(["test", str(write_report(tmp_path)), "--item-min=bleu=3"])
    assert ended.value.code == 2


def test_a_file_that_cannot_be_read_does_not_keep_the_others(tmp_path, capsys):
    bad = write_report(tmp_path, "bad.json", entries=[{"id": "x"}])
    good = write_report(tmp_path)
    journal = tmp_path / "x.journal.jsonl"
    journal.write_text("{}\n")
    files = [str(bad), str(tmp_path / "no.json"), str(journal), str(good)]
    assert cli.main(["test", *files, "-o", str(tmp_path / "out"), "--metrics=bleu"]) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert "entry 1" in lines[0]
    assert "no such file" in lines[1]
    assert lines[2] == f"ERROR: {journal}: is no journal of this version"
    assert len(lines) == 3
    assert "BLEU" in captured.out


def test_a_broken_seal_is_told_and_not_an_error(tmp_path, capsys):
    args = ["-o", str(tmp_path), "--metrics=bleu", "--no-ci"]
    cli.main(["test", str(write_report(tmp_path)), *args])
    path = tmp_path / "rescored-report.json"
    path.write_text(path.read_text().replace('"elapsed_seconds": 0', '"elapsed_seconds": 5'))
    capsys.readouterr()
    assert cli.main(["test", str(path), *args]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"WARNING: {path}: re-scored from a card whose seal does not")
    assert "seal does not hold" in captured.out
    assert "seal holds" in captured.out


# -- list -----------------------------------------------------------------------------------

PLUGIN = """
from pytest_mtarena import mean_metric
def mtarena_metrics():
    return {"shape": mean_metric("shape", len, scale="0-1", direction="lower")}
"""


def test_the_metrics_are_listed_with_what_they_need(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "160")
    plugin = tmp_path / "conftest.py"
    plugin.write_text(PLUGIN)
    assert cli.main(["list", "metrics", "-p", str(plugin)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == [*cli._COLUMNS, "needs"]
    rows = {line.split()[0]: line for line in lines if not line.startswith(" ")}
    assert rows["ter"].split()[1:5] == ["0", "and", "up", "lower"]
    assert "--mt-fst" in rows["fst_acceptance_rate"]
    assert rows["shape"].endswith("contributed")
    assert all(len(line) <= 160 for line in lines)


@pytest.mark.parametrize("width", [20, 40, 80, 119])
def test_no_line_of_the_list_is_wider_than_the_terminal(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    assert cli.main(["list", "metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert "chrf_plus_plus" in lines[0] or lines[0].startswith("id")


def test_the_list_for_machines(tmp_path, capsys):
    plugin = tmp_path / "conftest.py"
    plugin.write_text(PLUGIN)
    assert cli.main(["list", "metrics", "--json", "-p", str(plugin)]) == 0
    found = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["shape"]["contributed"]
    assert found["shape"]["direction"] == "lower"
    assert not found["bleu"]["contributed"]
    assert found["bleu"]["missing"] is None
    assert "--mt-fst" in found["fst_acceptance_rate"]["missing"]


def test_list_without_a_word_tells_what_there_is(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["list"])
    assert ended.value.code == 2
    assert "WHAT" in capsys.readouterr().err


# -- compare, significance, power -------------------------------------------------------------


# -- list models, prompts, methods, datasets --------------------------------------------------


def listed(capsys, *args):
    assert cli.main(["list", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_models_are_listed_with_what_they_cost(capsys):
    found = {one["alias"]: one for one in listed(capsys, "models")}
    assert found["claude-sonnet-4"]["input"] > 0
    assert found["claude-sonnet-4"]["output"] > found["claude-sonnet-4"]["input"]
    assert all(one["model"] for one in found.values())


def test_the_prompts_are_listed(capsys):
    assert {"naive", "custom"} <= {one["prompt"] for one in listed(capsys, "prompts")}


def test_a_broken_method_is_listed_with_what_is_wrong(tmp_path, capsys):
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "method.json").write_text(
        '{"name": "good", "class": "pipeline", "entry_point": "good:Good", "description": "copies"}'
    )
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "method.json").write_text("{")
    found = {
        Path(one["method"]).name: one for one in listed(capsys, "methods", "--dir", str(tmp_path))
    }
    assert found["bad"]["about"].startswith("broken: ")
    assert not found["good"]["about"].startswith("broken: ")


def test_the_suites_of_a_directory_are_listed_and_a_broken_one_says_why(tmp_path, capsys):
    (tmp_path / "good.tsv").write_text("a\tb\nc\td\n")
    (tmp_path / "bad.json").write_text('{"entries": [')
    found = {
        Path(one["file"]).name: one for one in listed(capsys, "datasets", "--dir", str(tmp_path))
    }
    assert found["good.tsv"]["entries"] == 2
    assert found["bad.json"]["suite"].startswith("broken: ")
    assert cli.main(["list", "datasets", "--dir", str(tmp_path / "no")]) == 2
    assert "there is no directory" in capsys.readouterr().err


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The files of two runs, the second worse, and of one on another suite."""
    directory = tmp_path_factory.mktemp("runs")
    suite, other = make_suite(24), make_suite(30)
    cards = {
        "good": translation_card(suite, spoilt(suite, 8), "good"),
        "bad": translation_card(suite, spoilt(suite, 2, 4), "bad"),
        "other": translation_card(other, spoilt(other, 8), "other", suite="other"),
    }
    return {name: str(write_card(card, directory, name)) for name, card in cards.items()}


def test_compare_exits_1_only_for_worse_and_only_when_asked(runs, capsys):
    args = ["compare", "--resamples=300"]
    assert cli.main([*args, runs["good"], runs["bad"]]) == 0
    out = capsys.readouterr().out
    assert out.startswith("A  method/echo@12345678  good  ")
    assert " worse" in out
    assert cli.main([*args, "--fail-on-difference", runs["good"], runs["bad"]]) == 1
    assert cli.main([*args, "--fail-on-difference", runs["bad"], runs["good"]]) == 0
    assert cli.main([*args, "--fail-on-difference", runs["good"], runs["good"]]) == 0


def test_compare_of_other_suites_is_one_line_and_exit_code_2(runs, capsys):
    assert cli.main(["compare", runs["good"], runs["other"]]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    [line] = told.err.splitlines()
    assert "different suites" in line
    assert "--shared compares the 24 entries" in line
    assert cli.main(["compare", "--shared", "--resamples=300", runs["good"], runs["other"]]) == 0
    assert "left out: 6 only in B" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["compare", "{good}"], "two run cards or more"),
        (["compare", "{good}", "nowhere.json"], "nowhere.json: cannot be read"),
        (["compare", "--primary=blue", "{good}", "{bad}"], "there is no such metric"),
        (["significance", "--metric=blue", "{good}", "{bad}"], "there is no such metric"),
        (["significance", "{good}", "{other}"], "different suites"),
        (["power", "{good}", "{bad}", "{good}"], "one run card or two"),
        (["power", "--metric=blue", "{good}"], "there is no such metric"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_one_line(runs, capsys, args, told):
    assert cli.main([arg.format(**runs) for arg in args]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert told in line


@pytest.mark.parametrize("value", ["0", "-1", "many", "1e3", "9999999999", "\u0663"])
def test_resamples_is_a_number(runs, value):
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", f"--resamples={value}", runs["good"], runs["bad"]])
    assert ended.value.code == 2


def test_compare_as_json(runs, capsys):
    args = ["compare", "--json", "--resamples=300", "--primary=ter"]
    assert cli.main([*args, runs["good"], runs["bad"], runs["good"]]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["primary"] == "ter"
    assert [one["letter"] for one in told["systems"]] == ["B", "C"]
    first = told["systems"][0]["metrics"][0]
    assert (first["metric"], first["verdict"]) == ("ter", "worse")
    assert first["resamples"] == 300
    assert first["p_holm"] >= first["p_value"]


def test_significance_is_one_line_a_metric(runs, capsys):
    args = ["significance", runs["good"], runs["bad"], "--resamples=300"]
    assert cli.main(args) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("exact ") and "McNemar, exact" in line for line in lines)
    assert cli.main([*args, "--metric=bleu", "--metric=ter", "--json"]) == 0
    tests = json.loads(capsys.readouterr().out)["tests"]
    assert [one["metric"] for one in tests] == ["bleu", "ter"]
    assert [one["resamples"] for one in tests] == [300, 300]


def test_the_method_and_the_seed_can_be_chosen(runs, capsys):
    args = ["significance", runs["good"], runs["bad"], "--metric=bleu", "--json"]

    def test(*more):
        assert cli.main([*args, *more]) == 0
        [found] = json.loads(capsys.readouterr().out)["tests"]
        return found

    randomized = test("--seed=7", "--resamples=200")
    assert (randomized["seed"], randomized["resamples"]) == (7, 200)
    assert randomized["p"] == randomized["p_value"]
    drawn = test("--method=bootstrap", "--resamples=200")
    assert drawn["replicates"] == 200
    assert drawn["by"] == "paired bootstrap"
    assert drawn["p"] == drawn["p_bootstrap"]
    assert (
        test("--method=bootstrap", "--resamples=200", "--seed=8")["ci_lower"] != drawn["ci_lower"]
    )


def test_power_is_a_sentence(runs, capsys):
    assert cli.main(["power", runs["good"], "--metric=ter", "--metric=bleu"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("this suite of 24 entries can see a difference of") == 2
    assert cli.main(["power", runs["good"], runs["bad"], "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["power"]
    assert one["metric"] == "chrf_plus_plus"
    assert one["difference"] > 0


# -- run ------------------------------------------------------------------------------------

PAGE = """\
--corpus
--source-file
--reference-file
--model gemini-pro
--dataset all
--ids
--source-lang English
--target-lang
--prompt naive
--coaching-file
--coaching
--method
--method-card
--fst-retries 0
--skip-fst
--tools
--tools-list
--max-tool-rounds 8
--hooks
--style-profile
--batch-size 25
--concurrency 8
--max-tokens 32768
--temperature 0.0
--no-cache
--cache-dir eval/cache/harness
--output-dir eval/logs/harness
--name
--dry-run
--champollion-config
--champollion-cards-dir
--target-lang-code
"""


def test_the_flags_of_run_stand_in_the_documented_order_with_their_defaults(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    _, _, first = capsys.readouterr().out.partition("The run:\n")
    told = first.partition("\n\n")[0]
    shown = []
    for flags, about in re.findall(r"^  (-.*?)(?:  +|\n +)(\S.*)$", told, re.MULTILINE):
        name = flags.split(", -")[-1].split(" ")[0].lstrip("-")
        _, _, default = about.partition("(default: ")
        shown.append(f"--{name} {default.rstrip(')')}".strip())
    assert shown == PAGE.splitlines()


def test_without_a_contestant_run_takes_the_default_model():
    parsed = cli.make_parser().parse_args(["run", "suite.tsv"])
    parsed.passed_on = []
    assert cli.pytest_arguments(parsed) == ["suite.tsv", "--mt-model=gemini-pro"]
    parsed = cli.make_parser().parse_args(["run", "suite.tsv", "--method=m", "--temperature=0.0"])
    parsed.passed_on = []
    assert cli.pytest_arguments(parsed) == [
        "suite.tsv", "--mt-method=m", "--mt-temperature=0.0",
    ]  # fmt: skip


def test_flags_without_a_command_are_those_of_run(monkeypatch):
    called = []
    monkeypatch.setattr(cli, "run", lambda chosen: called.append(chosen) or 0)
    assert cli.main(["--corpus", "suite.tsv", "-m", "a/b"]) == 0
    assert (called[0].command, called[0].mt_corpus, called[0].mt_model) == (
        "run", ["suite.tsv"], ["a/b"],
    )  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0


@pytest.mark.parametrize("command", ["publish", "dashboard"])
@pytest.mark.parametrize("more", [[], ["card.json", "--api-url", "x", "-o", "y"]])
def test_a_documented_command_that_is_not_there_yet_says_so(capsys, command, more):
    assert cli.main([command, *more]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ERROR: mt-eval {command} is not there yet")
