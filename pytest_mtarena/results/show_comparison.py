"""Comparisons of run cards: for a person, as wide as the terminal, and for machines, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from pytest_mtarena.records import Json
from pytest_mtarena.referee.stats.power import Power
from pytest_mtarena.referee.stats.units import Units
from pytest_mtarena.results.comparing import Against, Entry, Part, Result
from pytest_mtarena.results.pairing import Side, suite_of
from pytest_mtarena.text import columns, cut, pad, printable

SHOWN = 5
"""Entries that B won, and lost, most by."""
_NAME = 24
_LEAST_NAME = 12
"""Columns that the name of a metric has at most and at least."""
_PARTS = 12
"""Parts of a label that are shown."""
_METHODS = {
    "mcnemar": "McNemar, exact",
    "exact randomization": "randomization, exact",
    "approximate randomization": "randomization",
}
_BOOTSTRAP = "paired bootstrap"
_HEADS = {"secondary": "", "diagnostic": "diagnostics: they decide nothing"}
_DEMO = "a demo suite: written for trying things, never for ranking"
_INFORMATIONAL = "informational: not tested"

Cells = Sequence[str]


# -- for a person ---------------------------------------------------------------------------


def show_comparison(found: Sequence[Against], width: int, verbosity: int = 0) -> list[str]:
    """Return the lines of a comparison; none is wider than ``width`` columns.

    ``verbosity`` below 0: the tables only. Of several systems the entries and parts are shown
    above 0 only.
    """
    lines = _system(found[0].pair.a, width, "baseline")
    for one in found:
        lines += _system(one.pair.b, width)
    warnings = dict.fromkeys(text for one in found for text in _warnings(one))
    lines += _sentences((f"! {text}" for text in warnings), width)
    for one in found:
        lines += ["", *_one(one, len(found), width)]
        if verbosity >= 0 and (len(found) == 1 or verbosity > 0):
            lines += _entry_lines(one, width) + _part_lines(one, width)
    if len(found) > 1 and not verbosity:
        hint = "(-v: the entries that were won and lost, and the parts of the suite)"
        lines += ["", *_sentences([hint], width)]
    return lines


def show_significance(found: Against, width: int, *, bootstrap: bool = False) -> list[str]:
    """Return the tests alone, one line a metric; ``bootstrap``: with sacreBLEU's p-value."""
    pair = found.pair
    lines = _system(pair.a, width) + _system(pair.b, width)
    lines += _sentences((f"! {text}" for text in _warnings(found)), width)
    lines += _sentences([*_compared(found), *_excluded(found)], width)
    letters = (pair.a.letter, pair.b.letter)
    head = ["", f"{letters[1]} - {letters[0]}", "95 % interval", "p", "method", "n", "excluded"]
    rows = []
    for one in found.results:
        if one.test is None:
            continue
        p_value, method = p_value_of(one, bootstrap)
        rows.append(
            [
                _title(one, primary=False),
                _signed(one.difference, one.decimals),
                _interval(one),
                _p(p_value),
                method or f"no test: {one.reason}",
                str(one.test.n),
                str(one.test.n_excluded),
            ]
        )
    lines += _table(head, rows, width, left=(0, 4)) or _stacked(head, rows, width)
    return lines + _sentences(_not_compared(found), width)


def p_value_of(one: Result, bootstrap: bool) -> tuple[float | None, str | None]:
    """Return the p-value to show of a metric, and what it is from; two times None without any."""
    assert one.test is not None
    if bootstrap:
        p_value = one.test.p_bootstrap
        return p_value, None if p_value is None else _BOOTSTRAP
    method = one.test.method
    return one.test.p_value, None if method is None else _METHODS.get(method, method)


def show_power(
    sides: Sequence[Side], units: Units, found: Sequence[Power], width: int
) -> list[str]:
    """Return what the suite of one card, or of two, can see."""
    lines = [line for side in sides for line in _system(side, width)]
    if units.labels is not None:
        lines += _sentences([f"{units.words}, resampled together"], width)
    return lines + _sentences((one.sentence for one in found), width)


