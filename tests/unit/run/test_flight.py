"""A death is attributed to what was in flight."""

from pytest_mtarena.protocols import Identity
from pytest_mtarena.records import RunConfig
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.flight import FlightLog, Verdicts, read_in_flight
from pytest_mtarena.run.runahead import Request


class Nobody:
    identity = Identity(name="n", slug="n", label="n")

    async def attempt(self, entries, config):
        return []


def request(*positions: int) -> Request:
    slots = [Slot("r", position) for position in positions]
    entries = [{"id": str(p), "index": p} for p in positions]
    return Request(positions, slots, Nobody(), entries, RunConfig())


def test_only_unanswered_requests_are_in_flight(tmp_path):
    path = tmp_path / "gw0.flight"
    log = FlightLog(path)
    first, second = request(0, 1), request(2)
    log.start(first)
    log.start(second)
    log.end(first)
    log.close()
    with path.open("a") as file:
        file.write('{"start": 9, "slo')
    assert read_in_flight(path) == [(Slot("r", 2),)]


def test_no_file_means_nothing_in_flight(tmp_path):
    assert read_in_flight(tmp_path / "gw9.flight") == []


def test_many_are_suspect_and_one_alone_is_convicted(tmp_path):
    path = tmp_path / "verdicts.json"
    judge, worker = Verdicts(path), Verdicts(path)
    worker.refresh()
    assert not worker.suspects
    judge.judge([(Slot("r", 0), Slot("r", 1)), (Slot("r", 2),)])
    worker.refresh()
    assert worker.suspects == {Slot("r", 0), Slot("r", 1), Slot("r", 2)}
    judge.judge([(Slot("r", 1),)])
    worker.refresh()
    assert worker.suspects == {Slot("r", 0), Slot("r", 2)}
    assert worker.crashed == {Slot("r", 1)}
    judge.judge([(Slot("r", 0), Slot("r", 1))])
    assert judge.crashed == {Slot("r", 1)}
