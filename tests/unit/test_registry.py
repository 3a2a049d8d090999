"""The registry: contributions have owners, mistakes have names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_mtarena import hookimpl, mean_metric
from pytest_mtarena.errors import ExtensionError, UsageError
from pytest_mtarena.registry import Registry, make_registry


def metric(name):
    return mean_metric(name, lambda entry: 1.0, scale="0-1")


def plugin(**functions):
    return SimpleNamespace(**functions)


def test_the_built_in_kind_is_there_and_takes_contributed_metrics():
    registry = make_registry([plugin(mtarena_metrics=lambda: {"mine": metric("mine")})])
    kind = registry.kinds()["translation"]
    assert set(kind.extra_metrics()) == {"mine"}


def test_a_decorated_and_a_plain_function_are_both_heard():
    class Decorated:
        @hookimpl
        def mtarena_methods(self):
            return {"one": int}

    registry = Registry([Decorated(), plugin(mtarena_methods=lambda: {"two": float})])
    assert set(registry.methods()) == {"one", "two"}


def test_a_name_given_twice_names_both_owners():
    registry = Registry()
    registry.register(plugin(mtarena_metrics=lambda: {"m": metric("m")}), "alpha")
    registry.register(plugin(mtarena_metrics=lambda: {"m": metric("m")}), "beta")
    with pytest.raises(ExtensionError, match="'m' is defined twice: by alpha and by beta"):
        registry.metrics()


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda: None, "must return a mapping"),
        (lambda: {3: metric("x")}, "must return a mapping"),
        (lambda: {"x": metric("y")}, "must be equal"),
        (lambda: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_a_plug_in_returns_is_checked(function, told):
    with pytest.raises(ExtensionError, match=told):
        Registry([plugin(mtarena_metrics=function)]).metrics()


def test_a_hook_that_does_not_exist_is_found_with_the_likely_one():
    registry = Registry([plugin(mtarena_metircs=lambda: None)])
    with pytest.raises(
        ExtensionError, match="no hook mtarena_metircs; did you mean mtarena_metrics"
    ):
        registry.check()


def test_an_argument_that_does_not_exist_is_told_at_once():
    with pytest.raises(ExtensionError, match="wrong"):
        Registry([plugin(mtarena_metrics=lambda wrong: {})])


def test_hooks_come_in_the_order_asked_for_and_unknown_ones_are_named():
    registry = Registry([plugin(mtarena_post_translation=lambda: {"a": "first", "b": "second"})])
    assert registry.post_translation(["b", "a"]) == [("b", "second"), ("a", "first")]
    with pytest.raises(UsageError, match=r"no hook 'aa'; did you mean a\? \(known: a, b\)"):
        registry.post_translation(["aa"])


def test_a_card_is_extended_under_extra_only():
    def good(card):
        card["extra"]["job"] = 7

    def bad(card):
        card["scores"]["bleu"] = 99

    card = {"scores": {"bleu": 1}, "results": [{"a": 1}], "extra": {}}
    Registry([plugin(mtarena_run_card=good)]).extend_card(card)
    assert card["extra"] == {"job": 7}
    with pytest.raises(ExtensionError, match="may only add to card"):
        Registry([plugin(mtarena_run_card=bad)]).extend_card(card)

    def ugly(card):
        raise RuntimeError("no")

    with pytest.raises(ExtensionError, match="RuntimeError: no"):
        Registry([plugin(mtarena_run_card=ugly)]).extend_card(card)
