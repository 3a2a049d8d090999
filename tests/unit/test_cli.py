"""mt-eval: what it prints, and its exit codes."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena import cli
from pytest_mtarena.card.store import write_card
from tests.unit.card.making import make_card


@pytest.fixture
def stored(tmp_path):
    return write_card(make_card(), tmp_path, "card")


def test_a_missing_file_and_a_broken_card(tmp_path, capsys):
    assert cli.main(["verify", str(tmp_path / "no.json")]) == 2
    assert "no such file" in capsys.readouterr().err
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert cli.main(["verify", str(broken)]) == 1
    assert "does not hold" in capsys.readouterr().out
    assert cli.main(["card", str(broken)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_json_stands_alone_on_stdout(stored, capsys):
    code = cli.main(["verify", "--json", str(stored)])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [str(stored)]
    assert code == (1 if found[str(stored)] else 0)


def test_without_a_command_it_tells_how_and_exits_2(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 2


def test_only_run_passes_arguments_on(stored, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", str(stored), "--", "-x"])
    assert ended.value.code == 2
    assert "only run passes on" in capsys.readouterr().err
