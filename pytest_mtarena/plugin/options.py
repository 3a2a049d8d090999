"""The one table of options: pytest's ``--mt-*``, the flags of ``mt-eval run``, and docs/options.md.

This module is imported at every start of pytest in any project that has the package installed,
so it imports nothing heavy.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

DEFAULT_OUTPUT_DIR = "eval/logs/harness"
DEFAULT_CACHE_DIR = "eval/cache/harness"
NOT_SENT = "none"
"""The temperature of models that take none."""
DEFAULT_SUITES = "suites/translation"
PLACES = ("PATH", "DIR", "CARD", "JOURNAL")
"""What values are called that are names of files; these may be any bytes."""


MOST = 10**9
"""No count and no amount is larger: a card's numbers have to be exact in every language."""


def parse_count(text: str) -> int:
    """Parse a whole number from 1 to ``MOST``."""
    return _whole(text, 1)


def parse_retries(text: str) -> int:
    """Parse a whole number from 0 to ``MOST``."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not least <= value <= MOST:
        raise argparse.ArgumentTypeError(
            f"takes a whole number from {least} to {MOST:,}, not {_shown(text)}"
        )
    return value


def _shown(text: str) -> str:
    """Return a value as messages show it."""
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def parse_seconds(text: str) -> float:
    """Parse a positive number of seconds."""
    value = _number(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"takes a number of seconds above 0, not {text!r}")
    return value


def parse_money(text: str) -> float:
    """Parse a positive amount of US dollars."""
    value = _number(text)
    if value is None or not 0 < value <= MOST:
        raise argparse.ArgumentTypeError(
            f"takes an amount of US dollars above 0, up to {MOST:,}, not {_shown(text)}"
        )
    return value


def parse_temperature(text: str) -> float | str:
    """Parse a sampling temperature, 0 to 2, or the word ``none``: it is not sent."""
    if text.strip() == NOT_SENT:
        return NOT_SENT
    value = _number(text)
    if value is None or not 0 <= value <= 2:
        raise argparse.ArgumentTypeError(f"takes a temperature from 0 to 2, or none, not {text!r}")
    return value


def parse_names(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list; blanks around names are ignored."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError(f"takes names separated by commas, not {text!r}")
    if len(set(names)) != len(names):
        raise argparse.ArgumentTypeError(f"names something twice: {text!r}")
    return names


def parse_choice(text: str) -> str:
    """Parse auto, yes or no."""
    if text not in ("auto", "yes", "no"):
        raise argparse.ArgumentTypeError(f"takes auto, yes or no, not {text!r}")
    return text


def parse_metrics(text: str) -> tuple[str, ...]:
    """Parse metric ids; the word ``none`` alone means no metric at all."""
    return () if text.strip() == "none" else parse_names(text)


def parse_limit(text: str) -> tuple[str, float]:
    """Parse ``METRIC=VALUE``."""
    name, equals, number = text.partition("=")
    value = _number(number)
    if not equals or not name.strip() or value is None:
        raise argparse.ArgumentTypeError(f"takes METRIC=VALUE, such as bleu=30, not {text!r}")
    return name.strip(), value


def parse_assignment(text: str) -> tuple[str, str]:
    """Parse ``KEY=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"takes KEY=VALUE, not {text!r}")
    return name.strip(), value


