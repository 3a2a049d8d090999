"""The README of an exported plug-in: what it is, what was measured, how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mtarena.records import Json
from pytest_mtarena.results.method_config import API, COACHED, GOOGLE, METHOD, prompt_of
from pytest_mtarena.text import printable


def readme(manifest: Mapping[str, Json], cards: Sequence[Mapping[str, Json]]) -> str:
    """Return the text; ``manifest`` is complete but for files."""
    parts = [
        f"# {manifest['name']} {manifest['version']}",
        printable(manifest["description"]),
        f"A translation method of type `{manifest['type']}` for {', '.join(manifest['locales'])}.",
        _figures(manifest),
        "Each figure comes from a sealed run card. `method.json` has all of them with 95 % "
        "intervals, and the hashes that tell card and suite.",
        *_flags(manifest),
        "## Run it again",
        *_again(manifest, cards[0]),
    ]
    return "\n\n".join(parts) + "\n"


def _figures(manifest: Mapping[str, Json]) -> str:
    lines = ["| locale | suite | entries | chrF++ | BLEU | card |", "|---|---|---|---|---|---|"]
    for code in manifest["locales"]:
        one = manifest["benchmarks"].get(code)
        if one is None:
            lines.append(f"| {code} | not measured | | | | |")
            continue
        scores = [_shown(one["scores"].get(key)) for key in ("chrf_plus_plus", "bleu")]
        suite = _cell(" ".join(filter(None, (one["suite"]["id"], one["suite"]["version"]))))
        card = one["card"]["run_card_hash"][:12]
        lines.append(
            f"| {code} | {suite} | {one['corpus_size']} | {scores[0]} | {scores[1]} | `{card}` |"
        )
    return "\n".join(lines)


def _flags(manifest: Mapping[str, Json]) -> list[str]:
    flags = manifest["provenance"]["flags"]
    return [f"To bear in mind: {', '.join(f'`{flag}`' for flag in flags)}."] if flags else []


def _shown(score: Mapping[str, Json] | None) -> str:
    if score is None:
        return ""
    text = f"{score['value']:.2f}"
    if score["ci_lower"] is None or score["ci_upper"] is None:
        return text
    return f"{text} [{score['ci_lower']:.2f}, {score['ci_upper']:.2f}]"


def _again(manifest: Mapping[str, Json], card: Mapping[str, Json]) -> list[str]:
    kind = manifest["type"]
    if kind in (API, GOOGLE):
        return ["What runs behind the service is not in this directory."]
    if kind == METHOD:
        given: Any = manifest["options"]
        options = [
            f"--mt-method-arg={key}={value if isinstance(value, str) else value['file']}"
            for key, value in given.items()
        ]
        return [
            "This directory is a method: its files stand unchanged in `method/`.",
            _block("pytest SUITE", "--mt-method=THIS_DIRECTORY", *options),
        ]
    config = card["config"]
    prompt = prompt_of(card)
    command = [
        f"--mt-model={manifest['config']['model']}",
        f"--mt-provider={config['api_provider']}",
        f"--mt-temperature={'none' if config['temperature'] is None else config['temperature']}",
        f"--mt-batch-size={config['batch_size']}",
        f"--mt-max-tokens={config['max_tokens']}",
    ]
    if config["method_facts"].get("keyed"):
        command.append("--mt-structured")
    words = [
        "A model answers over a network, so this directory is no `--mt-method`. The key of the "
        "provider belongs into the environment; an address of your own (`--mt-base-url`) is in no "
        "card."
    ]
    if kind == COACHED:
        file = manifest["config"]["coachingFile"] or "coaching/LOCALE.txt"
        if prompt == "custom":
            command.append(f"--mt-coaching-file={file}")
        else:
            words.append(
                f"The system prompt was made by the prompt `{_cell(prompt)}`; its text as it was "
                f"sent is the coaching here, unless the file was given."
            )
            command.append(f"--mt-prompt={prompt}")
    return [*words, _block("pytest SUITE", *command)]


def _block(first: str, *arguments: str) -> str:
    quoted = [printable(shlex.quote(argument)) for argument in arguments]
    return "\n".join(["```", " \\\n    ".join([first, *quoted]), "```"])


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|").replace("`", "'")
