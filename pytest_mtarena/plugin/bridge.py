"""The bridge: what pytest registers is offered to the arena's registry."""

from __future__ import annotations

import pytest

from pytest_mtarena.errors import ExtensionError
from pytest_mtarena.registry import Registry


class Bridge:
    """Hears of every plug-in and conftest, also of those that came before it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.fault: ExtensionError | None = None

    def pytest_plugin_registered(self, plugin: object, plugin_name: str) -> None:
        """Register a plug-in that has hooks of ours."""
        if plugin is self or not Registry.contributes(plugin):
            return
        try:
            self._registry.register(plugin, plugin_name)
            self._registry.check()
        except ExtensionError as error:
            # Raised here it would drown in a traceback of the collection.
            self.fault = self.fault or error

    def pytest_collection_modifyitems(self) -> None:
        """Tell of a conftest below the root that is wrong."""
        if self.fault is not None:
            raise pytest.UsageError(str(self.fault))
