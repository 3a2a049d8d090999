"""The journal loses nothing that was written, and says what it cannot read."""

import json
import os

import pytest

from pytest_mtarena.errors import ResumeError
from pytest_mtarena.run.journal import Journal, read_header, read_rows


@pytest.fixture
def journal(tmp_path):
    opened = Journal.create(tmp_path / "deep" / "run.jsonl", {"setups": {"k": 1}})
    opened.append(json.dumps({"index": 0}))
    opened.append(json.dumps({"index": 1}))
    opened.close()
    return opened.path


def test_what_was_written_is_read(journal):
    assert read_header(journal)["setups"] == {"k": 1}
    assert [row["index"] for *_, row in read_rows(journal)] == [0, 1]


@pytest.mark.parametrize("torn", ['{"ind', '{"index": 2}'])
def test_a_torn_last_line_is_ignored_and_cut_off_before_going_on(journal, torn):
    with journal.open("a") as file:
        file.write(torn)
    assert [row["index"] for *_, row in read_rows(journal)] == [0, 1]
    again = Journal.reopen(journal)
    again.append(json.dumps({"index": 3}))
    again.close()
    assert [row["index"] for *_, row in read_rows(journal)] == [0, 1, 3]


def test_a_damaged_line_inside_is_named(journal):
    lines = journal.read_text().splitlines()
    lines[1] = lines[1][:5]
    journal.write_text("\n".join(lines) + "\n")
    with pytest.raises(ResumeError, match=r"run\.jsonl:2: a damaged line"):
        list(read_rows(journal))


@pytest.mark.parametrize("content", ["", "{}\n", "[1]\n", "no json\n", '{"journal": 99}\n'])
def test_another_file_is_no_journal(tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    with pytest.raises(ResumeError, match="is no journal"):
        read_header(path)


def test_a_journal_is_never_overwritten(journal):
    with pytest.raises(FileExistsError):
        Journal.create(journal, {})


def test_a_full_disk_is_remembered_not_raised(tmp_path):
    path = tmp_path / "run.jsonl"
    opened = Journal.create(path, {})
    opened.close()
    full = Journal(path, os.open("/dev/full", os.O_WRONLY))
    full.append("x")
    full.append("y")
    assert full.fault is not None
    assert full.fault.strerror == "No space left on device"
    full.close()
