"""Where the plugin keeps its state: stash keys in a leaf that imports nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_mtarena.plugin.arena import Arena
    from pytest_mtarena.plugin.controller import Controller
    from pytest_mtarena.plugin.perform import Performer

arena_key: pytest.StashKey[Arena] = pytest.StashKey()
controller_key: pytest.StashKey[Controller] = pytest.StashKey()
performer_key: pytest.StashKey[Performer] = pytest.StashKey()
