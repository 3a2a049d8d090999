"""The shipped methods as a whole: their manifests, and what they do with odd texts."""

from __future__ import annotations

import pytest

from pytest_mtarena.contestants.manifest import read_manifest
from tests.unit.methods.conftest import METHODS

NAMES = sorted(path.parent.name for path in METHODS.glob("*/method.json"))


def test_the_shipped_methods_are_there():
    assert NAMES == ["apertium", "bergamot", "copy", "hypotheses", "lexicon"]


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_manifest_is_complete_and_true(name):
    manifest = read_manifest(METHODS / name)
    assert manifest.method_id == name
    assert manifest.dependency_class == manifest.raw["dependency_class"]
    assert manifest.method_class is not None
    assert manifest.raw["description"]
    assert manifest.notes == ()


def test_copy_returns_the_source(outputs):
    texts = ["", "  ", "a\nb", "\u2028 😀 {x}"]
    assert outputs("copy", texts) == texts
