"""The end-of-session block of a translation card: headline first, never more than a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mtarena.records import Json
from pytest_mtarena.referee.metrics.ids import EVERY_ID, MORE_IDS
from pytest_mtarena.text import columns, cut, pad, printable

_TITLES = {
    "chrf_plus_plus": "chrF++",
    "chrf": "chrF",
    "bleu": "BLEU",
    "ter": "TER",
    "exact_match_rate": "exact",
    "length_ratio": "length",
}
_BREAKDOWNS = ("domain", "register", "provenance", "segment")
_ROWS = 20
"""Rows of a breakdown that are shown."""
_INDENT = 9
_FEW = 30
"""Below so many entries the number of exact matches is shown, not their rate."""


def summarise(card: Mapping[str, Json], *, verbosity: int, width: int) -> list[str]:
    """Return the block of a card.

    ``verbosity`` below 0: the headline only; above 0: breakdowns and signatures too. No line is
    wider than ``width`` columns.
    """
    scores: Mapping[str, Any] = card.get("scores") or {}
    if not card.get("complete", True):
        lines = _incomplete(card, scores)
    else:
        lines = _scores(card, scores, verbosity, width)
    if verbosity >= 0:
        lines += [f"! {printable(str(caveat))}" for caveat in card.get("caveats") or ()]
    return [cut(line, width) for line in lines]


def _incomplete(card: Mapping[str, Json], scores: Mapping[str, Any]) -> list[str]:
    selection: Mapping[str, Any] = card.get("selection") or {}
    have = selection.get("n_rows", scores.get("total"))
    wanted = selection.get("n_selected", (card.get("dataset") or {}).get("entry_count"))
    return [f"INCOMPLETE: {have} of {wanted} entries, no final scores", f"{_errors(scores)}"]


def _scores(
    card: Mapping[str, Json], scores: Mapping[str, Any], verbosity: int, width: int
) -> list[str]:
    signatures: Mapping[str, Any] = card.get("signatures") or {}
    headline = card.get("headline") or "chrf_plus_plus"
    if scores.get(headline) is None:
        reason = (card.get("metric_availability") or {}).get(headline, "not scored")
        lines = [f"no scores: {printable(str(reason))}"]
    else:
        # sacreBLEU's own part of it: the normalisation is in the full list.
        signature = printable(str(signatures.get(headline, ""))).partition("|unicode:NFC")[0]
        lines = _filled([_score(scores, headline), signature], width, gap=3)
    if verbosity < 0:
        return lines[:1]
    bleu = _score(scores, "bleu")
    if bleu:
        bleu += f"   tok:{_tokenizer(signatures)}"
    lines += _filled([bleu, _score(scores, "ter"), _score(scores, "chrf")], width)
    lines += _filled([_exact(scores), _score(scores, "length_ratio"), _errors(scores)], width)
    lines += _others(card, scores, verbosity, width)
    parts = [
        f"{printable(label)} {part['chrf_plus_plus']:.1f}"
        for label, part in (scores.get("by_difficulty") or {}).items()
        if part.get("chrf_plus_plus") is not None
    ]
    if len(parts) > 1:
        more = "" if verbosity > 0 else "(-v: by domain, register, ...)"
        lines += _filled([" " * _INDENT + "difficulty " + " · ".join(parts[:8]), more], width)[:1]
    lines += _sees(scores, verbosity)
    if verbosity > 0:
        for label in ("difficulty", *_BREAKDOWNS):
            lines += _breakdown(label, scores.get(f"by_{label}") or {})
        lines += [
            f"{pad(cut(printable(name), 20), 21)}{printable(str(signature))}"
            for name, signature in signatures.items()
        ]
    return lines


def _others(
    card: Mapping[str, Json], scores: Mapping[str, Any], verbosity: int, width: int
) -> list[str]:
    """Return the other metrics: those of the package in few lines, contributed ones one a line."""
    about: Mapping[str, Any] = card.get("metrics") or {}
    known = {name: about.get(name) or {} for name in card.get("signatures") or ()}
    more = {name: one for name, one in known.items() if name in MORE_IDS}
    titles = {name: printable(str(one.get("title") or name)) for name, one in more.items()}
    shown = [
        f"{titles[name]} {scores[name]:.{_decimals(name)}f}"
        for name, one in more.items()
        if scores.get(name) is not None and one.get("role") != "informational"
    ]
    if verbosity <= 0:
        lines = _filled([" " * _INDENT + shown[0], *shown[1:]], width, gap=3) if shown else []
    else:
        lines = [line for name in more if (line := _score(scores, name, titles[name]))]
        if scores.get("composite") is not None:
            cover: Mapping[str, Any] = scores.get("composite_coverage") or {}
            lines.append(
                f"{_score(scores, 'composite')}  {scores.get('quality_tier')}, heuristic: profile "
                f"{cover.get('profile')}, {', '.join(cover.get('weights') or ())}"
            )
    extra = [name for name in known if name not in (*EVERY_ID, "bleu_tokenizer")]
    return lines + [line for name in extra if (line := _score(scores, name, printable(name)))]


def _sees(scores: Mapping[str, Any], verbosity: int) -> list[str]:
    """Return what a comparison on these entries could show."""
    found = scores.get("detectable_difference")
    if not found:
        return []
    text = f"can show a difference of {found['difference']:.1f} chrF++ or more"
    how = f"{100 * found['power']:.0f} % power"
    if verbosity > 0:
        how += f", alpha {found['alpha']:g}, if systems correlate {found['assumed_correlation']:g}"
    return [f"{' ' * _INDENT}{text} ({how})"]


def _decimals(name: str) -> int:
    return 1 if name in ("chrf_plus_plus", "chrf", "bleu", "ter", "spbleu") else 2


def _score(scores: Mapping[str, Any], name: str, title: str | None = None) -> str:
    """Return ``BLEU     34.9  [30.8, 39.2]``, empty when there is no score."""
    value = scores.get(name)
    if value is None:
        return ""
    decimals = _decimals(name)
    text = f"{pad(title or _TITLES.get(name, name), _INDENT - 2)} {value:5.{decimals}f}"
    interval = (scores.get("confidence_intervals") or {}).get(name)
    if interval and name != "length_ratio":
        # Of a rate that is 0 or 1 every resample says the same: the exact interval knows better.
        exact = interval.get("exact")
        ends = (
            (exact["lower"], exact["upper"])
            if exact
            else (interval["ci_lower"], interval["ci_upper"])
        )
        text += f"  [{ends[0]:.{decimals}f}, {ends[1]:.{decimals}f}]"
    return text


def _errors(scores: Mapping[str, Any]) -> str:
    text = f"errors {scores.get('errors', 0)} of {scores.get('evaluated', 0)}"
    kinds = scores.get("errors_by_kind")
    if isinstance(kinds, Mapping) and kinds:
        counts = ", ".join(printable(f"{count} {kind}") for kind, count in kinds.items())
        text += f" ({counts})"
    for key, words in (
        ("n_empty_hypothesis", "empty"),
        ("n_no_reference", "without reference"),
        ("n_invalid", "invalid"),
    ):
        if scores.get(key):
            text += f", {scores[key]} {words}"
    return text


def _tokenizer(signatures: Mapping[str, Any]) -> str:
    return printable(str(signatures.get("bleu_tokenizer", ""))).partition(":")[0]


def _exact(scores: Mapping[str, Any]) -> str:
    """Return the rate of exact matches; of few entries their number."""
    few = 0 < (scores.get("evaluated") or 0) < _FEW
    if few and scores.get("exact_matches") is not None:
        matches = f"{scores['exact_matches']} of {scores['evaluated']}"
        return f"{pad('exact', _INDENT - 2)} {matches:>5}"
    return _score(scores, "exact_match_rate")


def _filled(parts: Sequence[str], width: int, *, gap: int = 6) -> list[str]:
    """Return the parts that are not empty, as many to a line as fit; later lines are indented."""
    lines: list[str] = []
    for part in filter(None, parts):
        short = part if not lines else " ".join(part.split())
        joined = f"{lines[-1]}{' ' * gap}{short}" if lines else part
        if lines and columns(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part if not lines or part[0] == " " else " " * _INDENT + short)
    return lines


def _breakdown(label: str, parts: Mapping[str, Any]) -> list[str]:
    if not parts:
        return []
    heads = ["n", "errors", "chrF++", "BLEU", "TER", "exact"]
    lines = [pad(f"by {label}", 22) + "".join(f"{head:>8}" for head in heads)]
    for name, part in list(parts.items())[:_ROWS]:
        cells = [
            f"{part['n']}",
            f"{part['errors']}",
            *(_cell(part.get(key), 1) for key in ("chrf_plus_plus", "bleu", "ter")),
            _cell(part.get("exact_match_rate"), 2),
        ]
        lines.append(
            pad(f"  {cut(printable(name), 19)}", 22) + "".join(f"{cell:>8}" for cell in cells)
        )
    if len(parts) > _ROWS:
        lines.append(f"  and {len(parts) - _ROWS} more")
    return lines


def _cell(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:.{decimals}f}"