def _system(side: Side, width: int, role: str = "") -> list[str]:
    name = side.card["config"]["run_name"]
    stamp = side.card["timestamp"]
    parts = [side.letter, side.slug, name or "", stamp, role and f"({role})", side.where]
    *known, where = (printable(part) for part in parts)
    # A path that lacks its end is no path.
    told = [*(cut(part, width - 2) for part in known if part), *([where] if where else [])]
    return _wrap(told, width, "  ")


def _warnings(one: Against) -> list[str]:
    rankable = all(side.card["dataset"]["rankable"] for side in (one.pair.a, one.pair.b))
    return [*one.pair.warnings, *([] if rankable else [_DEMO])]


def _sentences(texts: Iterable[str], width: int) -> list[str]:
    """Return texts broken into lines."""
    broken = (_wrap(printable(text).split(), width, " ") for text in texts)
    return [cut(line, width) for lines in broken for line in lines]


def _wrap(parts: Sequence[str], width: int, gap: str) -> list[str]:
    """Return parts in as few lines as they fit; one that is too wide stays whole."""
    lines: list[str] = []
    for part in parts:
        if lines and columns(lines[-1]) + len(gap) + columns(part) <= width:
            lines[-1] += gap + part
        else:
            lines.append(f"  {part}" if lines else part)
    return lines


def _one(one: Against, systems: int, width: int) -> list[str]:
    before = _compared(one)
    if one.pair.excluded:
        before.append(
            f"! only the entries that are the same in both; left out: {one.pair.excluded}"
        )
    before += [f"! {note}" for note in one.notes]
    errors = [sum(row["status"] != "ok" for row in r) for r in (one.pair.rows_a, one.pair.rows_b)]
    if any(errors):
        counts = f"{one.pair.a.letter} {errors[0]}, {one.pair.b.letter} {errors[1]}"
        before.append(f"errors: {counts} of {len(one.pair.ids)}, which count as misses")
    after: list[str] = []
    first = one.primary
    if first.p_holm is not None:
        after.append(
            f"p of {first.title} adjusted for {systems} systems (Holm): {_p(first.p_holm)}"
        )
    if first.reason:
        after.append(f"{first.title}: {first.reason}")
    after += _not_compared(one)
    if one.power is not None:
        after.append(f"power: {one.power.sentence}")
    after.append(_counts(one))
    return [*_sentences(before, width), *_metric_table(one, width), *_sentences(after, width)]


def _compared(one: Against) -> list[str]:
    a, b = one.pair.a, one.pair.b
    together = "" if one.units.labels is None else ", resampled together"
    suites = list(dict.fromkeys((suite_of(a.card), suite_of(b.card))))
    return [f"{b.letter} against {a.letter}: {one.units.words}{together}, {' and '.join(suites)}"]


def _excluded(one: Against) -> list[str]:
    if one.pair.excluded is None:
        return []
    return [f"! only the entries that are the same in both; left out: {one.pair.excluded}"]


def _counts(one: Against) -> str:
    a, b = one.pair.a.letter, one.pair.b.letter
    parts = f"{b} better on {len(one.won)}, worse on {len(one.lost)}, equal on {one.ties}"
    text = f"{parts} entries by {one.primary.title}"
    if same := one.same_outputs:
        every = len(one.pair.ids)
        text += f"; {'all' if same == every else same} outputs are the same as {a}'s"
    return text


def _metric_table(one: Against, width: int) -> list[str]:
    a, b = one.pair.a.letter, one.pair.b.letter
    head = ["", a, b, f"{b} - {a}", "95 % interval", "p", ""]
    groups: dict[str, list[list[str]]] = {"": []}
    for result in one.results:
        title = "" if result.primary else _HEADS.get(result.role, "")
        if result.role == "informational" and not result.primary:
            title = _INFORMATIONAL
        groups.setdefault(title, []).append(_cells(result))
    rows = [row for group in groups.values() for row in group]
    table = _table(head, rows, width, left=(0, 6))
    lines = table[:1] if table else []
    body = iter(table[1:])
    for title, group in groups.items():
        if title:
            lines.append(cut(title, width))
        lines += [next(body) for _ in group] if table else _stacked(head, group, width)
    if any(result.direction == "lower" for result in one.results):
        lines.append("↓ lower is better")
    return lines


