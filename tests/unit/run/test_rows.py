"""Rows live in the journal, and in memory only when they could not be written."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.plugin.ship import pack
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.journal import Journal
from pytest_mtarena.run.rows import RowStore


def line(number, **row):
    return "{" + f'"worked":1.5,{pack(Slot("r", number), {"n": number, **row}, {})[1:]}'


def test_the_last_row_of_a_slot_counts_wherever_it_stands(tmp_path):
    journal = Journal.create(tmp_path / "j.jsonl", {})
    store = RowStore()
    for number, slot in enumerate([Slot("r", 0), Slot("r", 1), Slot("r", 0)]):
        store.put(slot, line(number), journal.append(line(number)))
    store.put(Slot("r", 2), line(9), None)
    wanted = [Slot("r", position) for position in range(4)]
    assert [p["row"]["n"] for p, _ in store.take(wanted, journal)] == [2, 1, 9]
    assert len(store) == 0
    journal.close()


def test_equal_parts_of_many_rows_are_shared(monkeypatch):
    monkeypatch.setattr("pytest_mtarena.run.rows.MANY", 2)
    store = RowStore()
    for position in range(2):
        row = line(position, usage={}, tool_calls=[], predicted="same", raw_predicted="same")
        store.put(Slot("r", position), row, None)
    one, two = (p["row"] for p, _ in store.take([Slot("r", 0), Slot("r", 1)], None))
    assert one["usage"] is two["usage"]
    assert one["predicted"] is one["raw_predicted"]
    assert one["n"] == 0


def _encodes(text):
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=30).filter(_encodes), max_size=30))
def test_what_is_put_is_taken(tmp_path_factory, texts):
    journal = Journal.create(tmp_path_factory.mktemp("j") / "j.jsonl", {})
    store = RowStore()
    for position, text in enumerate(texts):
        row = line(position, predicted=text)
        store.put(Slot("r", position), row, journal.append(row))
    slots = [Slot("r", position) for position in range(len(texts))]
    taken = list(store.take(slots, journal))
    assert [payload["row"]["predicted"] for payload, _ in taken] == texts
    assert [json.loads(text) for _, text in taken] == [payload["row"] for payload, _ in taken]
    journal.close()
