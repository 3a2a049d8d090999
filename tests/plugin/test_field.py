"""Troubles that others have met in the field, met on purpose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SERVER = """
import json
from pathlib import Path

ANSWERS = json.loads(Path({answers!r}).read_text(encoding="utf-8"))

class Method:
    async def translate(self, entries, config):
        with open({log!r}, "a", encoding="utf-8") as file:
            for entry in entries:
                file.write(json.dumps([entry["id"], entry["source"]]) + "\\n")
        results = []
        for entry in entries:
            answer = ANSWERS[entry["source"]]
            results.append({{"id": entry["id"], **answer}} if isinstance(answer, dict)
                           else {{"id": entry["id"], "predicted": answer}})
        return results
"""


class Server:
    """A method that answers as it is told, and what it was asked."""

    def __init__(self, directory: Path, log: Path) -> None:
        self.option = f"--mt-method={directory}"
        self.log = log

    @property
    def asked(self) -> list[list[str]]:
        """Id and source of every entry that was sent, in the order of sending."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def server(method, pytester):
    def make(answers):
        path, log = pytester.path / "answers.data", pytester.path / "asked.data"
        path.write_text(json.dumps(answers), encoding="utf-8")
        log.unlink(missing_ok=True)
        return Server(method(SERVER.format(answers=str(path), log=str(log))), log)

    return make


