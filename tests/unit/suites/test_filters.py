"""Which cases the settings take."""

from __future__ import annotations

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import SuiteSettings
from pytest_mtarena.suites.corpus import missing_ids, open_corpus, why_empty

SEGMENTS = ["Development", "diagnostic", "development", "gold"]
ROWS = [
    {"id": number, "src": f"s{number}", "ref": "r", "segment": segment, "domain": domain, **rest}
    for number, segment, domain, rest in zip(
        [10, 9, 2, 30],
        SEGMENTS,
        ["ui", "conv", "UI", "legal"],
        [{"difficulty": 1}, {"difficulty": "2"}, {"difficulty": "hard"}, {}],
        strict=True,
    )
]


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ({}, ["10", "9", "2", "30"]),
        ({"dataset": "ALL"}, ["10", "9", "2", "30"]),
        ({"dataset": "DEVELOPMENT"}, ["10", "2"]),
        ({"dataset": "2-10"}, ["10", "9", "2"]),
        ({"dataset": "9 - 9"}, ["9"]),
        ({"dataset": "11-29"}, []),
        ({"dataset": "30"}, ["30"]),
        ({"ids": ("30", "10", "unknown")}, ["10", "30"]),
        ({"ids": ("9",), "dataset": "gold"}, ["9"]),
        ({"ids": ("unknown",)}, []),
        ({"domains": ("ui",)}, ["10", "2"]),
        ({"domains": ("UI", "legal")}, ["10", "2", "30"]),
        ({"difficulties": ("1", "Hard")}, ["10", "2"]),
        ({"dataset": "development", "difficulties": ("1",)}, ["10"]),
        ({"ids": ("9", "10"), "domains": ("conv",)}, ["9"]),
    ],
)
def test_selection(opened, settings, ids):
    suite = opened("s.jsonl", ROWS, **settings)
    assert [case.id for case in suite.cases] == ids
    assert suite.entry_count == 4
    positions = {str(row["id"]): index for index, row in enumerate(ROWS)}
    assert all(case.index == positions[case.id] for case in suite.cases)


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ("silver", "segments: Development, diagnostic, development, gold"),
        ("31", "no segment, range of ids A-B or id"),
        ("9-2", "ends before it begins"),
        ("", "segments"),
    ],
)
def test_data_set_that_is_none(opened, dataset, said):
    with pytest.raises(UsageError, match="--mt-dataset") as caught:
        opened("s.jsonl", ROWS, dataset=dataset)
    assert said in str(caught.value)


def test_range_over_ids_that_are_no_numbers(opened):
    rows = [{"id": "t_1", "src": "a", "ref": "b"}]
    with pytest.raises(UsageError, match=r"not all numbers \(t_1\).*--mt-ids"):
        opened("s.jsonl", rows, dataset="1-5")
    assert len(opened("s.jsonl", rows, dataset="t_1").cases) == 1


def test_id_that_looks_like_a_range(opened):
    rows = [{"id": "2024-07", "src": "a", "ref": "b"}, {"id": "x", "src": "a", "ref": "b"}]
    assert [case.id for case in opened("s.jsonl", rows, dataset="2024-07").cases] == ["2024-07"]


def test_missing_ids_over_suites(opened):
    asked = ("9", "zz", "k", "aa", "zz")
    suites = [
        opened("a.jsonl", ROWS, ids=asked),
        opened("b.jsonl", [{"id": "k", "src": "a", "ref": "b"}], ids=asked),
    ]
    assert missing_ids(suites, asked) == ["zz", "aa"]
    assert missing_ids([], ["x"]) == ["x"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ids": ("zz",)}, "--mt-ids zz"),
        ({"dataset": "11-29"}, "--mt-dataset 11-29"),
        ({"domains": ("news",)}, "--mt-domain news (there: ui, conv, UI, legal)"),
        ({"difficulties": ("5",)}, "--mt-difficulty 5 (there: 1, 2, hard)"),
    ],
)
def test_why_nothing_is_left(opened, tmp_path, settings, said):
    assert opened("s.jsonl", ROWS, **settings).cases == ()
    told = why_empty(SuiteSettings(**settings), tmp_path / "s.jsonl")
    assert said in told
    assert "\n" not in told
    assert "none of 4 entries" in told


def test_order_is_the_file_s_own(tmp_path):
    path = tmp_path / "s.tsv"
    path.write_text("id\tsrc\tref\n" + "".join(f"{n}\ta\tb\n" for n in (5, 1, 9, 3)))
    first, again = (open_corpus(path, SuiteSettings(ids=("9", "1", "5"))) for _ in range(2))
    assert [case.id for case in first.cases] == ["5", "1", "9"]
    assert first.cases == again.cases
