"""Where a file stands in a git repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

_TIMEOUT_SECONDS = 5.0


def git_provenance(path: Path) -> dict[str, Any] | None:
    """Return ``commit``, ``dirty`` and ``path`` (inside the repository) of a file or directory.

    ``dirty`` says whether anything at or below the path differs from the commit or is not in it.
    None when the path is in no repository, is ignored there, or git cannot say. Never raises,
    never uses the network, takes no lock.
    """
    try:
        path = path.resolve()
        folder = path if path.is_dir() else path.parent
        if not folder.is_dir():
            return None
        top, commit = _git(folder, "rev-parse", "--show-toplevel", "HEAD").splitlines()
        inside = path.relative_to(Path(top).resolve()).as_posix()
        # What a repository ignores (a virtual environment in it, say) is none of its content.
        if inside != "." and _git(folder, "check-ignore", "--", str(path), codes=(0, 1)):
            return None
        changes = _git(folder, "status", "--porcelain", "--ignore-submodules", "--", str(path))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": bool(changes), "path": inside}


def _git(folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    # Without GIT_DIR and its kin, which a git hook that runs the tests would hand down.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    done = subprocess.run(
        ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="surrogateescape",
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=_TIMEOUT_SECONDS,
    )
    if done.returncode not in codes:
        raise ValueError(f"git {arguments[0]} ended with {done.returncode}")
    return done.stdout
