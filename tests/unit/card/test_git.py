"""Git provenance, in repositories made here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_mtarena.card.git import git_provenance


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, "-C", str(folder), *arguments],
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    top = tmp_path / "top"
    (top / "méthodes" / "echo").mkdir(parents=True)
    (top / "méthodes" / "echo" / "method.py").write_text("x = 1\n", encoding="utf-8")
    (top / ".gitignore").write_text("env/\n", encoding="utf-8")
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "first")
    return top


def test_clean_and_dirty(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    method = repository / "méthodes" / "echo"
    clean = {"commit": commit, "dirty": False, "path": "méthodes/echo"}
    assert git_provenance(method) == clean
    assert git_provenance(repository) == {**clean, "path": "."}
    (repository / "elsewhere.txt").write_text("", encoding="utf-8")
    assert git_provenance(method) == clean
    (method / "method.py").write_text("x = 2\n", encoding="utf-8")
    assert git_provenance(method) == {**clean, "dirty": True}
    assert git_provenance(method / "method.py") == {
        "commit": commit,
        "dirty": True,
        "path": "méthodes/echo/method.py",
    }


def test_a_file_that_is_not_in_the_commit_is_dirty(repository: Path) -> None:
    (repository / "new").mkdir()
    (repository / "new" / "suite.json").write_text("{}", encoding="utf-8")
    found = git_provenance(repository / "new" / "suite.json")
    assert found is not None
    assert found["dirty"] is True


def test_what_the_repository_ignores_has_no_provenance(repository: Path) -> None:
    (repository / "env" / "lib").mkdir(parents=True)
    assert git_provenance(repository / "env" / "lib") is None


def test_nothing_to_say_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_provenance(tmp_path / "not" / "there") is None
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    assert git_provenance(empty) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_provenance(empty) is None


def test_a_git_hook_around_us_does_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    found = git_provenance(repository / "méthodes")
    assert found is not None
    assert found["commit"] == commit
