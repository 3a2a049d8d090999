"""The options: values are checked where they are given, in pytest and in mt-eval alike."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pytest_mtarena import cli
from pytest_mtarena.errors import UsageError
from pytest_mtarena.plugin import options
from pytest_mtarena.plugin.options import OPTIONS, describe
from pytest_mtarena.plugin.settings import read_settings

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (options.parse_count, "25", 25),
        (options.parse_seconds, "0.5", 0.5),
        (options.parse_temperature, "0", 0.0),
        (options.parse_names, "a, b,,c", ("a", "b", "c")),
        (options.parse_metrics, "none", ()),
        (options.parse_metrics, "bleu", ("bleu",)),
        (options.parse_limit, "chrf=45.5", ("chrf", 45.5)),
        (options.parse_assignment, "file=a=b", ("file", "a=b")),
        (options.parse_shard, "2/5", (2, 5)),
    ],
)
def test_good_values(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (options.parse_count, "0"),
        (options.parse_count, "1.5"),
        (options.parse_seconds, "nan"),
        (options.parse_seconds, "inf"),
        (options.parse_seconds, "0"),
        (options.parse_temperature, "-0.1"),
        (options.parse_names, " , "),
        (options.parse_names, "a,a"),
        (options.parse_limit, "=3"),
        (options.parse_limit, "bleu=x"),
        (options.parse_assignment, "novalue"),
        (options.parse_shard, "0/2"),
        (options.parse_shard, "2"),
        (options.parse_shard, "²/5"),
    ],
)
def test_bad_values_are_told_with_the_value(parse, text):
    with pytest.raises(argparse.ArgumentTypeError) as told:
        parse(text)
    assert text in str(told.value)


def given(**changes):
    defaults = {option.dest: option.keywords["default"] for option in OPTIONS}
    return argparse.Namespace(**{**defaults, **changes})


def test_paths_are_taken_from_the_directory_of_the_call(tmp_path):
    settings = read_settings(given(mt_output_dir="cards", mt_corpus=["a/../b"]), tmp_path)
    assert settings.output_dir == tmp_path / "cards"
    assert settings.method_args == {}


def test_an_option_of_the_method_given_twice_is_a_mistake(tmp_path):
    with pytest.raises(UsageError, match="--mt-method-arg k is given twice"):
        read_settings(given(mt_method_arg=[("k", "1"), ("k", "2")]), tmp_path)


def test_mt_eval_run_says_the_same_to_pytest():
    line = (
        "run s.json --method m -b 3 --hooks a,b --fail-under bleu=3 --fail-under ter=9 "
        "--dry-run -d all --method-arg k=v=w -v"
    )
    chosen = cli.make_parser().parse_args(line.split())
    chosen.passed_on = ["-n", "2"]
    assert cli.pytest_arguments(chosen) == [
        "s.json",
        "--mt-method=m",
        "--mt-method-arg=k=v=w",
        "--mt-hooks=a,b",
        "--mt-dataset=all",
        "--mt-batch-size=3",
        "--mt-dry-run",
        "--mt-fail-under=bleu=3",
        "--mt-fail-under=ter=9",
        "-v",
        "-n",
        "2",
    ]


def test_mt_eval_checks_values_and_exits_2(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.make_parser().parse_args(["run", "--batch-size", "0"])
    assert ended.value.code == 2
    assert "takes a whole number from 1" in capsys.readouterr().err


def test_every_option_has_a_help_without_a_full_stop_and_a_group():
    for option in OPTIONS:
        assert option.help
        assert not option.help.endswith(".")
        assert option.group in options.GROUPS


def test_the_page_of_options_is_up_to_date():
    assert (ROOT / "docs/options.md").read_text(encoding="utf-8") == describe()
