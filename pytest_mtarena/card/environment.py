"""What a run ran on: versions that can change a number. No host name, no user."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest_mtarena
from pytest_mtarena.card.git import git_provenance

HARNESS_VERSION = "2.0"
"""The version of the card's schema, which is not the version of this package."""


def environment() -> dict[str, Any]:
    """Return the card's environment block."""
    return dict(_environment())


@lru_cache(maxsize=1)
def _environment() -> dict[str, Any]:
    return {
        "harness_version": HARNESS_VERSION,
        "package_version": pytest_mtarena.__version__,
        "harness_git_commit": _own_commit(),
        "python_version": platform.python_version(),
        "sacrebleu_version": _version("sacrebleu"),
        "pytest_version": _version("pytest"),
        "numpy_version": _version("numpy"),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}".strip(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _own_commit() -> str | None:
    package = Path(pytest_mtarena.__file__).parent
    # Only the package's own check-out counts, not the repository of a project that holds a copy.
    found = git_provenance(package)
    return found["commit"] if found and found["path"] == package.name else None