def lines_of(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# -- files ----------------------------------------------------------------------------------


def test_windows_line_ends_cost_no_exact_match(arena, server, pytester):
    (pytester.path / "s.tsv").write_bytes(
        b"id\tsrc\tref\r\na\tGood night\tBuorre idja\r\nb\tYes\tJuo\r\n"
    )
    result = arena("s.tsv", server({"Good night": "Buorre idja", "Yes": "Juo"}).option)
    assert [row["reference"] for row in result.rows] == ["Buorre idja", "Juo"]
    assert [row["exact_match_strict"] for row in result.rows] == [True, True]
    assert result.card["scores"]["exact_match_rate"] == 1.0


@pytest.mark.parametrize("code", ["no", "on"])
def test_a_language_code_stays_a_word(arena, corpus, good, code):
    path = corpus(2, language_pair={"source": "en", "target": code, "target_name": "X"})
    result = arena(str(path), f"--mt-method={good}", "-v")
    assert result.card["dataset"]["language_pair"] == f"en>{code}"
    assert result.card["dataset"]["languages"]["target_code"] == code
    assert f"tiny.json::en-{code}::e1 PASSED" in result.text, "an id that can be copied"
    named = json.dumps([result.card["dataset"]["languages"], result.card["dataset"]["id"]])
    assert "alse" not in named
    assert "rue" not in named


def test_a_suite_in_a_format_that_is_not_read_is_no_green_run(arena, good, pytester):
    (pytester.path / "s.yaml").write_text("entries: []\n")
    result = arena("s.yaml", f"--mt-method={good}")
    assert result.code not in (0, 1), result.text
    assert "s.yaml" in result.text
    assert "Traceback" not in result.text


def test_two_entries_with_one_id_send_nothing(arena, server, pytester):
    rows = [{"id": i, "src": f"word {n}", "ref": "x"} for n, i in enumerate(["a", "b", "c", "b"])]
    (pytester.path / "s.jsonl").write_text(lines_of(*rows))
    asked = server({row["src"]: "x" for row in rows})
    result = arena("s.jsonl", asked.option)
    assert result.code == 2, result.text
    assert "s.jsonl:4: id b stands twice: line 2 and line 4" in result.text
    assert asked.asked == []
    assert result.cards == []


def test_a_blank_line_on_one_side_is_neither_sent_nor_shifted(arena, server, pytester):
    (pytester.path / "a.txt").write_text("Red\n\nBlue\n")
    (pytester.path / "b.txt").write_text("Rukses\nRuoná\nAlit\n")
    asked = server({"Red": "Rukses", "Blue": "Alit"})
    result = arena("--mt-source-file=a.txt", "--mt-reference-file=b.txt", asked.option)
    assert result.code == 0, result.text
    assert asked.asked == [["1", "Red"], ["3", "Blue"]]
    assert [row["exact_match"] for row in result.rows] == [True, None, True]
    assert [row["status"] for row in result.rows] == ["ok", "invalid", "ok"]
    scores = result.card["scores"]
    assert (scores["total"], scores["evaluated"], scores["n_invalid"]) == (3, 2, 1)


@pytest.mark.parametrize("size", [1, 2])
def test_an_entry_of_several_lines_is_one_entry(arena, server, pytester, size):
    text, plain = "Line one\nline two\tend", "Short one of five words"
    said = {text: "Okta linnjá\nguokte linnjá\tloahppa", plain: "Oanehis dajaldat mas vihtta sáni"}
    rows = [{"id": i, "src": s, "ref": said[s]} for i, s in (("m", text), ("n", plain))]
    (pytester.path / "s.jsonl").write_text(lines_of(*rows), encoding="utf-8")
    asked = server(said)
    result = arena("s.jsonl", asked.option, f"--mt-batch-size={size}")
    assert sorted(asked.asked) == [["m", text], ["n", plain]]
    assert [row["predicted"] for row in result.rows] == list(said.values())
    assert [row["entry_chrf"] for row in result.rows] == [100.0, 100.0]
    assert [row["bleu_score"] for row in result.rows] == [100.0, 100.0]


@pytest.mark.parametrize(("bad", "told"), [('""', "bad.jsonl:2"), ('"\\ud800"', "bad.jsonl:2")])
def test_an_id_that_is_none_is_a_line_of_the_file(arena, good, pytester, bad, told):
    (pytester.path / "bad.jsonl").write_text(
        f'{{"id": "a", "src": "x", "ref": "y"}}\n{{"id": {bad}, "src": "x", "ref": "y"}}\n'
    )
    result = arena("bad.jsonl", f"--mt-method={good}")
    assert result.code == 2, result.text
    assert told in result.text
    assert "Traceback" not in result.text


# -- counting -------------------------------------------------------------------------------


def test_failed_calls_stay_in_the_denominator_and_deselected_entries_do_not_enter(
    arena, server, pytester
):
    rows = [{"id": f"t{n:02}", "src": f"text {n}", "ref": f"teaksta {n}"} for n in range(11)]
    answers = {row["src"]: row["ref"] for row in rows}
    answers["text 3"] = "something else"
    answers["text 7"] = {"error": "HTTP 500"}
    (pytester.path / "s.jsonl").write_text(lines_of(*rows))
    asked = server(answers)
    result = arena("s.jsonl", asked.option, "--mt-batch-size=4", "-k", "not t10")
    assert result.code == 1
    result.outcomes(passed=9, failed=1, deselected=1)
    scores = result.card["scores"]
    assert (scores["evaluated"], scores["exact_matches"], scores["errors"]) == (10, 8, 1)
    assert scores["exact_match_rate"] == 0.8
    assert "t10" not in [id for id, _ in asked.asked]


def test_running_backwards_gives_the_same_card(arena, corpus, method, pytester):
    directory = method(
        """
class Method:
    def translate(self, entries, config):
        return [{"id": e["id"], "predicted": e["source"].replace("word", "palavra")}
                for e in entries]
"""
    )
    arguments = (str(corpus(11)), f"--mt-method={directory}", "--mt-batch-size=3")
    forwards = arena(*arguments).card
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")
    result = arena(*arguments, "-v")
    assert result.text.index("::e11 ") < result.text.index("::e1 ")
    backwards = result.card
    assert forwards["scores"]["confidence_intervals"]["chrf_plus_plus"] is not None
    for name in ("confidence_intervals", "chrf_plus_plus", "bleu", "by_difficulty"):
        assert backwards["scores"].get(name) == forwards["scores"].get(name)
    timed = ("latency_seconds", "request_seconds")
    strip = [
        [{k: v for k, v in row.items() if k not in timed} for row in card["results"]]
        for card in (forwards, backwards)
    ]
    assert strip[0] == strip[1]


# -- collecting and selecting ---------------------------------------------------------------


DOMAINS = ["tech", "legal", "medical", "news", "ui", "conversational", "literary", "other"]


@pytest.fixture
def several(pytester):
    """Eight suites of one entry, each with a domain of its own."""
    (pytester.path / "quality").mkdir()
    for number, domain in enumerate(DOMAINS):
        row = {"id": f"only-{domain}", "src": f"word {number}", "ref": "x", "domain": domain}
        (pytester.path / f"quality/{8 - number}.jsonl").write_text(lines_of(row))
    return [f"quality/{n}.jsonl::" for n in range(1, 9)]


def test_every_process_collects_the_same_in_the_same_order(
    arena, good, several, pytester, monkeypatch
):
    option = f"--mt-method={good}"
    lists = []
    for seed in "0123":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        result = arena("quality", option, "--collect-only", "-q")
        lists.append([line for line in result.run.stdout.lines if "::" in line])
    assert len(lists[0]) == 8
    assert [line.partition("::")[0] + "::" for line in lists[0]] == several
    assert lists[1:] == lists[:1] * 3
    monkeypatch.delenv("PYTHONHASHSEED")
    result = arena("quality", option, "-n3")
    assert result.code == 0, result.text
    result.outcomes(passed=8)
    ran = [row["entry_id"] for card in result.cards for row in card["results"]]
    assert sorted(ran) == sorted(f"only-{domain}" for domain in DOMAINS)


HARD = ["p::y[3] # z", "two words", "guolli-čáhci", "this and that", "or", "k-2", "k-20"]


def test_ids_that_are_no_expressions_can_be_selected(arena, good, pytester):
    rows = [{"id": i, "src": f"word {n}", "ref": "x"} for n, i in enumerate(HARD)]
    (pytester.path / "s.jsonl").write_text(lines_of(*rows), encoding="utf-8")
    listed = [
        line
        for line in arena("s.jsonl", f"--mt-method={good}", "--collect-only", "-q").run.stdout.lines
        if line.startswith("s.jsonl::")
    ]
    assert len(listed) == len(HARD)
    without = [node for node in listed if not node.endswith("k-20")]
    result = arena(*without, f"--mt-method={good}")
    assert [row["entry_id"] for row in result.rows] == HARD[:-1]
    by_id = arena("s.jsonl", f"--mt-method={good}", "--mt-ids=" + ",".join(HARD[:-1]))
    assert [row["entry_id"] for row in by_id.rows] == HARD[:-1]