def _cells(one: Result) -> list[str]:
    p_value = None if one.test is None else one.test.p_value
    return [
        _title(one, primary=one.primary),
        *(_number(score, one.decimals) for score in (one.score_a, one.score_b)),
        _signed(one.difference, one.decimals),
        _interval(one),
        _p(p_value) if one.test is not None else "",
        one.verdict or "",
    ]


def _table(head: Cells, rows: Sequence[Cells], width: int, left: Sequence[int]) -> list[str]:
    """Return head and rows as lines; nothing when they do not fit however narrow they are."""
    every = [head, *rows]
    widths = [max(columns(row[at]) for row in every) for at in range(len(head))]
    widths[0] = min(widths[0], _NAME)
    gap = 2
    if sum(widths) + gap * (len(widths) - 1) > width:
        gap = 1
    spare = width - sum(widths[1:]) - gap * (len(widths) - 1)
    if spare < min(widths[0], _LEAST_NAME):
        return []
    widths[0] = min(widths[0], spare)
    lines = []
    for row in every:
        cells = [cut(row[0], widths[0]), *row[1:]]
        padded = [
            pad(cell, size) if at in left else " " * (size - columns(cell)) + cell
            for at, (cell, size) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append((" " * gap).join(padded).rstrip())
    return lines


def _stacked(head: Cells, rows: Sequence[Cells], width: int) -> list[str]:
    """Return each row as a name and its numbers, for narrow terminals."""
    lines: list[str] = []
    for name, *cells in rows:
        last = cells[-1] if not head[-1] else ""
        lines.append(cut(f"{name}: {last}" if last else name, width))
        told = zip(head[1:], cells, strict=True)
        parts = [_named(what, cell) for what, cell in told if what and cell]
        lines += [cut(f"  {line}", width) for line in _wrap(parts, width - 2, "  ")]
    return lines


def _named(what: str, cell: str) -> str:
    return cell if cell.startswith("[") else f"{what} {cell}"


def _not_compared(one: Against) -> list[str]:
    """Return the metrics that are left out though one of the cards has a value, by reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in one.left_out.items():
        if any(side.card["scores"].get(name) is not None for side in (one.pair.a, one.pair.b)):
            reasons.setdefault(reason, []).append(name)
    return [f"not compared: {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _entry_lines(one: Against, width: int) -> list[str]:
    b = one.pair.b.letter
    lines: list[str] = []
    for words, entries in (("better", one.won), ("worse", one.lost)):
        if entries:
            few = f"{SHOWN} of {len(entries)}" if len(entries) > SHOWN else str(len(entries))
            lines += ["", *_sentences([f"{b} is {words} by most on ({few}):"], width)]
            for entry in entries[:SHOWN]:
                lines += [cut(line, width) for line in _entry(one, entry, width)]
    return lines


def _entry(one: Against, entry: Entry, width: int) -> Iterator[str]:
    decimals = min(one.primary.decimals, 2)
    change = f"{entry.value_a:.{decimals}f} → {entry.value_b:.{decimals}f}"
    # Texts of megabytes are cut before they are made printable.
    yield f"{cut(printable(entry.id[:80]), 40)}  {change}  {printable(entry.source[:width])}"
    for what, text in (
        ("reference", entry.reference),
        (one.pair.a.letter, entry.output_a),
        (one.pair.b.letter, entry.output_b),
    ):
        shown = "(no output)" if not text else printable(text[:width])
        yield f"    {pad(what, 10)}{shown}"


def _part_lines(one: Against, width: int) -> list[str]:
    lines: list[str] = []
    labels: dict[str, list[Part]] = {}
    for part in one.parts:
        labels.setdefault(part.label, []).append(part)
    a, b, decimals = one.pair.a.letter, one.pair.b.letter, one.primary.decimals
    for label, group in labels.items():
        head = f"{one.primary.title} by {label}"
        lines += ["", f"{pad(head, 28)}{'n':>6}{a:>9}{b:>9}{f'{b} - {a}':>9}"]
        for part in group[:_PARTS]:
            name = cut(printable(part.value), 25)
            scores = [_number(score, decimals) for score in (part.score_a, part.score_b)]
            lines.append(
                f"{pad(f'  {name}', 28)}{part.n:>6}{scores[0]:>9}{scores[1]:>9}"
                f"{_signed(part.difference, decimals):>9}"
            )
        if len(group) > _PARTS:
            lines.append(f"  and {len(group) - _PARTS} more")
    return [cut(line, width) for line in lines]


def _title(one: Result, *, primary: bool) -> str:
    lower = " ↓" if one.direction == "lower" else ""
    return f"{printable(one.title)}{lower}{' (primary)' if primary else ''}"


def _number(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:.{decimals}f}"


def _signed(value: float | None, decimals: int) -> str:
    if value is None:
        return "–"
    text = f"{value:+.{decimals}f}"
    return text[1:] if not float(text) else text  # neither +0.00 nor -0.00


def _interval(one: Result) -> str:
    if one.test is None:
        return ""
    ends = (one.test.ci_lower, one.test.ci_upper)
    return "–" if None in ends else f"[{', '.join(_signed(end, one.decimals) for end in ends)}]"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 0.00005:
        return "<0.0001"
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}"


# -- for machines ---------------------------------------------------------------------------


def comparison_json(found: Sequence[Against]) -> dict[str, Json]:
    """Return all that a comparison found as JSON."""
    return {
        "baseline": system_json(found[0].pair.a),
        "primary": found[0].primary.id,
        "systems": [_against_json(one) for one in found],
    }


def significance_json(found: Against, *, bootstrap: bool = False) -> dict[str, Json]:
    """Return the tests alone as JSON."""
    tests: list[Json] = []
    for one in found.results:
        if one.test is not None:
            p_value, method = p_value_of(one, bootstrap)
            tests.append({**_tested(one), "p": p_value, "by": method})
    return {
        "a": system_json(found.pair.a),
        "b": system_json(found.pair.b),
        "entries": _units_json(found.units, len(found.pair.ids)),
        "warnings": _warnings(found),
        "excluded": found.pair.excluded,
        "tests": tests,
        "left_out": dict(found.left_out),
    }


def power_json(sides: Sequence[Side], units: Units, found: Sequence[Power]) -> dict[str, Json]:
    """Return what a suite can see as JSON."""
    return {
        "systems": [system_json(side) for side in sides],
        "resampled": units.words,
        "power": [{**asdict(one), "sentence": one.sentence} for one in found],
    }


def system_json(side: Side) -> dict[str, Json]:
    """Return which card a system is."""
    card = side.card
    return {
        "letter": side.letter,
        "file": side.where or None,
        **{key: card[key] for key in ("run_id", "model_slug", "timestamp", "run_card_hash")},
        "run_name": card["config"]["run_name"],
        "dataset": {key: card["dataset"][key] for key in ("id", "version", "content_sha256")},
    }


def _against_json(one: Against) -> dict[str, Json]:
    return {
        **system_json(one.pair.b),
        "warnings": [*_warnings(one), *one.notes],
        "excluded": one.pair.excluded,
        "compared": _units_json(one.units, len(one.pair.ids)),
        "metrics": [
            {
                **_tested(result),
                "title": result.title,
                "role": result.role,
                "primary": result.primary,
                "p_holm": result.p_holm,
                "verdict": result.verdict,
            }
            for result in one.results
        ],
        "left_out": dict(one.left_out),
        "power": None if one.power is None else {**asdict(one.power), "words": one.power.sentence},
        "entries": {
            "won": len(one.won),
            "lost": len(one.lost),
            "tied": one.ties,
            "same_output": one.same_outputs,
            "won_most": [asdict(entry) for entry in one.won[:SHOWN]],
            "lost_most": [asdict(entry) for entry in one.lost[:SHOWN]],
        },
        "parts": [asdict(part) for part in one.parts],
    }


def _units_json(units: Units, n: int) -> Mapping[str, Json]:
    return {"entries": n, "units": units.count, "words": units.words}


def _tested(one: Result) -> dict[str, Json]:
    """Return a result and its test, flat."""
    test = {} if one.test is None else asdict(one.test)
    return test | {
        "metric": one.id,
        "direction": one.direction,
        "score_a": one.score_a,
        "score_b": one.score_b,
        "difference": one.difference,
        "reason": one.reason,
    }