def parse_shard(text: str) -> tuple[int, int]:
    """Parse ``I/N``: shard I of N, from 1."""
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise argparse.ArgumentTypeError(f"takes I/N with 1 <= I <= N, such as 2/5, not {text!r}")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Option:
    """One option: how pytest and ``mt-eval run`` take it, and what it means."""

    name: str
    """Without dashes and prefix: ``batch-size`` is ``--mt-batch-size`` of pytest."""
    help: str
    group: str
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    default: Any = None
    repeat: bool = False
    flag: bool = False
    marked: bool = False
    """Whether it matters that it was given: then the parser's default is None, and what reads the
    options puts ``default`` in its place."""
    run: tuple[str, ...] = field(default=())
    """The flags of ``mt-eval run``; ``--NAME`` when empty."""

    @property
    def pytest_flag(self) -> str:
        """The flag of pytest."""
        return f"--mt-{self.name}"

    @property
    def dest(self) -> str:
        """The attribute of ``config.option``."""
        return f"mt_{self.name.replace('-', '_')}"

    @property
    def run_flags(self) -> tuple[str, ...]:
        """The flags of ``mt-eval run``."""
        return self.run or (f"--{self.name}",)

    @property
    def keywords(self) -> dict[str, Any]:
        """The keyword arguments of ``add_argument``, the same on both sides."""
        if self.flag:
            return {"action": "store_true", "default": False, "help": self.help}
        default = None if self.marked else self.default
        keywords: dict[str, Any] = {"default": default, "help": self.help}
        keywords["metavar"] = self.metavar
        if self.parse is not None:
            keywords["type"] = self.parse
        if self.repeat:
            keywords["action"] = "append"
        return keywords


