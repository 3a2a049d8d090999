"""The plug-in manager: one for pytest and for everything outside it.

Contributions come from entry points of the group ``mtarena`` and, inside pytest, from conftest
files and ``-p`` modules. A broken plug-in is an error that names it; so is a name given twice.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pluggy

from pytest_mtarena.errors import ExtensionError, UsageError
from pytest_mtarena.hookspecs import Specs

if TYPE_CHECKING:
    from pytest_mtarena.llm.prompts import Builder
    from pytest_mtarena.protocols import ContestantFactory, Kind, Metric, PostTranslation

GROUP = "mtarena"


_DEFAULTS = {
    "wrapper": False,
    "hookwrapper": False,
    "optionalhook": False,
    "tryfirst": False,
    "trylast": False,
    "specname": None,
}


class _Manager(pluggy.PluginManager):
    """Takes functions by their name, decorated or not, as pytest does with its own hooks."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        options = super().parse_hookimpl_opts(plugin, name)
        if options is None and name.startswith("mtarena_"):
            function = getattr(plugin, name, None)
            if inspect.isroutine(function):
                return dict(_DEFAULTS)
        return options


class Registry:
    """Every extension that is known, by name."""

    def __init__(self, plugins: Iterable[object] = ()) -> None:
        self._manager = _Manager(GROUP)
        self._manager.add_hookspecs(Specs)
        for plugin in plugins:
            self.register(plugin)

    def register(self, plugin: object, name: str | None = None) -> None:
        """Add a module or object with implementations; its mistakes are errors that name it."""
        if self._manager.is_registered(plugin):
            return
        try:
            self._manager.register(plugin, name=name)
        except (pluggy.PluginValidationError, ValueError) as error:
            raise ExtensionError(f"plug-in {_name(plugin, name)}: {_flat(error)}") from error

    def load_entry_points(self) -> None:
        """Load the installed plug-ins; one that cannot be imported is an error that names it."""
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            if self._manager.has_plugin(point.name):
                continue
            where = f"entry point {point.name} = {point.value}"
            try:
                plugin = point.load()
            except Exception as error:  # whatever a foreign module raises, the user is told whose
                raise ExtensionError(f"{where}: {type(error).__name__}: {error}") from error
            self.register(plugin, point.name)
        self.check()

    def check(self) -> None:
        """Raise for an implementation of a hook that does not exist, naming the likely one."""
        for name in vars(self._manager.hook):
            hook = getattr(self._manager.hook, name)
            if name.startswith("_") or hook.has_spec():
                continue
            for implementation in hook.get_hookimpls():
                if implementation.optionalhook:
                    continue
                raise ExtensionError(
                    f"plug-in {_name(implementation.plugin, implementation.plugin_name)}: "
                    f"there is no hook {name}{_meant(name, hook_names())}"
                )

    @staticmethod
    def contributes(plugin: object) -> bool:
        """Say whether a pytest plug-in has anything for this registry."""
        return any(name.startswith("mtarena_") for name in dir(plugin))

    def kinds(self) -> dict[str, Kind]:
        """Return all kinds of case by name; one that takes metrics is told where they are."""
        kinds: dict[str, Kind] = self._collect("mtarena_kinds", "kind of case")
        for kind in kinds.values():
            if hasattr(kind, "extra_metrics"):
                kind.extra_metrics = self.metrics
        return kinds

    def methods(self) -> dict[str, ContestantFactory | type]:
        """Return all named methods."""
        return self._collect("mtarena_methods", "method")

    def prompts(self) -> dict[str, Builder]:
        """Return all contributed prompts of language models."""
        return self._collect("mtarena_prompts", "prompt")

    def tools(self, names: Iterable[str] | None = None) -> dict[str, Callable[..., Any]]:
        """Return the tools with these names, or all; raises UsageError for an unknown one."""
        known: dict[str, Callable[..., Any]] = self._collect("mtarena_tools", "tool")
        have = ", ".join(sorted(known)) or "none is installed"
        for name in names or ():
            if name not in known:
                what = f"there is no tool {name!r}{_meant(name, known)}"
                raise UsageError(f"--mt-tools-list: {what} (known: {have})")
        if not known:
            raise UsageError("--mt-tools: no plug-in contributes a tool (hook mtarena_tools)")
        return known if names is None else {name: known[name] for name in names}

    def metrics(self) -> dict[str, Metric]:
        """Return all contributed metrics by id."""
        found: dict[str, Metric] = self._collect("mtarena_metrics", "metric")
        for name, metric in found.items():
            if getattr(metric, "id", None) != name:
                raise ExtensionError(
                    f"metric {name!r}: its id says {getattr(metric, 'id', None)!r}; "
                    "the key of mtarena_metrics and the id must be equal"
                )
        return found

    def post_translation(self, names: Iterable[str]) -> list[tuple[str, PostTranslation]]:
        """Return the post-translation hooks with these names, in this order."""
        known: dict[str, PostTranslation] = self._collect("mtarena_post_translation", "hook")
        for name in names:
            if name not in known:
                have = ", ".join(sorted(known)) or "none is installed"
                raise UsageError(
                    f"--mt-hooks: there is no hook {name!r}{_meant(name, known)} (known: {have})"
                )
        return [(name, known[name]) for name in names]

    def extend_card(self, card: dict[str, Any]) -> None:
        """Let plug-ins add to ``card["extra"]``; a change elsewhere is an error."""
        implementations = self._manager.hook.mtarena_run_card.get_hookimpls()
        if not implementations:
            return
        before = _digest(card)
        for implementation in implementations:
            whose = _name(implementation.plugin, implementation.plugin_name)
            try:
                implementation.function(*[card for _ in implementation.argnames])
            except Exception as error:  # a plug-in's fault must not cost the run
                raise ExtensionError(
                    f"plug-in {whose}: mtarena_run_card: {type(error).__name__}: {error}"
                ) from error
            if _digest(card) != before:
                raise ExtensionError(
                    f"plug-in {whose}: mtarena_run_card may only add to card['extra']; "
                    "it changed something else"
                )

    def _collect(self, hook: str, what: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        owner: dict[str, str] = {}
        # Called one by one, not through the hook, so that a clash or a fault has an owner.
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            whose = _name(implementation.plugin, implementation.plugin_name)
            try:
                given = implementation.function()
            except Exception as error:  # any fault of a plug-in is told with its name
                raise ExtensionError(
                    f"plug-in {whose}: {hook}: {type(error).__name__}: {error}"
                ) from error
            if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
                raise ExtensionError(f"plug-in {whose}: {hook} must return a mapping from names")
            for name, value in given.items():
                if name in found:
                    raise ExtensionError(
                        f"{what} {name!r} is defined twice: by {owner[name]} and by {whose}"
                    )
                found[name], owner[name] = value, whose
        return found


def hook_names() -> list[str]:
    """Return the names of all hooks."""
    return [name for name in vars(Specs) if name.startswith("mtarena_")]


def make_registry(plugins: Iterable[object] = ()) -> Registry:
    """Return a registry with the built-in kinds, the given plug-ins and the installed ones."""
    from pytest_mtarena import builtin

    registry = Registry([builtin, *plugins])
    registry.load_entry_points()
    return registry


def _name(plugin: object, name: str | None) -> str:
    path = getattr(plugin, "__file__", None)
    if name is None or name == path:
        name = getattr(plugin, "__name__", None) or type(plugin).__name__
    return name


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _flat(error: BaseException) -> str:
    return " ".join(str(error).split())


def _digest(card: Mapping[str, Any]) -> str:
    """Return a digest of all but ``extra``, without a second card in memory."""
    digest = hashlib.sha256()
    for key, value in card.items():
        if key == "extra":
            continue
        digest.update(key.encode())
        several = isinstance(value, Sequence) and not isinstance(value, str)
        for piece in value if several else [value]:
            digest.update(json.dumps(piece, sort_keys=True, default=repr).encode())
    return digest.hexdigest()
