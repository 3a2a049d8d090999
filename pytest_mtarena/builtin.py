"""What the package itself contributes, through the same hooks as everybody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_mtarena.hookspecs import hookimpl

if TYPE_CHECKING:
    from pytest_mtarena.protocols import Kind


@hookimpl
def mtarena_kinds() -> Mapping[str, Kind]:
    """The translation kind."""
    from pytest_mtarena.referee.translation import TranslationKind

    return {"translation": TranslationKind()}
