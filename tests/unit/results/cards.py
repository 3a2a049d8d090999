"""Run cards of small translation runs, made by hand: who said what to which entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_mtarena.card.assemble import assemble
from pytest_mtarena.card.seal import seal
from pytest_mtarena.records import Attempt, Case, Failure, Language, RunConfig, Scoring, Suite
from pytest_mtarena.referee.translation import TranslationKind
from pytest_mtarena.suites.corpus import content_hash
from tests.unit.card.making import ENVIRONMENT, make_facts

PAIR = (Language(code="eng", name="English"), Language(code="por", name="Portuguese"))
WORDS = ("casa", "rua", "porta", "mesa", "livro", "vento", "chuva", "noite", "dia", "mar", "rio")


def make_suite(n: int = 24, **fields: Any) -> list[dict[str, Any]]:
    """Return n entries with different sources and references of five words."""
    return [
        {
            "id": f"e{at:03}",
            "source": f"sentence number {at}",
            "reference": " ".join(WORDS[(at * step + at // 11) % 11] for step in (1, 5, 7, 10, 3)),
            "difficulty": at % 3 + 1,
            "domain": "conv" if at % 2 else "tech",
            **{key: value(at) for key, value in fields.items()},
        }
        for at in range(n)
    ]


def spoilt(entries: list[dict[str, Any]], every: int, by: int = 2) -> list[str | None]:
    """Return the references, in every so many of which the first words are wrong."""
    outputs: list[str | None] = []
    for at, entry in enumerate(entries):
        words = entry["reference"].split()
        if at % every == 0:
            words[:by] = ["errado"] * by
        outputs.append(" ".join(words))
    return outputs


def make_cases(entries: list[dict[str, Any]]) -> tuple[Case, ...]:
    """Return the cases of entries."""
    labels = ("difficulty", "domain")
    return tuple(
        Case(
            id=entry["id"],
            index=at,
            group="eng-por",
            kind="translation",
            public={"source": entry["source"]},
            hidden={
                "references": [entry["reference"]],
                "fields": {k: v for k, v in entry.items() if k not in ("source", "reference")},
            },
            labels={key: entry[key] for key in labels},
        )
        for at, entry in enumerate(entries)
    )


def translation_card(
    entries: list[dict[str, Any]],
    outputs: list[str | None],
    name: str = "mine",
    *,
    kind: TranslationKind | None = None,
    metrics: tuple[str, ...] | None = ("chrf_plus_plus", "bleu", "ter", "exact_match_rate"),
    pair: tuple[Language, Language] = PAIR,
    suite: str = "tiny",
    complete: bool = True,
    **scoring: Any,
) -> dict[str, Any]:
    """Return the sealed card of a run on entries; an output of None is a failure."""
    every = make_cases(entries)
    # Those that were not reached are selected all the same.
    cases = every if complete else every[: len(outputs)]
    about = Suite(
        kind="translation",
        id=suite,
        path=Path(f"/somewhere/{suite}.json"),
        format="json",
        sha256="a" * 64,
        content_sha256=content_hash(every),
        cases=every,
        entry_count=len(every),
        languages={"eng-por": pair},
    )
    how = Scoring(metrics=metrics, intervals=False, **scoring)
    referee: Any = (kind or TranslationKind()).referee(about, "eng-por", how)
    attempts = [
        Attempt(id=case.id, failure=Failure(kind="exception", message="it broke"))
        if output is None
        else Attempt(id=case.id, output=output, raw_output=output)
        for case, output in zip(cases, outputs, strict=True)
    ]
    grades = referee.grade(cases, attempts)
    rows = [referee.row(*one) for one in zip(cases, attempts, grades, strict=True)]
    facts = make_facts(
        kind="translation",
        suite=about,
        run_config=RunConfig(source_code=pair[0].code, target_code=pair[1].code),
        scoring=how,
        selected_ids=tuple(case.id for case in every),
        complete=complete,
        run_name=name,
    )
    report = referee.score(rows)
    blank = {"method": None, "suite": None}
    return seal(assemble(facts, rows, report, environment=ENVIRONMENT, provenance=blank))
