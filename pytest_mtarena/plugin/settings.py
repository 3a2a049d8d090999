"""What the user asked for: the options of a session, checked, in one frozen object."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.cleaning import is_unicode
from pytest_mtarena.plugin.options import NOT_SENT, OPTIONS, PLACES
from pytest_mtarena.records import Json, Scoring, SuiteSettings
from pytest_mtarena.referee.resources import read_resources, resource_facts


@dataclass(frozen=True)
class ModelSettings:
    """The models of a session and how they are asked. Paths are absolute."""

    models: tuple[str, ...]
    provider: str
    base_url: str | None
    prompt: str | None
    coaching_file: Path | None
    coaching: str | None
    tone: str
    context: str
    gender: str
    keyed: bool
    tools: bool
    tools_list: tuple[str, ...]
    """The names of the tools; none means all."""
    max_tool_rounds: int
    fst_retries: int
    max_cost: float | None
    allow_unknown_cost: bool
    prices: Path | None
    cache_dir: Path | None
    """None: nothing is kept."""


@dataclass(frozen=True)
class Settings:
    """The options of a session. Paths are absolute."""

    methods: tuple[str, ...]
    model: ModelSettings
    method_args: dict[str, str]
    method_card: Path | None
    hooks: tuple[str, ...]
    corpora: tuple[Path, ...]
    source_file: Path | None
    reference_file: Path | None
    suite: SuiteSettings
    scoring: Scoring
    batch_size: int
    concurrency: int
    timeout_seconds: float
    max_tokens: int
    temperature: float | None
    """None: not sent."""
    shard: tuple[int, int] | None
    dry_run: bool
    resume: Path | None
    item_min: tuple[tuple[str, float], ...]
    fail_under: tuple[tuple[str, float], ...]
    baseline: Path | None
    max_drop: tuple[tuple[str, float], ...]
    significant: bool
    primary: str | None
    output_dir: Path
    run_name: str | None
    given: frozenset[str]
    """Which of ``temperature``, ``batch_size`` and ``concurrency`` were given, whatever their
    value."""
    champollion_config: Path | None
    target_code: str | None
    """The language of the champollion config and of the card; None: the suite's target."""
    champollion: Mapping[str, Json] | None = None
    """Where the values of a run come from: for its card. Set by ``plugin/importing.py``."""


def read_settings(option: Any, base: Path) -> Settings:
    """Check the options that depend on each other; relative paths are taken from ``base``."""

    def path(text: str | None) -> Path | None:
        return None if text is None else Path(os.path.abspath(Path(base, text)))

    _check_texts(option)
    source_file, reference_file = path(option.mt_source_file), path(option.mt_reference_file)
    if (source_file is None) != (reference_file is None):
        given, other = (
            ("--mt-source-file", "--mt-reference-file")
            if source_file
            else ("--mt-reference-file", "--mt-source-file")
        )
        raise UsageError(f"{given} needs {other}: parallel text is two files of equal length")
    for name, file in (("source", source_file), ("reference", reference_file)):
        if file is not None and not file.is_file():
            raise UsageError(f"--mt-{name}-file: no such file: {file}")
    if option.mt_ids and option.mt_dataset != "all":
        raise UsageError("--mt-ids and --mt-dataset both say which entries: give one of them")
    normalization = option.mt_normalization
    if normalization not in ("NFC", "none"):
        raise UsageError(f"--mt-normalization takes NFC or none, not {normalization!r}")
    option = _with_one_cards_dir(option, path)
    resources = read_resources(option, base)
    if option.mt_skip_fst:
        resources = resources.model_copy(update={"fst": None})
    args: dict[str, str] = {}
    for key, value in option.mt_method_arg or ():
        if key in args:
            raise UsageError(f"--mt-method-arg {key} is given twice")
        args[key] = value
    resume = path(option.mt_resume)
    if resume is not None and not resume.is_file():
        raise UsageError(f"--mt-resume: no such journal: {resume}")
    return Settings(
        methods=tuple(option.mt_method or ()),
        model=_model(option, base, path),
        method_args=args,
        method_card=path(option.mt_method_card),
        hooks=option.mt_hooks,
        corpora=tuple(Path(base, text) for text in option.mt_corpus or ()),
        source_file=source_file,
        reference_file=reference_file,
        suite=SuiteSettings(
            source_field=option.mt_source_field,
            target_field=option.mt_target_field,
            source_lang=option.mt_source_lang,
            target_lang=option.mt_target_lang,
            dataset=option.mt_dataset,
            ids=option.mt_ids,
            domains=option.mt_domain,
            difficulties=option.mt_difficulty,
            allow_missing_reference=option.mt_allow_missing_reference,
        ),
        scoring=Scoring(
            metrics=option.mt_metrics,
            intervals=not option.mt_no_ci,
            n_bootstrap=option.mt_n_bootstrap,
            bleu_tokenize=option.mt_bleu_tokenize,
            ter_asian={"yes": True, "no": False}.get(option.mt_ter_asian),
            normalization=normalization,
            resources=resources,
            resource_facts=resource_facts(resources),
        ),
        # A model that calls tools answers for one entry at a time.
        batch_size=1 if option.mt_tools else _or_default(option, "batch-size"),
        concurrency=_or_default(option, "concurrency"),
        timeout_seconds=option.mt_timeout,
        max_tokens=option.mt_max_tokens,
        temperature=None
        if option.mt_temperature == NOT_SENT
        else _or_default(option, "temperature"),
        shard=option.mt_shard,
        dry_run=option.mt_dry_run,
        resume=resume,
        item_min=tuple(option.mt_item_min or ()),
        fail_under=tuple(option.mt_fail_under or ()),
        baseline=_baseline(option, path),
        max_drop=tuple(option.mt_max_drop or ()),
        significant=option.mt_significant,
        primary=option.mt_primary,
        output_dir=Path(base, option.mt_output_dir),
        run_name=option.mt_name,
        given=frozenset(
            name
            for name in ("temperature", "batch_size", "concurrency")
            if getattr(option, f"mt_{name}") is not None
        ),
        champollion_config=_champollion(option, path),
        target_code=option.mt_target_lang_code,
    )


