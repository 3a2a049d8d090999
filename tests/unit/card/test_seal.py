"""The seal: checked by three lines of Python, by Node, and by changing things."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import shutil
import subprocess
from typing import Any

import pytest
import rfc8785

from pytest_mtarena.card.seal import check_seal, seal
from pytest_mtarena.card.store import read_card, write_card
from tests.unit.card.making import make_card, sealed_card

NUMBERS = {
    "one": 1.0,
    "zero": -0.0,
    "tiny": 1e-07,
    "small": 1e-05,
    "huge": 1e21,
    "large": 1.5e16,
    "power": float(2**60),
    "sum": 0.1 + 0.2,
    "\U00010000": 1,
    "\ue000": 2,
    "10": "integer-like keys move to the front in JavaScript",
    "9": [0.0, {"deep": 3.0}],
}


def awkward_card() -> dict[str, Any]:
    card = make_card()
    card["extra"] = dict(NUMBERS)
    card["results"][2]["metadata"] = dict(NUMBERS)
    card["scores"]["alike"] = 100.0
    return card


def test_three_lines_of_python(tmp_path: Any) -> None:
    path = write_card(seal(awkward_card()), tmp_path, "card")
    card = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps({**card, "run_card_hash": ""}, sort_keys=True, ensure_ascii=False)
    assert hashlib.sha256(text.encode("utf-8")).hexdigest() == card["run_card_hash"]


def test_digest_is_rfc8785_without_both_hashes() -> None:
    card = sealed_card()
    rest = {k: v for k, v in card.items() if k not in ("run_card_hash", "run_card_digest")}
    assert hashlib.sha256(rfc8785.dumps(rest)).hexdigest() == card["run_card_digest"]


def test_hash_comes_last_and_sealing_again_changes_nothing() -> None:
    card = sealed_card()
    assert list(card)[-1] == "run_card_hash"
    assert check_seal(card) == []
    assert seal(card) == card


def _javascript(text: str) -> str:
    node = shutil.which("node")
    if node is None:  # what such a reader does to the text, by hand
        return json.dumps(json.loads(text, parse_float=_double), ensure_ascii=False)
    script = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0))))"
    done = subprocess.run(
        [node, "-e", script], input=text.encode(), capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode()


def _double(digits: str) -> float | int:
    value = float(digits)
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


@pytest.mark.parametrize("again", [_javascript, lambda text: json.dumps(json.loads(text))])
def test_seal_holds_after_another_program_wrote_the_card(tmp_path: Any, again: Any) -> None:
    path = write_card(seal(awkward_card()), tmp_path, "card")
    other = tmp_path / "other.json"
    other.write_text(again(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert check_seal(read_card(other)) == []
    changed = read_card(other)
    changed["extra"]["sum"] = math.nextafter(changed["extra"]["sum"], 1)
    assert len(check_seal(changed)) == 2


def test_seal_of_floats_that_stand_for_integers() -> None:
    """A card whose integers became floats on the way says the same."""
    card = sealed_card()
    floats = {**card, "elapsed_seconds": float(card["elapsed_seconds"])}
    floats["selection"] = {**card["selection"], "n_rows": float(card["selection"]["n_rows"])}
    assert check_seal(floats) == []


def test_documented_hash_of_a_card_that_others_sealed_holds() -> None:
    card: dict[str, Any] = {"scores": {"alike": 100.0}, "results": [], "run_card_hash": ""}
    text = json.dumps(card, sort_keys=True, ensure_ascii=False)
    card["run_card_hash"] = hashlib.sha256(text.encode()).hexdigest()
    assert check_seal(card) == ["run_card_digest: the card is not sealed"]


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda c: c["results"][3].update(predicted="x"), {"run_card_digest", "run_card_hash"}),
        (lambda c: c["results"].pop(), {"run_card_digest", "run_card_hash"}),
        (lambda c: c["results"].reverse(), {"run_card_digest", "run_card_hash"}),
        (lambda c: c.update(run_card_hash_alg="md5"), {"run_card_digest", "run_card_hash"}),
        (lambda c: c.update(run_card_hash="0" * 64), {"run_card_hash"}),
        (lambda c: c.update(run_card_digest="0" * 64), {"run_card_digest", "run_card_hash"}),
        (lambda c: c.pop("run_card_hash"), {"run_card_hash"}),
    ],
)
def test_changes_break_it(change: Any, fields: set[str]) -> None:
    card = copy.deepcopy(sealed_card())
    change(card)
    assert {line.split(":")[0] for line in check_seal(card)} == fields


def test_a_card_that_is_not_json_is_a_line_and_no_traceback() -> None:
    card = {**sealed_card(), "extra": {"x": float("nan")}}
    assert check_seal(card) == ["extra.x: nan is not a JSON number; use null"]
