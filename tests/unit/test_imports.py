"""The layout: which room may import which, and what the start of pytest may cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_mtarena

PACKAGE = Path(pytest_mtarena.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

WORDS = {"errors", "records", "protocols", "text"}
DOOR = {"hookspecs", "registry", "builtin"}
ROOMS: dict[str, set[str]] = {
    **dict.fromkeys(WORDS, WORDS),
    **dict.fromkeys(DOOR, WORDS | DOOR),
    "card": WORDS,
    "languages": WORDS,
    "llm": WORDS,
    "suites": WORDS,
    "contestants": WORDS | {"llm"},
    "referee": WORDS | {"suites", "languages"},
    "run": WORDS | DOOR | {"card", "suites", "contestants", "referee"},
    "results": WORDS | DOOR | {"card", "suites", "languages", "llm", "contestants", "referee"},
    "plugin": WORDS
    | DOOR
    | {"card", "languages", "suites", "contestants", "referee", "run", "results", "llm"},
    "cli": WORDS | DOOR | {"card", "suites", "contestants", "referee", "run", "results", "llm"},
}
"""What each room may import of ours, beside itself."""
LAZY = {
    ("__init__", "hookspecs"),
    ("__init__", "referee"),
    ("__init__", "errors"),
    ("__init__", "protocols"),
    ("hookspecs", "llm"),
    ("registry", "llm"),
    ("builtin", "referee"),
    ("cli", "plugin"),
}
"""Allowed beyond the table: the front door, the kinds of the package, the list of options."""
VERSION = ("", "__version__")
"""What everybody may take from the package itself."""


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the full name of each imported module, and whether the import is at module level."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inside = {
        id(node)
        for each in ast.walk(tree)
        if isinstance(each, functions)
        for node in ast.walk(each)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield name, id(node) not in inside


def place(path: Path) -> str:
    """Return the room of a module."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_what_it_may(path):
    room = place(path)
    for name, at_module_level in imports(path):
        top, _, rest = name.partition(".")
        if top == "pytest_mtarena":
            other = rest.partition(".")[0]
            allowed = ROOMS.get(room, set()) | {room, *VERSION}
            assert other in allowed or (room, other) in LAZY, f"{room} may not import {name}"
            if other == "plugin" and room != "plugin":
                assert name.startswith("pytest_mtarena.plugin.options.")
        if top in ("pytest", "_pytest"):
            assert room == "plugin" or (room == "cli" and not at_module_level), name
        if top in ("xdist", "execnet"):
            assert path.relative_to(PACKAGE).as_posix() == "plugin/schedule.py", name


def test_every_room_is_in_the_table():
    assert {place(path) for path in MODULES} == {*ROOMS, "__init__"}


HEAVY = ("numpy", "sacrebleu", "pydantic", "aiohttp")


@pytest.mark.parametrize("module", ["pytest_mtarena", "pytest_mtarena.plugin"])
def test_the_start_of_pytest_loads_nothing_heavy(module):
    code = f"import sys, {module}; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