def _check_texts(option: Any) -> None:
    """Refuse values without text, such as an unset variable makes, and bytes that are no text."""
    for known in OPTIONS:
        value = getattr(option, known.dest)
        for text in value if isinstance(value, list) else [value]:
            if not isinstance(text, str):
                continue
            if not text.strip():
                raise UsageError(f"{known.pytest_flag} is empty: give a value, or leave it out")
            if known.metavar not in PLACES and not is_unicode(text):
                raise UsageError(f"{known.pytest_flag} is not valid UTF-8")


def _or_default(option: Any, name: str) -> Any:
    """Return an option's value, or the default of one that was not given."""
    [known] = [one for one in OPTIONS if one.name == name]
    value = getattr(option, known.dest)
    return known.default if value is None else value


def _with_one_cards_dir(option: Any, path: Callable[[str | None], Path | None]) -> Any:
    """Return the options with the directory of cards in its usual place, whatever it is called."""
    usual, other = option.mt_cards_dir, option.mt_champollion_cards_dir
    if other is None:
        return option
    if usual is not None and path(usual) != path(other):
        raise UsageError(
            "--mt-cards-dir and --mt-champollion-cards-dir mean the same and name two directories: "
            "give one of them"
        )
    whole = copy.copy(option)
    whole.mt_cards_dir = other
    return whole


def _champollion(option: Any, path: Callable[[str | None], Path | None]) -> Path | None:
    """Return the champollion config, without which the code of its language says nothing."""
    file, code = path(option.mt_champollion_config), option.mt_target_lang_code
    if file is not None and not file.is_file():
        raise UsageError(f"--mt-champollion-config: no such file: {file}")
    if code is None:
        return file
    if file is None and option.mt_prompt != "champollion":
        raise UsageError(
            "--mt-target-lang-code needs --mt-champollion-config, whose language it names, or "
            "--mt-prompt=champollion"
        )
    return file


def _model(option: Any, base: Path, path: Callable[[str | None], Path | None]) -> ModelSettings:
    """Return what was asked for about models."""
    if option.mt_coaching is not None and option.mt_coaching_file is not None:
        raise UsageError("--mt-coaching and --mt-coaching-file both are the prompt: give one")
    for name in ("coaching_file", "prices"):
        file = path(getattr(option, f"mt_{name}"))
        if file is not None and not file.is_file():
            raise UsageError(f"--mt-{name.replace('_', '-')}: no such file: {file}")
    if option.mt_allow_unknown_cost and option.mt_max_cost is None:
        raise UsageError("--mt-allow-unknown-cost needs --mt-max-cost, which refuses such models")
    if option.mt_fst_retries and option.mt_model and not (option.mt_fst or option.mt_skip_fst):
        raise UsageError("--mt-fst-retries needs --mt-fst PATH: the analyser that says which words")
    if option.mt_tools_list and not option.mt_tools:
        raise UsageError("--mt-tools-list needs --mt-tools")
    if option.mt_tools and not option.mt_model:
        raise UsageError("--mt-tools needs --mt-model: only language models call tools")
    return ModelSettings(
        models=tuple(option.mt_model or ()),
        provider=option.mt_provider,
        base_url=option.mt_base_url,
        prompt=option.mt_prompt,
        coaching_file=path(option.mt_coaching_file),
        coaching=option.mt_coaching,
        tone="",
        context="",
        gender="",
        keyed=option.mt_structured,
        tools=option.mt_tools,
        tools_list=option.mt_tools_list,
        max_tool_rounds=option.mt_max_tool_rounds,
        fst_retries=0 if option.mt_skip_fst else option.mt_fst_retries,
        max_cost=option.mt_max_cost,
        allow_unknown_cost=option.mt_allow_unknown_cost,
        prices=path(option.mt_prices),
        cache_dir=None if option.mt_no_cache else Path(base, option.mt_cache_dir),
    )


def _baseline(option: Any, path: Callable[[str | None], Path | None]) -> Path | None:
    """Return the file of the baseline, without which its gates make no sense."""
    file = path(option.mt_baseline)
    if file is None:
        for name in ("max_drop", "significant", "primary"):
            if getattr(option, f"mt_{name}"):
                flag = f"--mt-{name.replace('_', '-')}"
                raise UsageError(f"{flag} needs --mt-baseline CARD: the run to compare with")
    elif not file.is_file():
        raise UsageError(f"--mt-baseline: no such card: {file}")
    return file
