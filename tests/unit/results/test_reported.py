"""The figures of a public report against an independent computation by the documented rule."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from reports import make_report
from sacrebleu.metrics import BLEU, CHRF, TER

from pytest_mtarena.cli import main

WORDS = ["lea", "dá", "okta", "nubbi", "goalmmát", "mannu", "beaivi", "čáhci"]
REPLICATES = 200


def entries() -> list[dict[str, Any]]:
    rng = random.Random(5)
    made = []
    for at in range(14):
        reference = " ".join(rng.choices(WORDS, k=rng.randint(3, 8)))
        words = [w if rng.random() < 0.8 else rng.choice(WORDS) for w in reference.split()]
        made.append(
            {
                "id": f"r{at}",
                "source": f"text {at}",
                "expected": reference,
                "raw_predicted": " ".join(words),
                "predicted": " ".join(words),
                "segment": "",
                "difficulty": 1 + at % 2,
                "domain": "news",
                "latency_s": 0.1,
                "cost_usd": 0.001,
                "tool_call_count": 0,
                "error": None,
            }
        )
    return made


def exact(one: dict[str, Any]) -> float:
    return float(one["predicted"].lower().strip() == one["expected"].lower().strip())


def chrf(chosen: list[dict[str, Any]]) -> float:
    outputs = [one["predicted"] for one in chosen]
    return CHRF(word_order=2).corpus_score(outputs, [[one["expected"] for one in chosen]]).score


def block(name: str, chosen: list[dict[str, Any]], score: Any, seed: int) -> dict[str, Any]:
    """Compute an interval as documented, one replicate after the other."""
    rng = random.Random(seed)
    n = len(chosen)
    drawn = sorted(
        score([chosen[rng.randint(0, n - 1)] for _ in range(n)]) for _ in range(REPLICATES)
    )
    lower, upper = drawn[int(REPLICATES * 0.025)], drawn[int(REPLICATES * 0.975) - 1]
    return {
        "metric_name": name,
        "score": round(score(chosen), 4),
        "ci_lower": round(lower, 4),
        "ci_upper": round(upper, 4),
        "ci_width": round(upper - lower, 4),
        "n_bootstrap": REPLICATES,
        "confidence_level": 0.95,
        "n_entries": n,
        "seed": seed,
    }


def rate(chosen: list[dict[str, Any]]) -> float:
    return sum(map(exact, chosen)) / len(chosen)


def composite(chosen: list[dict[str, Any]]) -> float:
    return round((0.25 * chrf(chosen) / 100 + 0.10 * rate(chosen)) / 0.35, 4)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    every = entries()
    outputs, references = ([one[key] for one in every] for key in ("predicted", "expected"))
    lengths = [len(o) / len(r) for o, r in zip(outputs, references, strict=True)]
    tiers = {
        str(tier): {
            "corpus_chrf": block(
                f"corpus_chrf_tier{tier}",
                [one for one in every if one["difficulty"] == tier],
                chrf,
                12345 + tier,
            )
        }
        for tier in (1, 2)
    }
    overall = {
        "total_entries": len(every),
        "corpus_chrf": round(chrf(every), 2),
        "corpus_bleu": round(BLEU().corpus_score(outputs, [references]).score, 2),
        "corpus_ter": round(TER().corpus_score(outputs, [references]).score, 2),
        "exact_match_rate": round(rate(every), 4),
        "avg_length_ratio": round(sum(lengths) / len(lengths), 4),
        "confidence_intervals": {
            "corpus_chrf": block("corpus_chrf", every, chrf, 12345),
            "exact_match_rate": block("exact_match_rate", every, rate, 12345),
            "composite_score": block("composite_score", every, composite, 12345),
        },
        "confidence_intervals_by_tier": tiers,
    }
    return make_report(entries=every, overall=overall)


def test_every_figure_of_a_right_report_is_found_again(report, tmp_path, capsys):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    assert main(["test", "--check", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 report: 45 figures equal, 0 different"
    assert list(tmp_path.iterdir()) == [path], "nothing is written"


@pytest.mark.parametrize(
    "path",
    [
        ("corpus_ter",),
        ("confidence_intervals", "composite_score", "ci_upper"),
        ("confidence_intervals_by_tier", "2", "corpus_chrf", "ci_lower"),
    ],
)
def test_a_wrong_figure_is_named(report, tmp_path, capsys, path):
    changed = json.loads(json.dumps(report))
    place = changed["overall"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] += 0.01
    file = tmp_path / "report.json"
    file.write_text(json.dumps(changed), encoding="utf-8")
    assert main(["test", "--check", "--json", str(file)]) == 1
    [found] = json.loads(capsys.readouterr().out).values()
    [line] = found["differences"]
    assert path[-1] in line
    assert "in the report" in line


def test_what_cannot_be_checked_is_one_line(report, tmp_path, capsys):
    (tmp_path / "card.json").write_text("{}", encoding="utf-8")
    assert main(["test", "--check", str(tmp_path / "card.json")]) == 2
    assert "no report of another harness" in capsys.readouterr().err
    bare = {key: value for key, value in report.items() if key != "overall"}
    (tmp_path / "bare.json").write_text(json.dumps(bare), encoding="utf-8")
    assert main(["test", "--check", str(tmp_path / "bare.json")]) == 2
    assert "Traceback" not in capsys.readouterr().err
