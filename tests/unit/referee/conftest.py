"""Real analysers for the tests that want them: built once a session where the tools are there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOLS = (
    "apt-get install -y --no-install-recommends hfst lttoolbox-dev apertium-es-gl apertium-fra-cat"
)

TINY = """\
Multichar_Symbols +N +V +Sg +Pl PV/ka+
LEXICON Root
Nouns ;
PV/ka+:ka Verbs ;
Verbs ;
LEXICON Nouns
lum Number ;
dor Number ;
LEXICON Number
+N+Sg:0 # ;
+N+Pl:il # ;
LEXICON Verbs
tam+V:tam # ;
"""
"""A language of two nouns and a verb."""


def hfst(command: str, given: str, out: Path, folder: Path) -> Path:
    """Run a pipe of HFST tools on a text; ``{given}`` and ``{out}`` stand for the files."""
    if shutil.which("hfst-fst2fst") is None:
        pytest.skip(f"needs {TOOLS}")
    source = folder / f"{out.name}.txt"
    source.write_text(given, encoding="utf-8")
    line = command.format(given=f"'{source}'", out=f"'{out}'")
    subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], check=True, capture_output=True)
    return out


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], Path]:
    """Return a function (command, text, name) that makes a ``.hfstol`` file."""
    folder = tmp_path_factory.mktemp("hfst")

    def make(command: str, given: str, name: str) -> Path:
        return hfst(command, given, folder / name, folder)

    return make


@pytest.fixture(scope="session", params=["-O", "-w"], ids=["unweighted", "weighted"])
def tiny(request: pytest.FixtureRequest, compiled: Callable[[str, str, str], Path]) -> Path:
    """Return the analyser of the tiny language, in both forms of the format."""
    pipe = f"hfst-lexc {{given}} | hfst-invert | hfst-fst2fst {request.param} -o {{out}}"
    return compiled(pipe, TINY, f"tiny{request.param}.hfstol")


def apertium(folder: Path, name: str, pair: str, mode: str) -> Path:
    """Build an analyser of Debian's with the project's own script, or skip."""
    automorf = Path(f"/usr/share/apertium/apertium-{pair}/{mode}.automorf.bin")
    if not automorf.exists() or not all(map(shutil.which, ("lt-print", "hfst-fst2fst"))):
        pytest.skip(f"needs {TOOLS}")
    out = folder / f"{name}.hfstol"
    subprocess.run([ROOT / "scripts" / "build-fst.sh", out, automorf], check=True)
    return out


@pytest.fixture(scope="session")
def galician(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a real analyser of Galician."""
    return apertium(tmp_path_factory.mktemp("glg"), "glg", "es-gl", "gl-es")


@pytest.fixture(scope="session")
def catalan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a real analyser of Catalan."""
    return apertium(tmp_path_factory.mktemp("cat"), "cat", "fra-cat", "cat-fra")
