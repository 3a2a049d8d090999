"""A small run for the tests of cards: a toy kind of case, its rows, its facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_mtarena.card.assemble import assemble
from pytest_mtarena.card.facts import RunFacts
from pytest_mtarena.card.seal import seal
from pytest_mtarena.hookspecs import hookimpl
from pytest_mtarena.protocols import Identity, Report
from pytest_mtarena.records import (
    Attempt,
    Case,
    Failure,
    Language,
    RunConfig,
    Scoring,
    Suite,
    SuiteSettings,
    base_row,
)
from pytest_mtarena.registry import Registry

BATCH = 3


class ToyReferee:
    """Counts the characters that output and reference share, place by place."""

    def grade_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        answer, reference = row["predicted"] or "", row["reference"]
        alike = sum(a == b for a, b in zip(answer, reference, strict=False))
        return {"alike": round(alike / max(len(answer), len(reference), 1), 4)}

    def regrade(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self.grade_row(row) for row in rows]

    def score(self, rows: Sequence[Mapping[str, Any]], statistics: Any = None) -> Report:
        values = [self.grade_row(row)["alike"] for row in rows]
        mean = round(sum(values) / len(values), 4) if values else None
        return Report(
            scores={
                "total": len(rows),
                "errors": sum(row["status"] != "ok" for row in rows),
                "alike": mean,
                "fst_acceptance_rate": None,
                "confidence_intervals": {"alike": {"ci_lower": min(values, default=None)}},
                "by_domain": {"news": {"n": len(rows), "alike": mean}},
            },
            availability={"fst_acceptance_rate": "there is no analyser"},
            signatures={"alike": "toy|v:1"},
            directions={"alike": "higher"},
            headline="alike",
            caveats=["few entries"] if len(rows) < 30 else [],
        )

    def summary(self, card: Mapping[str, Any], *, verbosity: int, width: int) -> list[str]:
        return [f"alike {card['scores']['alike']}"]


class ToyKind:
    name = "toy"

    def referee_for_card(self, card: Mapping[str, Any]) -> ToyReferee:
        return ToyReferee()


class ToyPlugin:
    @hookimpl
    def mtarena_kinds(self) -> dict[str, Any]:
        return {"toy": ToyKind()}


def toy_registry() -> Registry:
    return Registry([ToyPlugin()])


def make_cases(n: int) -> tuple[Case, ...]:
    return tuple(
        Case(
            id=f"e{at}",
            index=at,
            group="eng-por",
            kind="toy",
            public={"source": f"word {at}"},
            hidden={"reference": f"palavra {at}"},
            labels={"domain": "news", "difficulty": at % 3},
        )
        for at in range(n)
    )


def make_facts(n: int = 7, **changes: Any) -> RunFacts:
    """Facts of a run on all n cases, finished."""
    ids = tuple(f"e{at}" for at in range(n))
    known: dict[str, Any] = {
        "identity": Identity(
            name="echo",
            slug="method/echo@12345678",
            content_sha256="12345678" * 8,
            card={"method_id": "echo", "name": "Echo"},
            facts={"options": {"mode": "loud"}, "class": "pipeline"},
        ),
        "kind": "toy",
        "suite": Suite(
            kind="toy",
            id="tiny",
            version="3",
            path=Path("/somewhere/private/tiny.json"),
            format="json",
            sha256="a" * 64,
            content_sha256="b" * 64,
            cases=make_cases(n),
            entry_count=n,
            languages={"eng-por": (Language(code="eng", name="English"), Language(code="por"))},
            provenance=("demo",),
        ),
        "group": "eng-por",
        "run_config": RunConfig(batch_size=BATCH, source_lang="English", target_lang="por"),
        "settings": SuiteSettings(reference_path=Path("/somewhere/private/refs.txt")),
        "scoring": Scoring(),
        "hooks": ("strip",),
        "selected_ids": ids,
        "started": datetime(2026, 3, 4, 5, 6, 7, 890, tzinfo=UTC),
        "elapsed_seconds": 12.5,
        "complete": True,
        "method_dir": Path("methods/echo"),
    }
    return RunFacts(**(known | changes))


def make_rows(n: int = 7, **changes: Any) -> list[dict[str, Any]]:
    """Rows of n cases in batches of 3; the last case failed."""
    rows = []
    for case in make_cases(n):
        at = case.index
        failed = at == n - 1
        attempt = Attempt(
            id=case.id,
            output=None if failed else f"palabra {at}",
            raw_output=None if failed else f" palabra {at}",
            failure=Failure(kind="exception", message="it broke") if failed else None,
            usage={"prompt_tokens": 10 + at, "completion_tokens": 5},
            cost_usd=0.25,
            request=at - at % BATCH,
            request_seconds=1.0 + at // BATCH,
        )
        row = base_row(case, attempt)
        row |= {"source": f"word {at}", "reference": f"palavra {at}", **changes}
        row |= ToyReferee().grade_row(row)
        rows.append(row)
    return rows


def make_card(n: int = 7, **changes: Any) -> dict[str, Any]:
    """A card that is not sealed, of facts with these changes."""
    rows = make_rows(n)
    return assemble(
        make_facts(n, **changes),
        rows,
        ToyReferee().score(rows),
        environment=ENVIRONMENT,
        provenance={"method": None, "suite": None},
    )


def sealed_card(n: int = 7, **changes: Any) -> dict[str, Any]:
    return seal(make_card(n, **changes))


ENVIRONMENT: dict[str, Any] = {
    "harness_version": "2.0",
    "package_version": "0.1.0",
    "harness_git_commit": None,
    "python_version": "3.11.0",
    "sacrebleu_version": "2.5.0",
    "pytest_version": "8.4.0",
    "numpy_version": "2.0.0",
    "os": "Linux",
}
