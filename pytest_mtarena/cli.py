"""``mt-eval``: commands over stored run cards, and ``run``, which calls pytest.

Exit codes: 0 fine, 1 a difference or a missed gate, 2 a mistake in what was asked. ``run`` exits
with pytest's own code.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mtarena import __version__
from pytest_mtarena.errors import ArenaError, CardError, ResumeError, UsageError
from pytest_mtarena.plugin.options import (
    DEFAULT_CACHE_DIR,
    DEFAULT_SUITES,
    GROUPS,
    OPTIONS,
    Option,
    describe,
)

if TYPE_CHECKING:
    from pytest_mtarena.registry import Registry
    from pytest_mtarena.results.pairing import Side
    from pytest_mtarena.results.rescore import Changes, Source

FINE, DIFFERENT, USAGE = 0, 1, 2

_OF_ALL = ("-h", "--help", "--version")
"""What may stand before a command; other flags without a command are those of ``run``."""
_NOT_YET = {
    "publish": "submit a run card to a leaderboard",
    "dashboard": "make an HTML page of run cards",
}
"""Documented commands that are not there yet."""
_SHOWN = 50
"""Differences of a card that are shown to a person."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    passed_on: list[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, passed_on = arguments[:at], arguments[at + 1 :]
    if arguments and arguments[0].startswith("-") and arguments[0] not in _OF_ALL:
        arguments = ["run", *arguments]
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    if passed_on and chosen.command != "run":
        parser.error(f"only run passes on what follows --, {chosen.command} does not")
    chosen.passed_on = passed_on
    command: Callable[[argparse.Namespace], int] = chosen.function
    try:
        return command(chosen)
    except ArenaError as error:
        for line in str(error).splitlines():
            print(f"ERROR: {line}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        sys.stderr.close()
        return FINE


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="mt-eval", description="Evaluation as test suites: run, read and check run cards."
    )
    parser.add_argument("--version", action="version", version=f"mt-eval {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands)
    verify = _add(
        commands, "verify", verify_cards, "recompute seal, fingerprint and every number of cards"
    )
    verify.add_argument("cards", nargs="+", metavar="CARD", type=Path)
    show = _add(commands, "card", show_cards, "print cards for a person")
    show.add_argument("cards", nargs="+", metavar="CARD", type=Path)
    show.add_argument("-v", "--verbose", action="count", default=0, help="all breakdowns")
    show.add_argument("-q", "--quiet", action="count", default=0, help="the headline only")
    merge = _add(commands, "merge", merge_cards, "join the shards of a run into one card")
    merge.add_argument("cards", nargs="+", metavar="CARD", type=Path)
    merge.add_argument(
        "-o", "--output-dir", metavar="DIR", type=Path, help="where to write; default: here"
    )
    _add_test(commands)
    _add_comparing(commands)
    _add_list(commands)
    _add_export(commands)
    cache = commands.add_parser("cache", help="look at, or prune, the answers of models")
    cache.add_argument("--cache-dir", metavar="DIR", type=Path, default=Path(DEFAULT_CACHE_DIR))
    cache.add_argument("--stats", action="store_true", help="say what is there (the default)")
    cache.add_argument("--prune", action="store_true", help="remove what the limits leave no room")
    cache.add_argument("--max-age-days", metavar="N", type=_days)
    cache.add_argument("--max-bytes", metavar="N", type=_bytes)
    cache.add_argument("--json", action="store_true", help="the same for machines, on stdout")
    cache.set_defaults(function=look_after_cache)
    for name, what in _NOT_YET.items():
        lacking = commands.add_parser(name, help=f"not there yet: {what}", prefix_chars="\0")
        lacking.add_argument("anything", nargs="*", help=argparse.SUPPRESS)
        lacking.set_defaults(function=not_there_yet)
    options = commands.add_parser("options", help="print docs/options.md")
    options.set_defaults(function=print_options)
    return parser


def not_there_yet(chosen: argparse.Namespace) -> int:
    """Say that a documented command does not exist yet."""
    raise UsageError(
        f"mt-eval {chosen.command} is not there yet; mt-eval card and mt-eval compare show run "
        "cards, mt-eval verify checks them"
    )


def _add(
    commands: Any, name: str, function: Callable[[argparse.Namespace], int], what: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=what, description=what)
    parser.set_defaults(function=function)
    parser.add_argument("--json", action="store_true", help="the same for machines, on stdout")
    parser.add_argument(
        "-p",
        dest="plugins",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module or Python file with hooks of mtarena, such as conftest.py; repeatable",
    )
    return parser


def _registry(chosen: argparse.Namespace) -> Registry:
    """Return the registry with the plug-ins that were named."""
    from pytest_mtarena.registry import make_registry

    return make_registry([_module(name) for name in chosen.plugins])


def _module(name: str) -> object:
    path = Path(name)
    try:
        if path.suffix != ".py":
            return importlib.import_module(name)
        if not path.is_file():
            raise UsageError(f"-p {name}: no such file")
        spec = importlib.util.spec_from_file_location(f"mtarena_plugin_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module.__name__] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except Exception as error:  # whatever a foreign module raises, the user is told whose
        raise UsageError(f"-p {name}: {type(error).__name__}: {error}") from error
    return module


# -- run ------------------------------------------------------------------------------------


FIRST = (
    *("corpus", "source-file", "reference-file", "model", "dataset", "ids"),
    *("source-lang", "target-lang", "prompt", "coaching-file", "coaching", "method"),
    *("method-card", "fst-retries", "skip-fst", "tools", "tools-list", "max-tool-rounds"),
    *("hooks", "style-profile", "batch-size", "concurrency", "max-tokens", "temperature"),
    *("no-cache", "cache-dir", "output-dir", "name", "dry-run"),
    *("champollion-config", "champollion-cards-dir", "target-lang-code"),
)
"""The options of ``run`` that are shown first, in this order: those that other harnesses have."""
DEFAULT_MODEL = "gemini-pro"
"""The model that ``run`` evaluates when nothing says who is evaluated."""
_SAID = {"model": DEFAULT_MODEL, "prompt": "naive", "source-lang": "English"}
"""Defaults that stand in no option: pytest without a contestant is an ordinary session, and
English is only what a model is told where a suite names no language."""


def _add_run(commands: Any) -> None:
    what = "evaluate methods and models; pytest runs them, and what follows -- goes to pytest"
    parser: argparse.ArgumentParser = commands.add_parser("run", help=what, description=what)
    parser.set_defaults(function=run)
    parser.add_argument("paths", nargs="*", metavar="SUITE", help="suite files or directories")
    by_name = {option.name: option for option in OPTIONS}
    sections = {"The run": [by_name[name] for name in FIRST]}
    for key, title in GROUPS.items():
        sections[f"{title}, further"] = [
            option for option in OPTIONS if option.group == key and option.name not in FIRST
        ]
    for title, options in sections.items():
        group = parser.add_argument_group(title)
        for option in options:
            keywords = dict(option.keywords)
            keywords["default"] = None
            default = _SAID.get(option.name, option.default)
            if default is not None and default is not False and default != ():
                keywords["help"] = f"{option.help} (default: {default})"
            if option.parse is not None:
                keywords["type"] = _checked(option)
            group.add_argument(*option.run_flags, dest=option.dest, **keywords)
    output = parser.add_argument_group("Output")
    output.add_argument("-v", "--verbose", action="count", default=0, help="say more")
    output.add_argument("-q", "--quiet", action="count", default=0, help="say less")


def _checked(option: Option) -> Callable[[str], str]:
    """Check a value here, where the message can name the flag, and pass it on as it came."""
    parse = option.parse
    assert parse is not None

    def check(text: str) -> str:
        parse(text)
        return text

    return check


def pytest_arguments(chosen: argparse.Namespace) -> list[str]:
    """Return pytest's command line for a chosen ``run``."""
    arguments = list(chosen.paths)
    if not (chosen.mt_method or chosen.mt_model or chosen.mt_champollion_config):
        chosen.mt_model = [DEFAULT_MODEL]
    for option in OPTIONS:
        value = getattr(chosen, option.dest)
        if value is None or value is False:
            continue
        if option.flag:
            arguments.append(option.pytest_flag)
        else:
            values = value if isinstance(value, list) else [value]
            arguments += [f"{option.pytest_flag}={each}" for each in values]
    arguments += ["-v"] * chosen.verbose + ["-q"] * chosen.quiet
    return [*arguments, *chosen.passed_on]


def run(chosen: argparse.Namespace) -> int:
    """Call pytest with the same meaning, in a process of its own: it rewrites what it imports."""
    child = subprocess.Popen([sys.executable, "-m", "pytest", *pytest_arguments(chosen)])
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # pytest got it, too, and ends in good order
            continue


# -- stored cards ---------------------------------------------------------------------------


def verify_cards(chosen: argparse.Namespace) -> int:
    """Check cards; exit 1 when anything differs."""
    from pytest_mtarena.card.store import read_card
    from pytest_mtarena.results.verify import absent_metrics, verify
    from pytest_mtarena.text import printable

    registry = _registry(chosen)
    found: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for path in chosen.cards:
        if not path.is_file():
            what = "is a directory, not a card" if path.is_dir() else "no such file"
            raise UsageError(f"{path}: {what}")
        try:
            card = read_card(path)
            found[str(path)] = verify(card, registry)
            notes[str(path)] = absent_metrics(card, registry) if not found[str(path)] else []
        except CardError as error:  # a card that cannot be read does not hold either
            found[str(path)] = [str(error)]
    if chosen.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        for path, differences in found.items():
            print(printable(f"{path}: {'ok' if not differences else 'does not hold'}"))
            for line in differences[:_SHOWN]:
                print(printable(f"  {line}"))
            if len(differences) > _SHOWN:
                print(f"  and {len(differences) - _SHOWN} more (--json shows all)")
            for name in notes.get(path, ()):
                print(printable(f"  note: {name} is not installed here: its values are as stored"))
    return DIFFERENT if any(found.values()) else FINE


def show_cards(chosen: argparse.Namespace) -> int:
    """Print cards."""
    from pytest_mtarena.card.store import read_card
    from pytest_mtarena.results.show import show

    cards = [read_card(path) for path in chosen.cards]
    if chosen.json:
        print(json.dumps(cards, ensure_ascii=False, indent=2))
        return FINE
    width = shutil.get_terminal_size((100, 24)).columns
    registry = _registry(chosen)
    for number, card in enumerate(cards):
        lines = show(card, chosen.verbose - chosen.quiet, width, registry=registry)
        print("\n".join(["", *lines] if number else lines))
    return FINE


def merge_cards(chosen: argparse.Namespace) -> int:
    """Join shards; write the whole card and say where."""
    from pytest_mtarena.card.store import read_card, write_card
    from pytest_mtarena.results.merge import merge

    card = merge([read_card(path) for path in chosen.cards], _registry(chosen))
    stem = f"merged-{card['dataset']['id']}-{card['run_id'][:8]}"
    path = write_card(card, chosen.output_dir or Path.cwd(), stem)
    if chosen.json:
        print(json.dumps({"card": str(path), "complete": card["complete"]}))
    else:
        print(path)
    return FINE if card["complete"] else DIFFERENT


# -- scoring again --------------------------------------------------------------------------


def _add_test(commands: Any) -> None:
    test = _add(
        commands,
        "test",
        rescore_runs,
        "score stored runs again, with the metrics of today, and write a new card of each",
    )
    test.add_argument(
        "runs",
        nargs="+",
        metavar="FILE",
        type=Path,
        help="a run card, a journal, or a report of the MT Eval Arena's harness",
    )
    test.add_argument(
        "-o", "--output-dir", metavar="DIR", type=Path, help="where to write; default: here"
    )
    test.add_argument(
        "--check",
        action="store_true",
        help="compare every score and interval that reports hold with those of their entries, "
        "and write nothing",
    )
    test.add_argument("-v", "--verbose", action="count", default=0, help="all breakdowns")
    test.add_argument("-q", "--quiet", action="count", default=0, help="the headline only")
    group = test.add_argument_group(
        "Scores and gates",
        "What is not given stays as the run had it, except resources, which are those of now. "
        "--metrics=all and --bleu-tokenize=auto take back a choice of the run.",
    )
    for option in OPTIONS:
        # Limits for items need items.
        if option.group == "score" and option.name != "item-min":
            keywords = {**option.keywords, "default": None}
            group.add_argument(*option.run_flags, dest=option.dest, **keywords)


def rescore_runs(chosen: argparse.Namespace) -> int:
    """Score stored runs again; exit 1 when a gate is missed, 2 when a file cannot be read."""
    from pytest_mtarena.card.gates import missed_gates
    from pytest_mtarena.card.store import write_card
    from pytest_mtarena.results.rescore import rescore
    from pytest_mtarena.results.show import show
    from pytest_mtarena.text import printable

    if chosen.check:
        return _check_reports(chosen)
    registry, changes = _registry(chosen), _changes(chosen)
    limits = chosen.mt_fail_under or []
    width = shutil.get_terminal_size((100, 24)).columns
    told: list[dict[str, Any]] = []
    code = FINE
    for path in chosen.runs:
        try:
            for source in _sources(path):
                for warning in source.warnings:
                    print(printable(f"WARNING: {source.where}: {warning}"), file=sys.stderr)
                card = rescore(source, registry, changes, limits)
                stem = f"rescored-{path.name.partition('.')[0].removeprefix('rescored-')}"
                written = write_card(card, chosen.output_dir or Path.cwd(), stem)
                missed = missed_gates(card, limits)
                told.append(
                    {
                        "file": str(path),
                        "card": str(written),
                        "complete": card["complete"],
                        "scores": card["scores"],
                        "missed": missed,
                    }
                )
                if missed and code == FINE:
                    code = DIFFERENT
                if chosen.json:
                    continue
                verbosity = chosen.verbose - chosen.quiet
                lines = show(card, verbosity, width, registry=registry, where=str(written))
                lines += [printable(f"FAILED {gate}") for gate in missed]
                print("\n".join(["", *lines] if len(told) > 1 else lines))
        except CardError as error:  # of one file: the others are scored
            print(printable(f"ERROR: {error}"), file=sys.stderr)
            code = USAGE
    if chosen.json:
        print(json.dumps(told, ensure_ascii=False, indent=2))
    return code


def _check_reports(chosen: argparse.Namespace) -> int:
    """Compare the figures of reports with those of their entries; exit 1 when any differs."""
    from pytest_mtarena.card.store import read_json
    from pytest_mtarena.results.foreign import is_foreign
    from pytest_mtarena.results.reported import check_all, check_report
    from pytest_mtarena.text import printable

    registry = _registry(chosen)
    checked = []
    for path in chosen.runs:
        report = read_json(path)
        if not is_foreign(report):
            raise UsageError(f"--check: {path} is no report of another harness; see mt-eval verify")
        [source] = _sources(path)
        checked.append((str(path), check_report(source, report, registry)))
    if chosen.json:
        told = {name: {"equal": one.equal, "differences": one.differences} for name, one in checked}
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for line in check_all(checked):
            print(printable(line))
    return DIFFERENT if any(one.differences for _, one in checked) else FINE


def _changes(chosen: argparse.Namespace) -> Changes:
    """Return what is to be scored in another way than the runs were."""
    from pytest_mtarena.referee.resources import read_resources, resource_facts
    from pytest_mtarena.results.rescore import Changes

    if chosen.mt_normalization not in (None, "NFC", "none"):
        raise UsageError(f"--normalization takes NFC or none, not {chosen.mt_normalization!r}")
    resources = read_resources(chosen, Path.cwd(), "--")
    return Changes(
        metrics=chosen.mt_metrics,
        intervals=False if chosen.mt_no_ci else None,
        n_bootstrap=chosen.mt_n_bootstrap,
        bleu_tokenize=chosen.mt_bleu_tokenize,
        ter_asian=chosen.mt_ter_asian,
        normalization=chosen.mt_normalization,
        resources=resources,
        resource_facts=resource_facts(resources),
    )


def _sources(path: Path) -> list[Source]:
    """Return the runs in a file."""
    from pytest_mtarena.results.rescore import from_journal, read_source
    from pytest_mtarena.run.journal import read_header, read_rows

    if not path.is_file():
        what = "is a directory, not a stored run" if path.is_dir() else "no such file"
        raise CardError(f"{path}: {what}")
    if path.suffix != ".jsonl":
        return [read_source(path)]
    try:
        header = read_header(path)
        sources, empty = from_journal(header, (row for *_, row in read_rows(path)), path)
    except ResumeError as error:  # said for those who resume
        raise CardError(str(error).removeprefix("--mt-resume ")) from error
    for line in empty:
        print(f"WARNING: {line}", file=sys.stderr)
    return sources


# -- comparing ------------------------------------------------------------------------------


def _add_comparing(commands: Any) -> None:
    compare = _add(
        commands,
        "compare",
        compare_runs,
        "compare run cards with the first of them: scores, tests, and the entries that differ",
    )
    compare.add_argument(
        "cards", nargs="+", metavar="CARD", type=Path, help="the baseline, then one or more others"
    )
    compare.add_argument(
        "--primary", metavar="METRIC", help="the metric that decides; default: chrf_plus_plus"
    )
    compare.add_argument(
        "--fail-on-difference",
        action="store_true",
        help="exit 1 when a card is significantly worse than the first by the primary metric",
    )
    compare.add_argument("-v", "--verbose", action="count", default=0, help="entries of all cards")
    compare.add_argument("-q", "--quiet", action="count", default=0, help="the tables only")
    significance = _add(
        commands, "significance", run_significance, "test the difference of two run cards"
    )
    power = _add(
        commands, "power", show_power, "say what difference the suite of one card, or two, can see"
    )
    significance.add_argument("a", metavar="A", type=Path)
    significance.add_argument("b", metavar="B", type=Path)
    power.add_argument("cards", nargs="+", metavar="CARD", type=Path, help="one card, or two")
    for parser in (significance, power):
        parser.add_argument(
            "--metric",
            dest="metrics",
            action="append",
            default=[],
            metavar="NAME",
            help="a metric; repeatable",
        )
    significance.add_argument(
        "--method",
        choices=("randomization", "bootstrap"),
        default="randomization",
        help="paired approximate randomization (and McNemar for rates of entries that are right "
        "or wrong), or sacreBLEU's paired bootstrap; default: randomization",
    )
    for parser in (compare, significance):
        parser.add_argument(
            "--resamples", metavar="N", type=_positive, help="how many times to swap or to draw"
        )
    significance.add_argument("--seed", metavar="N", type=_natural, help="of the random numbers")
    for parser in (compare, significance, power):
        parser.add_argument(
            "--shared",
            action="store_true",
            help="compare the entries that are the same in cards of different suites or selections",
        )


def _positive(text: str) -> int:
    value = _natural(text)
    if not value:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return value


def _natural(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 999999999")
    return int(text)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not 0 <= days < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days, 0 or more")
    return days


def _bytes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes, 0 or more")
    return int(text)


def _sides(paths: Sequence[Path]) -> list[Side]:
    from pytest_mtarena.card.store import read_card
    from pytest_mtarena.results.pairing import make_sides

    return make_sides((str(path), read_card(path)) for path in paths)


def compare_runs(chosen: argparse.Namespace) -> int:
    """Compare cards with the first; exit 1 when one is worse and that was asked for."""
    from pytest_mtarena.results.comparing import Plan, compare_cards
    from pytest_mtarena.results.show_comparison import comparison_json, show_comparison

    if len(chosen.cards) < 2:
        raise UsageError("compare takes two run cards or more, the baseline first")
    plan = Plan(primary=chosen.primary, shared=chosen.shared)
    if chosen.resamples is not None:
        plan = replace(plan, resamples=chosen.resamples)
    found = compare_cards(_sides(chosen.cards), _registry(chosen), plan)
    if chosen.json:
        _print_json(comparison_json(found))
    else:
        lines = show_comparison(found, _terminal_width(), chosen.verbose - chosen.quiet)
        print("\n".join(lines))
    worse = any(one.primary.is_worse for one in found)
    return DIFFERENT if worse and chosen.fail_on_difference else FINE


def run_significance(chosen: argparse.Namespace) -> int:
    """Print the tests of two cards."""
    from pytest_mtarena.results.comparing import Plan, compare_cards
    from pytest_mtarena.results.show_comparison import show_significance, significance_json

    bootstrap = chosen.method == "bootstrap"
    names = chosen.metrics
    plan = Plan(
        primary=names[0] if names else None,
        metrics=names or None,
        shared=chosen.shared,
        power=False,
        any_primary=True,
    )
    if chosen.resamples is not None:
        key = "replicates" if bootstrap else "resamples"
        plan = replace(plan, **{key: chosen.resamples})
    if chosen.seed is not None:
        plan = replace(plan, seed=chosen.seed)
    [found] = compare_cards(_sides([chosen.a, chosen.b]), _registry(chosen), plan)
    if chosen.json:
        _print_json(significance_json(found, bootstrap=bootstrap))
    else:
        print("\n".join(show_significance(found, _terminal_width(), bootstrap=bootstrap)))
    return FINE


def show_power(chosen: argparse.Namespace) -> int:
    """Print what the suite of one card, or of two together, can see."""
    from pytest_mtarena.results import show_comparison
    from pytest_mtarena.results.power_of import power_of_cards

    sides = _sides(chosen.cards)
    units, found = power_of_cards(sides, _registry(chosen), chosen.metrics, shared=chosen.shared)
    if chosen.json:
        _print_json(show_comparison.power_json(sides, units, found))
    else:
        print("\n".join(show_comparison.show_power(sides, units, found, _terminal_width())))
    return FINE


def _terminal_width() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))


# -- shipping -------------------------------------------------------------------------------


def _add_export(commands: Any) -> None:
    for name in ("export", "generate-plugin"):
        what = (
            "make a method plug-in of run cards, one a locale"
            if name == "export"
            else ("the same as export")
        )
        export = _add(commands, name, export_plugin, what)
        export.add_argument("cards", nargs="+", metavar="CARD", type=Path)
        export.add_argument("--name", required=True, metavar="NAME", help="such as gemini-pt")
        export.add_argument(
            "--type",
            metavar="TYPE",
            help="llm, llm-coached, api, google-translate or method-plugin; default: what was run",
        )
        export.add_argument(
            "--locales", metavar="CODE,...", help="default: the target languages of the cards"
        )
        export.add_argument("--description", metavar="TEXT")
        export.add_argument("--author", metavar="TEXT")
        export.add_argument("--version", dest="of_plugin", metavar="X.Y.Z", default="1.0.0")
        export.add_argument("--register", metavar="TEXT", help="register and tone of the texts")
        export.add_argument(
            "--coaching-dir", metavar="DIR", type=Path, help="with LOCALE.json, .txt or .md"
        )
        export.add_argument("--endpoint", metavar="URL", help="of a plug-in of type api")
        export.add_argument(
            "--method", metavar="DIR", type=Path, help="the method that was run, to be copied"
        )
        export.add_argument("--commercial-ready", action="store_true")
        export.add_argument(
            "-o", "--output-dir", metavar="DIR", type=Path, help="the plug-in; default: ./NAME"
        )
    config = _add(
        commands, "export-config", export_config, "print the config of a run: eight fields, JSON"
    )
    config.add_argument("card", metavar="CARD", type=Path)
    config.add_argument(
        "--target-lang-code", metavar="CODE", help="refuse a card of another target language"
    )
    config.add_argument("-o", "--output", metavar="FILE", type=Path, help="write it there instead")


def export_plugin(chosen: argparse.Namespace) -> int:
    """Write a method plug-in and say what is in it."""
    from pytest_mtarena.card.store import read_card
    from pytest_mtarena.results.export import Wishes, make_plugin, write_plugin
    from pytest_mtarena.results.method_config import TYPES
    from pytest_mtarena.text import printable

    if chosen.type is not None and chosen.type not in TYPES:
        raise UsageError(f"--type {chosen.type!r}: there are {', '.join(TYPES)}")
    wishes = Wishes(
        name=chosen.name,
        type=chosen.type,
        locales=()
        if chosen.locales is None
        else tuple(code.strip() for code in chosen.locales.split(",")),
        version=chosen.of_plugin,
        description=chosen.description,
        author=chosen.author,
        register_text=chosen.register,
        coaching_dir=chosen.coaching_dir,
        endpoint=chosen.endpoint,
        method=chosen.method,
        commercial_ready=chosen.commercial_ready,
    )
    sources = [(str(path), read_card(path)) for path in chosen.cards]
    if len({name for name, _ in sources}) < len(sources):
        raise UsageError("a card is given twice")
    plugin = make_plugin(sources, wishes, _registry(chosen))
    where = chosen.output_dir or Path(chosen.name)
    files = write_plugin(plugin, where)
    if chosen.json:
        _print_json({"directory": str(where), "files": files, "manifest": plugin.manifest})
        return FINE
    manifest = plugin.manifest
    print(printable(f"{where}: {manifest['type']}, {', '.join(manifest['locales'])}"))
    for name in files:
        print(printable(f"  {name}"))
    for flag in manifest["provenance"]["flags"]:
        print(printable(f"  ! {flag}"))
    return FINE


def export_config(chosen: argparse.Namespace) -> int:
    """Print the config of a run, or write it."""
    from pytest_mtarena.card.store import read_card
    from pytest_mtarena.results.export import config_text, require_sound, write_config
    from pytest_mtarena.results.method_config import METHOD, require_target, type_of
    from pytest_mtarena.text import printable

    card = read_card(chosen.card)
    require_sound(str(chosen.card), card, _registry(chosen))
    if chosen.target_lang_code is not None:
        require_target(str(chosen.card), card, chosen.target_lang_code)
    text, kind = config_text(card), type_of(card)
    if chosen.output is not None:
        write_config(chosen.output, text)
        if chosen.json:
            _print_json({"file": str(chosen.output), "type": kind, "config": json.loads(text)})
        else:
            print(printable(str(chosen.output)))
    else:
        sys.stdout.write(text)
    key = "methodPlugin" if kind == METHOD else "defaultMethod"
    value = "the directory of the method" if kind == METHOD else f'"{kind}"'
    print(f'note: in champollion.config.json, "{key}" is {value}', file=sys.stderr)
    return FINE


# -- what there is --------------------------------------------------------------------------


def _add_list(commands: Any) -> None:
    what = "list what is known here"
    parser: argparse.ArgumentParser = commands.add_parser("list", help=what, description=what)
    lists = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    _add(lists, "metrics", list_metrics, "every metric, what it says of itself, what it needs")
    _add(lists, "models", list_models, "short names of models, and what the models cost")
    _add(lists, "prompts", list_prompts, "the prompts for language models")
    methods = _add(lists, "methods", list_methods, "methods of plug-ins, and of a directory")
    methods.add_argument("--dir", metavar="DIR", type=Path, default=Path("methods"))
    datasets = _add(lists, "datasets", list_datasets, "the suites in a directory")
    datasets.add_argument("--dir", metavar="DIR", type=Path, default=Path(DEFAULT_SUITES))


def list_models(chosen: argparse.Namespace) -> int:
    """Print the aliases that hold here, with the prices that are known without a network."""
    from pytest_mtarena.llm.names import find_aliases, floating_reason
    from pytest_mtarena.llm.prices import PriceTable

    table = PriceTable()
    found: list[dict[str, Any]] = []
    for alias, model in sorted(find_aliases(Path.cwd()).items()):
        price = table.find("openrouter", model)
        known = None if isinstance(price, str) else price[0]
        found.append(
            {
                "alias": alias,
                "model": model,
                "input": known and float(known.usd(1_000_000, 0, 0, 0)),
                "output": known and float(known.usd(0, 0, 1_000_000, 0)),
                "note": floating_reason(model),
            }
        )
    return _tell(chosen, found, {"input": "$/M in", "output": "$/M out"})


def list_prompts(chosen: argparse.Namespace) -> int:
    """Print the prompts."""
    from pytest_mtarena.llm.prompts import BUILTIN

    contributed = _registry(chosen).prompts()
    found = [{"prompt": name, "of": "the package"} for name in BUILTIN]
    found += [{"prompt": name, "of": "a plug-in"} for name in contributed]
    return _tell(chosen, found)


def list_methods(chosen: argparse.Namespace) -> int:
    """Print the methods of plug-ins and those in a directory; a broken one says why."""
    from pytest_mtarena.contestants.manifest import MANIFEST, read_manifest

    found = [{"method": name, "about": "a plug-in's"} for name in _registry(chosen).methods()]
    for path in sorted(chosen.dir.glob(f"*/{MANIFEST}")):
        try:
            manifest = read_manifest(path.parent)
            about = str(manifest.raw.get("description") or manifest.name)
        except ArenaError as error:
            about = f"broken: {' '.join(str(error).split())}"
        found.append({"method": str(path.parent), "about": about})
    return _tell(chosen, found)


def list_datasets(chosen: argparse.Namespace) -> int:
    """Print the suites in a directory; one that cannot be read says why."""
    from pytest_mtarena.records import SuiteSettings

    kinds = _registry(chosen).kinds()
    found: list[dict[str, Any]] = []
    if not chosen.dir.is_dir():
        raise UsageError(f"--dir: there is no directory {chosen.dir}")
    for path in sorted(one for one in chosen.dir.rglob("*") if one.is_file()):
        for kind in kinds.values():
            if not kind.recognises(path):
                continue
            try:
                suite = kind.open(path, SuiteSettings())
            except ArenaError as error:
                line = str(error).splitlines()[0]
                found.append({"file": str(path), "suite": f"broken: {line}"})
                break
            if suite is not None:
                sides = [(a.code or a.name, b.code or b.name) for a, b in suite.languages.values()]
                pairs = [f"{a or '?'}>{b or '?'}" for a, b in sides if a or b]
                found.append(
                    {
                        "file": str(path),
                        "suite": suite.id,
                        "languages": ", ".join(pairs[:4]),
                        "entries": suite.entry_count,
                        "licence": suite.license,
                        "rankable": suite.rankable,
                    }
                )
                break
    return _tell(chosen, found)


def _tell(
    chosen: argparse.Namespace, found: list[dict[str, Any]], titles: dict[str, str] | None = None
) -> int:
    """Print records as a table, or as JSON."""
    from pytest_mtarena.text import printable

    if chosen.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
        return FINE
    if not found:
        print("nothing")
        return FINE
    names = list(dict.fromkeys(key for one in found for key in one))
    head = [(titles or {}).get(name, name) for name in names]
    rows = [[_cell(one.get(name), printable) for name in names] for one in found]
    width = shutil.get_terminal_size((160, 24)).columns
    print("\n".join(_table(head, rows, width)))
    return FINE


def _cell(value: Any, printable: Callable[[str], str]) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else printable(str(value))


_COLUMNS = ("id", "scale", "direction", "level", "role", "validation", "version")
_ROOM = 24
"""Columns that must be left for what a metric needs; with less, each metric is a paragraph."""


def list_metrics(chosen: argparse.Namespace) -> int:
    """Print the metrics of every kind of case."""
    from pytest_mtarena.referee.metrics.catalog import describe as describe_metric
    from pytest_mtarena.text import printable

    registry = _registry(chosen)
    contributed = registry.metrics()
    found: list[dict[str, Any]] = []
    for name, kind in registry.kinds().items():
        catalog = getattr(kind, "catalog", None)
        found += [
            {
                "id": metric.id,
                **describe_metric(metric),
                "missing": getattr(metric, "missing", None) or None,
                "contributed": metric.id in contributed,
                "kind": name,
            }
            for metric in (catalog().values() if catalog is not None else ())
        ]
    if chosen.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
        return FINE
    rows = [
        [*(printable(str(one[key])) for key in _COLUMNS), printable(_condition(one))]
        for one in found
    ]
    width = shutil.get_terminal_size((160, 24)).columns  # a file or a pipe takes the whole table
    print("\n".join(_table([*_COLUMNS, "needs"], rows, width)))
    return FINE


def _condition(metric: dict[str, Any]) -> str:
    """Say what a metric needs, whether it can work here, and whose it is."""
    needs = metric["missing"] or ", ".join(map(str, metric["needs"]))
    return "; ".join(filter(None, ["contributed" if metric["contributed"] else "", needs]))


def _table(head: list[str], rows: list[list[str]], width: int) -> list[str]:
    """Return a table as wide as it may be; where it does not fit, a paragraph a row."""
    from pytest_mtarena.text import columns, cut, pad

    widths = [max(map(columns, column)) for column in zip(head, *rows, strict=True)][:-1]
    indent = sum(widths) + 2 * len(widths)
    lines: list[str] = []
    if indent + _ROOM > width:
        for first, *cells, needs in rows:
            lines += [cut(first, width), *_wrapped([cell for cell in cells if cell], 4, width)]
            lines += _wrapped(needs.split(), 4, width, gap=1)
        return lines
    for row in [head, *rows]:
        begin = "  ".join(pad(cell, size) for cell, size in zip(row, widths, strict=False))
        words = _wrapped(row[-1].split(), indent, width, gap=1)
        lines.append(f"{begin}  {words[0].lstrip() if words else ''}".rstrip())
        lines += words[1:]
    return lines


def _wrapped(pieces: list[str], indent: int, width: int, gap: int = 2) -> list[str]:
    """Return pieces in as few lines as they fit, each indented and none too wide."""
    from pytest_mtarena.text import columns, cut

    lines: list[str] = []
    for piece in pieces:
        if lines and columns(lines[-1]) + gap + columns(piece) <= width:
            lines[-1] += " " * gap + piece
        else:
            lines.append(cut(" " * indent + piece, width))
    return lines


def look_after_cache(chosen: argparse.Namespace) -> int:
    """Say what the cache of models' answers holds; prune it when that is asked for.

    Exit 1 when something that had to go could not be removed.
    """
    from pytest_mtarena.llm.cache import cache_stats, prune_cache

    directory: Path = chosen.cache_dir
    if not directory.is_dir():
        raise UsageError(f"--cache-dir: there is no cache in {directory}")
    if chosen.prune:
        if chosen.max_age_days is None and chosen.max_bytes is None:
            raise UsageError("--prune needs --max-age-days or --max-bytes")
        done = prune_cache(directory, max_age_days=chosen.max_age_days, max_bytes=chosen.max_bytes)
        told = done.model_dump()
        line = f"removed {done.removed} answers ({done.removed_bytes} bytes), {done.entries} left"
        if done.not_removed:
            what = "answer" if done.not_removed == 1 else "answers"
            why = f"{done.not_removed} {what} could not be removed ({done.why})"
            print(f"mt-eval: {why}", file=sys.stderr)
    else:
        found = cache_stats(directory)
        told = found.model_dump()
        rested = "" if found.oldest_days is None else f", unused for {found.oldest_days:.1f} days"
        line = f"{found.entries} answers, {found.bytes} bytes{rested}"
    print(json.dumps(told) if chosen.json else line)
    return DIFFERENT if told.get("not_removed") else FINE


def print_options(chosen: argparse.Namespace) -> int:
    """Print the table of options."""
    print(describe(), end="")
    return FINE


if __name__ == "__main__":
    sys.exit(main())
