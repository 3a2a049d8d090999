"""One case for a person: source, references, output and what differs, safe to print."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from pytest_mtarena.records import Attempt, Failure
from pytest_mtarena.text import cut, printable

_WIDTH = 600
"""Columns of a text that are shown."""
_WORDS = 200
"""Words of a side that are compared."""
_FRAMES = 12
"""Last lines of a traceback that are shown."""


def explain_attempt(source: str, references: Sequence[str], attempt: Attempt) -> str:
    """Return a few lines: the failure if there is one, the texts, the difference."""
    lines = [] if attempt.failure is None else _failure(attempt.failure)
    lines.append(_line("source", source))
    lines += [_line("reference", reference) for reference in references[:4]]
    if len(references) > 4:
        lines.append(f"{'':<11}and {len(references) - 4} more references")
    if not references:
        lines.append(f"{'reference':<11}–")
    output = attempt.output
    lines.append(f"{'output':<11}–" if output is None else _line("output", output))
    if attempt.raw_output is not None and output not in (None, attempt.raw_output):
        lines.append(_line("raw output", attempt.raw_output))
    if output and references and output not in references:
        lines.append(_line("difference", difference(references[0], output)))
    return "\n".join(lines)


def difference(reference: str, output: str) -> str:
    """Return the output with ``[-words only the reference has-]`` and ``{+words only it has+}``."""
    wanted, own = reference.split()[:_WORDS], output.split()[:_WORDS]
    if wanted == own:
        return "in white space only"
    parts: list[str] = []
    matcher = difflib.SequenceMatcher(None, wanted, own, autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        if wanted[first:last] == own[start:end]:
            parts += own[start:end]
            continue
        if last > first:
            parts.append(f"[-{' '.join(wanted[first:last])}-]")
        if end > start:
            parts.append(f"{{+{' '.join(own[start:end])}+}}")
    return " ".join(parts)


def _line(name: str, text: str) -> str:
    return f"{name:<11}{cut(printable(text[: 4 * _WIDTH]), _WIDTH)}"


def _failure(failure: Failure) -> list[str]:
    lines = [f"{failure.status} ({failure.kind}): {cut(printable(failure.message), _WIDTH)}"]
    frames = (failure.traceback or "").rstrip().splitlines()
    lines += [f"  {cut(printable(frame), 200)}" for frame in frames[-_FRAMES:]]
    return lines