OPTIONS: tuple[Option, ...] = (
    # who
    Option(
        "method",
        "the method to evaluate: a directory with method.json, or the name of a method that a "
        "plug-in contributes; repeat it for several contestants",
        "contestant",
        "PATH",
        repeat=True,
    ),
    Option(
        "method-arg",
        "an option for the method, told to it and recorded; repeatable",
        "contestant",
        "KEY=VALUE",
        parse_assignment,
        repeat=True,
    ),
    Option(
        "model",
        "language models to evaluate: aliases, the provider's names or VENDOR/NAME; each is a "
        "contestant",
        "contestant",
        "NAME,...",
        repeat=True,
        run=("-m", "--model"),
    ),
    Option(
        "provider",
        "who serves the models: openrouter, openai, anthropic, gemini",
        "contestant",
        "NAME",
        default="openrouter",
    ),
    Option(
        "base-url",
        "an OpenAI-compatible endpoint in place of the provider's own",
        "contestant",
        "URL",
    ),
    Option(
        "prompt",
        "the prompt: naive, custom, champollion",
        "contestant",
        "NAME",
        run=("-p", "--prompt"),
    ),
    Option("coaching-file", "a text that becomes the system prompt", "contestant", "PATH"),
    Option("coaching", "the same, given here", "contestant", "TEXT"),
    Option(
        "champollion-config",
        "a champollion.config.json: model, temperature, batch size, register, context and coaching "
        "of the suite's language, where they are not given here",
        "contestant",
        "PATH",
    ),
    Option(
        "champollion-cards-dir", "the same as --cards-dir: registers, gender", "contestant", "DIR"
    ),
    Option(
        "target-lang-code",
        "the language of the champollion config and of the card, instead of the suite's target",
        "contestant",
        "CODE",
    ),
    Option(
        "structured",
        "ask for JSON with a schema instead of numbered lines",
        "contestant",
        flag=True,
    ),
    Option(
        "tools",
        "let models call the tools of plug-ins; entries are then asked one by one",
        "contestant",
        flag=True,
    ),
    Option(
        "tools-list",
        "with --tools, only the tools with these names",
        "contestant",
        "NAME,...",
        parse_names,
        default=(),
    ),
    Option(
        "max-tool-rounds",
        "replies in which a model may ask for tools before it has to answer, per entry",
        "contestant",
        "N",
        parse_count,
        default=8,
    ),
    Option(
        "fst-retries",
        "send translations with words that the analyser (--fst) rejects back to the model, at most "
        "so often; told to methods",
        "contestant",
        "N",
        parse_retries,
        default=0,
    ),
    Option(
        "max-cost",
        "US dollars that the session may cost at most; nothing is sent that could go beyond",
        "contestant",
        "USD",
        parse_money,
    ),
    Option(
        "allow-unknown-cost",
        "with --max-cost, send also what has no known price",
        "contestant",
        flag=True,
    ),
    Option("prices", "prices of models, JSON, before those that are known", "contestant", "PATH"),
    Option("no-cache", "ask models again for what they have answered", "contestant", flag=True),
    Option(
        "cache-dir",
        "where answers of models are kept",
        "contestant",
        "DIR",
        default=DEFAULT_CACHE_DIR,
    ),
    Option(
        "method-card",
        "a JSON file that describes the method, instead of its own card",
        "contestant",
        "PATH",
    ),
    Option(
        "hooks",
        "post-translation hooks to run on every batch, in this order",
        "contestant",
        "NAME,...",
        parse_names,
        default=(),
    ),
    # on what
    Option(
        "corpus",
        "a corpus file or a directory of them, beside those named as arguments; repeatable",
        "suite",
        "PATH",
        repeat=True,
    ),
    Option("source-file", "parallel text: the file with one source per line", "suite", "PATH"),
    Option(
        "reference-file", "parallel text: the file with one reference per line", "suite", "PATH"
    ),
    Option(
        "source-field",
        "the field that holds the source, instead of its usual names",
        "suite",
        "NAME",
    ),
    Option(
        "target-field",
        "the field that holds the reference, instead of its usual names",
        "suite",
        "NAME",
    ),
    Option(
        "source-lang",
        "the source language, instead of what the suite says; models are told English where no "
        "one says",
        "suite",
        "LANG",
    ),
    Option("target-lang", "the target language, instead of what the suite says", "suite", "LANG"),
    Option(
        "dataset",
        "which entries: all, a segment, an inclusive range of number ids A-B, or one id",
        "suite",
        "WHICH",
        default="all",
        run=("-d", "--dataset"),
    ),
    Option("ids", "only the entries with these ids", "suite", "ID,...", parse_names, default=()),
    Option("domain", "only entries of these domains", "suite", "NAME,...", parse_names, default=()),
    Option(
        "difficulty",
        "only entries of these difficulties",
        "suite",
        "N,...",
        parse_names,
        default=(),
    ),
    Option(
        "shard",
        "run shard I of N, by whole batches; mt-eval merge joins the cards",
        "suite",
        "I/N",
        parse_shard,
    ),
    Option(
        "allow-missing-reference",
        "take entries without a reference: translated, never scored, counted apart",
        "suite",
        flag=True,
    ),
    # how
    Option(
        "batch-size",
        "entries per call of the method",
        "run",
        "N",
        parse_count,
        default=25,
        marked=True,
        run=("-b", "--batch-size"),
    ),
    Option(
        "concurrency",
        "calls in flight at once per contestant, shared out among xdist workers",
        "run",
        "N",
        parse_count,
        default=8,
        marked=True,
        run=("-c", "--concurrency"),
    ),
    Option(
        "timeout",
        "seconds after which a call is given up",
        "run",
        "SECONDS",
        parse_seconds,
        default=600.0,
    ),
    Option(
        "max-tokens",
        "told to the method: the most tokens per call",
        "run",
        "N",
        parse_count,
        default=32768,
    ),
    Option(
        "temperature",
        "told to the method: the sampling temperature; none: not sent, for models that refuse it",
        "run",
        "T",
        parse_temperature,
        default=0.0,
        marked=True,
    ),
    Option("dry-run", "check everything, print what would run, call nothing", "run", flag=True),
    Option(
        "resume",
        "go on with an interrupted run: its journal; finished entries are not sent again, failed "
        "ones are",
        "run",
        "JOURNAL",
    ),
    # scores and gates
    Option(
        "metrics",
        "the metrics to compute, by id; none for no metric at all; by default all that apply",
        "score",
        "ID,...",
        parse_metrics,
    ),
    Option("no-ci", "compute no confidence intervals", "score", flag=True),
    Option(
        "n-bootstrap",
        "bootstrap replicates for the intervals",
        "score",
        "N",
        parse_count,
        default=1000,
    ),
    Option(
        "bleu-tokenize",
        "BLEU's tokenizer (13a, char, zh, intl, ...) instead of the one that suits the language",
        "score",
        "NAME",
    ),
    Option(
        "ter-asian",
        "whether TER counts Chinese characters and kana one by one: auto, yes or no",
        "score",
        "WHEN",
        parse_choice,
        default="auto",
    ),
    Option(
        "normalization",
        "Unicode normalisation of both sides before scoring: NFC or none",
        "score",
        "FORM",
        default="NFC",
    ),
    Option(
        "fst",
        "a morphological analyser (.hfstol), or a directory with one a language (glg.hfstol)",
        "score",
        "PATH",
    ),
    Option(
        "skip-fst",
        "use no analyser, neither for scores nor for --fst-retries",
        "score",
        flag=True,
    ),
    Option(
        "glossary",
        "terms and how they are to be translated: JSON, TSV, CSV, or a coaching file",
        "score",
        "PATH",
    ),
    Option("style-profile", "what the writing style should be, JSON", "score", "PATH"),
    Option(
        "semantic-model",
        "encoder of the semantic score: 'use' (extra semantic) or a directory of "
        "sentence-transformers",
        "score",
        "NAME",
    ),
    Option("comet-model", "a COMET checkpoint (.ckpt); nothing is downloaded", "score", "PATH"),
    Option(
        "language-id",
        "identify the language of outputs, for code switching and hallucination (extra langid)",
        "score",
        flag=True,
    ),
    Option("cards-dir", "a directory of language cards, JSON", "score", "DIR"),
    Option(
        "item-min",
        "an item fails when its own score is worse than this; repeatable",
        "score",
        "METRIC=V",
        parse_limit,
        repeat=True,
    ),
    Option(
        "fail-under",
        "the session fails when a run's score is worse than this; repeatable",
        "score",
        "METRIC=V",
        parse_limit,
        repeat=True,
    ),
    Option(
        "baseline",
        "a run card of an earlier run on the same suite, to compare this one with",
        "compare",
        "CARD",
    ),
    Option(
        "max-drop",
        "the session fails when a score is worse than the baseline's by more; repeatable",
        "compare",
        "METRIC=V",
        parse_limit,
        repeat=True,
    ),
    Option(
        "significant",
        "the session fails when the primary metric is significantly worse than the baseline's",
        "compare",
        flag=True,
    ),
    Option(
        "primary",
        "the metric that decides whether a run is worse than the baseline (chrF++)",
        "compare",
        "METRIC",
    ),
    # records
    Option(
        "output-dir",
        "where run cards and journals are written",
        "record",
        "DIR",
        default=DEFAULT_OUTPUT_DIR,
        run=("-o", "--output-dir"),
    ),
    Option(
        "name",
        "a name for the run, for people; stands in the card",
        "record",
        "NAME",
        run=("-n", "--name"),
    ),
)

