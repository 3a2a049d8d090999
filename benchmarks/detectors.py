"""What the detectors of code switching and hallucination find in errors that were put in.

    python benchmarks/detectors.py --reports DIR [--language-id]

``DIR`` holds test reports (JSON with ``config`` and ``entries`` of ``source``, ``expected`` and
``predicted``). For each corpus that they are of, the detectors are fitted on its references. Then
errors are made from the references (``ref``) and from the real outputs (``out``), and the share
that is flagged is printed in percent. There are no human labels: what is flagged of the real
outputs is printed as it is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_mtarena.languages.table import find_language
from pytest_mtarena.protocols import Finding, MetricInput
from pytest_mtarena.records import Resources
from pytest_mtarena.referee.metrics import code_switching, hallucination
from pytest_mtarena.referee.scripts import choose
from pytest_mtarena.referee.setting import Setting

CUTS = (0.3, 0.4, 0.5)
SHIFTS = (7, 13, 20)
"""How far away the entry is whose text a swapped sentence is."""


@dataclass
class Corpus:
    """The entries of one corpus and the outputs of all its reports."""

    name: str
    source: str
    target: str
    entries: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Id to source and reference."""
    outputs: list[tuple[str, str]] = field(default_factory=list)
    """Ids and outputs."""


def read(directory: Path) -> list[Corpus]:
    """Return the corpora that the reports of a directory are of."""
    corpora: dict[str, Corpus] = {}
    for path in sorted(directory.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(report, dict) or "entries" not in report or "config" not in report:
            continue
        config = report["config"]
        name = Path(str(config["corpus_path"])).stem
        corpus = corpora.setdefault(
            name, Corpus(name, config["source_lang"] or "English", config["target_lang"])
        )
        for entry in report["entries"]:
            corpus.entries[entry["id"]] = entry["source"], entry["expected"]
            if not entry.get("error"):
                corpus.outputs.append((entry["id"], entry["predicted"]))
    return list(corpora.values())


def inputs(corpus: Corpus, pairs: Sequence[tuple[str, str]]) -> list[MetricInput]:
    """Return ids and outputs as the detectors see them."""
    return [
        MetricInput.model_construct(
            id=id,
            source=corpus.entries[id][0],
            output=output,
            references=(corpus.entries[id][1],),
            raw_output=output,
            failed=False,
            fields={},
        )
        for id, output in pairs
    ]


def cases(corpus: Corpus, unsegmented: bool) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give each kind of output: its name, ids and texts."""
    sources = [(id, source) for id, (source, _) in corpus.entries.items()]
    references = [(id, reference) for id, (_, reference) in corpus.entries.items()]
    source_of = dict(sources)
    own = [(id, text) for id, text in corpus.outputs if text != source_of[id] and text.strip()]
    yield "references", references
    yield "copies", [(id, text) for id, text in sources if text != corpus.entries[id][1]]
    for name, texts in (("ref", references), ("out", own)):
        loops = [(id, loop) for id, text in texts for loop in looped(text, unsegmented)]
        yield f"loops {name}", loops
        for part in CUTS:
            cut = [(id, text[: max(1, int(part * len(text)))]) for id, text in texts]
            yield f"cut {100 * part:.0f} {name}", cut
        yield f"swapped {name}", list(swapped(corpus, texts))
    yield "half", [(id, half(source_of[id], text, unsegmented)) for id, text in references]
    yield "mixed", [(id, mixed(source_of[id], text, unsegmented)) for id, text in references]
    yield "outputs", corpus.outputs


def looped(text: str, unsegmented: bool) -> Iterator[str]:
    """Give the text with its end repeated, and the whole text three times."""
    blank = "" if unsegmented else " "
    end = text[-4:] if unsegmented else " ".join(text.split()[-2:])
    yield blank.join([text] + [end] * 8)
    yield blank.join([text] * 3)


def swapped(corpus: Corpus, texts: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Give each id the text of other entries whose source and reference differ."""
    for shift in SHIFTS:
        for place, (id, _) in enumerate(texts):
            other, text = texts[(place + shift) % len(texts)]
            mine, theirs = corpus.entries[id], corpus.entries[other]
            if mine[0] != theirs[0] and mine[1] != theirs[1]:
                yield id, text


def half(source: str, reference: str, unsegmented: bool) -> str:
    """Return the first half of the source and the second half of the reference."""
    words = source.split()
    first = " ".join(words[: (len(words) + 1) // 2])
    if unsegmented:
        return first + reference[len(reference) // 2 :]
    rest = reference.split()
    return " ".join([first, *rest[len(rest) // 2 :]])


def mixed(source: str, reference: str, unsegmented: bool) -> str:
    """Return words of source and reference in turn."""
    rest = list(reference) if unsegmented else reference.split()
    words = source.split()
    step = max(1, len(rest) // max(1, len(words)))
    pieces = [
        (" " if not unsegmented else "").join(rest[i : i + step]) for i in range(0, len(rest), step)
    ]
    pairs = zip(words[::2], pieces[1::2], strict=False)
    return " ".join(piece for pair in pairs for piece in pair) or source


def flagged(findings: Sequence[Finding], column: int) -> int:
    """Return how many findings are flagged."""
    return sum(found.statistics[column] > 0 for found in findings if found.statistics is not None)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=Path, required=True, metavar="DIR", help="test reports")
    parser.add_argument("--language-id", action="store_true", help="identify languages, too")
    options = parser.parse_args()
    corpora = read(options.reports)
    if not corpora:
        parser.error(f"{options.reports}: no test reports (*.json with config and entries)")
    tables: dict[str, dict[str, Counter[str]]] = {
        "code_switching_rate": {},
        "hallucination_rate": {},
    }
    types: Counter[str] = Counter()
    spent: defaultdict[str, float] = defaultdict(float)
    for corpus in corpora:
        measure(corpus, options.language_id, tables, types, spent)
    for name, rows in tables.items():
        show(name, rows)
        per_entry = 1000 * spent[name] / spent[f"{name} entries"]
        print(f"CPU: {per_entry:.3f} ms an entry; fitting {spent[name + ' fit']:.2f} s in all\n")
    print("real outputs by type: " + ", ".join(f"{name} {n}" for name, n in types.items()))


def measure(
    corpus: Corpus,
    language_id: bool,
    tables: dict[str, dict[str, Counter[str]]],
    types: Counter[str],
    spent: defaultdict[str, float],
) -> None:
    """Add what the detectors find in one corpus."""
    source, target = (find_language(name=name) for name in (corpus.source, corpus.target))
    references = [reference for _, reference in corpus.entries.values()]
    unsegmented = choose(target.code, references).unsegmented
    setting = Setting(source, target, unsegmented, Resources(language_id=language_id))
    gold = inputs(corpus, [(id, reference) for id, (_, reference) in corpus.entries.items()])
    for module, column in ((code_switching, 5), (hallucination, 0)):
        metric: Any = module.make(setting)[0]
        start = time.process_time()
        metric, calibration = metric.calibrate(gold)
        spent[f"{metric.id} fit"] += time.process_time() - start
        row = tables[metric.id].setdefault(corpus.name, Counter())
        if metric.id == "code_switching_rate":
            row["blind"] += round(calibration.n * (calibration.rate or 0.0))
            row["blind of"] += calibration.n
        for kind, pairs in cases(corpus, unsegmented):
            ready = inputs(corpus, pairs)
            start = time.process_time()
            findings = metric.examine(ready)
            if kind == "outputs":
                spent[metric.id] += time.process_time() - start
                spent[f"{metric.id} entries"] += len(ready)
                if metric.id == "hallucination_rate":
                    for place, name in enumerate(hallucination.TYPES):
                        types[name] += flagged(findings, 2 + place)
            row[kind] += flagged(findings, column)
            row[f"{kind} of"] += len(ready)
        if reason := calibration.reason or calibration.facts.get("language_identification"):
            print(f"{corpus.name}: {reason}")


def show(title: str, rows: dict[str, Counter[str]]) -> None:
    """Print one table, in percent."""
    total: Counter[str] = Counter()
    for row in rows.values():
        total.update(row)
    kinds = [kind for kind in total if f"{kind} of" in total]
    width = max(len(name) for name in rows)
    print(title)
    print(" " * width + "  entries " + " ".join(f"{kind:>11}" for kind in kinds))
    for name, row in {**rows, "all": total}.items():
        shares = [100 * row[kind] / max(1, row[f"{kind} of"]) for kind in kinds]
        print(
            f"{name:<{width}}  {row['references of']:7} "
            + " ".join(f"{share:11.1f}" for share in shares)
        )


if __name__ == "__main__":
    main()
