"""A second kind of case, from the extension points alone: nothing under plugin/ knows of it."""

from __future__ import annotations

import json

import pytest

KIND = '''
import hashlib, json, os
from pytest_mtarena.protocols import Report
from pytest_mtarena.records import Case, Grade, Suite, base_row


class Sums:
    """Additions: the contestant is shown the terms, the referee knows the sum."""

    name = "sums"

    def recognises(self, path):
        return path.suffix == ".sums"

    def open(self, path, settings):
        data = path.read_bytes()
        cases = []
        for index, line in enumerate(data.decode().splitlines()):
            terms, total = line.split("=")
            cases.append(
                Case(id=f"s{index}", index=index, group="plus", kind="sums",
                     public={"terms": terms.strip()}, hidden={"total": int(total)})
            )
        digest = hashlib.sha256(data).hexdigest()
        return Suite(kind="sums", id=path.stem, path=path, format="sums", sha256=digest,
                     content_sha256=digest, cases=tuple(cases), entry_count=len(cases))

    def referee(self, suite, group, scoring):
        return SumsReferee()

    def referee_for_card(self, card):
        return SumsReferee()


class SumsReferee:
    def grade(self, cases, attempts):
        return [self._grade(case, attempt) for case, attempt in zip(cases, attempts)]

    def _grade(self, case, attempt):
        right = float(attempt.output == str(case.hidden["total"]))
        return Grade(scores={"right": right}, statistics={"right": (right, 1.0)},
                     words="right" if right else "wrong")

    def row(self, case, attempt, grade):
        return {**base_row(case, attempt), "right": grade.scores["right"]}

    def score(self, rows, statistics=None):
        n = len(rows)
        share = sum(row["right"] for row in rows) / n if n else None
        return Report(scores={"total": n, "right": share}, directions={"right": "higher"},
                      headline="right", availability={} if n else {"right": "no rows"})

    def explain(self, case, attempt, grade):
        return f"{case.public['terms']} = {case.hidden['total']}, not {attempt.output}"

    def summary(self, card, *, verbosity, width):
        return [f"right {card['scores']['right']}"]


def mtarena_kinds():
    return {"sums": Sums()}


class Adder:
    def translate(self, entries, config):
        assert all(set(entry) == {"id", "index", "terms"} for entry in entries)
        return [{"id": e["id"], "predicted": str(sum(map(int, e["terms"].split("+"))))}
                for e in entries]


def mtarena_methods():
    return {"adder": Adder}
'''


@pytest.fixture
def sums(pytester):
    pytester.makeconftest(KIND)
    lines = [f"{n} + {n} = {2 * n if n != 3 else 7}" for n in range(8)]
    (pytester.path / "small.sums").write_text("\n".join(lines))
    return pytester.path / "small.sums"


def test_a_second_kind_runs_is_scored_and_verified(arena, sums, mode, pytester):
    result = arena(str(sums), "--mt-method=adder", "--mt-batch-size=3", "-v", *mode)
    assert result.code == 0, result.text
    result.outcomes(passed=8)
    assert "right 0.875" in result.text
    assert "PASSED wrong" in result.text
    card = result.card
    assert card["kind"] == "sums"
    assert card["scores"]["right"] == 7 / 8
    assert [row["entry_id"] for row in card["results"]] == [f"s{n}" for n in range(8)]

    from pytest_mtarena.results.verify import verify

    namespace: dict[str, object] = {}
    exec(KIND, namespace)  # the same extension, heard outside pytest
    from types import SimpleNamespace

    from pytest_mtarena.registry import make_registry

    registry = make_registry([SimpleNamespace(mtarena_kinds=namespace["mtarena_kinds"])])
    assert verify(card, registry) == []
    assert json.loads(json.dumps(card)) == card


def test_gates_work_on_its_scores(arena, sums):
    result = arena(str(sums), "--mt-method=adder", "--mt-fail-under=right=0.9")
    assert result.code == 1
    assert "FAILED gate: right 0.875, at least 0.9 is asked for" in result.text
    assert arena(str(sums), "--mt-method=adder", "--mt-fail-under=right=0.8").code == 0