GROUPS = {
    "contestant": "Who is evaluated",
    "suite": "On what",
    "run": "How it runs",
    "score": "Scores and gates",
    "compare": "Against an earlier run",
    "record": "Records",
}


def add_options(parser: Any) -> None:
    """Add the options and the ini key to pytest's parser."""
    group = parser.getgroup("mtarena", "evaluation as test suites (pytest-mtarena)")
    for option in OPTIONS:
        group.addoption(option.pytest_flag, dest=option.dest, **option.keywords)
    parser.addini(
        "mt_suites",
        "files or directories that run when a contestant is given and no path is",
        type="paths",
        default=None,
    )


def describe(options: Iterable[Option] = OPTIONS) -> str:
    """Return docs/options.md."""
    lines = [
        "# Options",
        "",
        "Generated from `pytest_mtarena/plugin/options.py` by `mt-eval options`.",
        "`mt-eval run` takes the flags of the second column with the same meaning.",
    ]
    for key, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| pytest | mt-eval run | default | meaning |"]
        lines.append("|---|---|---|---|")
        for option in options:
            if option.group != key:
                continue
            value = "" if option.flag else f" {option.metavar}"
            default = "" if option.default in (None, ()) else f"`{option.default}`"
            run = ", ".join(f"`{flag}`" for flag in option.run_flags)
            again = " (repeatable)" if option.repeat and "repeat" not in option.help else ""
            lines.append(
                f"| `{option.pytest_flag}{value}` | {run} | {default} | {option.help}{again} |"
            )
    lines += [
        "",
        "## In the ini file",
        "",
        "| key | default | meaning |",
        "|---|---|---|",
        f"| `mt_suites` | `{DEFAULT_SUITES}` | files or directories that run when a contestant is "
        "given and no path is |",
        "",
    ]
    return "\n".join(lines)
