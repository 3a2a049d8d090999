"""A fixture that writes a file and opens it as a suite."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.records import Suite, SuiteSettings
from pytest_mtarena.suites.corpus import open_corpus

Open = Callable[..., Suite | None]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """``opened("a.tsv", text_or_bytes_or_json, **settings)`` returns the suite, or None."""

    def open_one(name: str, content: Any, **settings: Any) -> Suite | None:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_bytes(content.encode())
        elif name.endswith("l"):
            path.write_bytes("".join(json.dumps(row) + "\n" for row in content).encode())
        else:
            path.write_bytes(json.dumps(content).encode())
        return open_corpus(path, SuiteSettings(**settings))

    return open_one
